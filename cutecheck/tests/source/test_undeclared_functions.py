"""Functions that no scanned file declares: what they get by name may have been written, what they cannot write is kept.

With a header that defines ``helper`` as taking a reference and writing it, each program of the first list shows another
number than the one that was there before.
"""

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
#include "mine.hpp"
#include <optional>
using namespace cute;
struct Pair { int a = 1; int b = 2; };
struct Declared { Declared(int& to); };
struct Reader {};
__device__ Reader& operator<<(Reader& r, int& to) { to = 7; return r; }
struct Whole {
  int a = 1;
  int const b = 2;
  __device__ void change() { helper(a); helper(b); }
  __device__ void keep() const { helper(a); }
};
template <class T> __device__ void seen(T const& t) { copy(t, t); }
template <class... Ts> __device__ void pass(Ts&&... ts) { helper(ts...); }
template <class T> __device__ void on_to(T&& t) { helper(std::forward<T>(t)); }
template <int N> __device__ void matches_none(Other<N> const& o, int& x) { x = N; }
template <int N> __device__ int given(int n) { helper(n, N); Helper h(N); dim3 g(n, N); return N; }
template <int N> struct Of { __device__ int given(int n) { helper(N); Helper h{n, N}; return N; } };
__device__ int outside = 1;
template <int& R> __device__ int referred() { R = 1; helper(R); return R; }
__global__ void k(int n, Pair* p) {
  __shared__ half_t s[65536];
  int x = 0;
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int n, Pair* p) { k<<<1, 32>>>(n, p); }
"""

LOST = [
    ("helper(x);", "x"),
    ("helper<3>(x);", "x"),
    ("mine::helper(n, x);", "x"),
    ("Helper<2>::go(x);", "x"),
    ("Helper h; h.go(x);", "x"),
    ("Helper h(x);", "x"),
    ("Helper h{x};", "x"),
    ("Helper(x).go();", "x"),
    ("auto h = Helper{x}; h.go();", "x"),
    ("Helper h(x); x = 1; h.go();", "x"),
    ("Helper h; h >> x;", "x"),
    ("std::optional<Helper> o; o.emplace(x);", "x"),
    ("std::cin >> x;", "x"),
    ("std::from_chars(nullptr, nullptr, x);", "x"),
    ('cutlass::CommandLine cmd; cmd.get_cmd_line_argument("n", x, 8);', "x"),
    ("divide(x, n, 8);", "x"),
    ("Pair q; helper(q);", "q.a"),
    ("Pair q; helper(q.a);", "q.a"),
    ("Pair q; Pair* r = &q; helper(r->a);", "q.a"),
    ("Pair q; helper(*&q);", "q.b"),
    ("p->a = 3; helper(*p);", "p->a"),
    ("int q[2] = {1, 2}; helper(q);", "q[0]"),
    ("int q[2] = {1, 2}; helper(q[1]);", "q[1]"),
    ("int& r = x; helper(r);", "x"),
    ("pass(n, x);", "x"),
    ("on_to(x);", "x"),
    ("auto f = [&](auto& y) { helper(y); }; f(x);", "x"),
    ("auto f = [&] { helper(x); }; f();", "x"),
    ("for (int i = 0; i < n; ++i) { helper(x); }", "x"),
    ("for (int i = 0; i < n; ++i) { auto f = [&] { helper(x); }; f(); }", "x"),
    ("for (int i = 0; i < n; ++i) { Helper h; h.go(x); }", "x"),
    ("if (n > 3) { helper(x); }", "x"),
    ("Whole w; w.change();", "w.a"),
    ("Declared d(x);", "x"),
    ("matches_none(other(), x);", "x"),
    ("auto l = make_layout(make_shape(3, 4)); helper(l);", "size<0>(l)"),
    ("auto y = other(); y = 3;", "y"),
    ("int const* q = &x; int y = 1; helper(q);", "*q + y"),
    ("", "referred<outside>()"),
]
KEPT = [
    ("int const y = 3; helper(y);", "y", 3),
    ("constexpr int y = 3; helper(y);", "y", 3),
    ("int y = 3; int const& r = y; helper(r);", "y", 3),
    ("auto const y = 3; helper(y);", "y", 3),
    ("Pair const q; helper(q.a); helper(q);", "q.a", 1),
    ("Whole w; w.change();", "w.b", 2),
    ("Whole w; w.keep();", "w.a", 1),
    ("auto l = make_layout(Shape<_3, _4>{}); helper(l);", "size<0>(l)", 3),
    ("helper(x + 0); helper(+x); helper(int(x)); helper(static_cast<int>(x));", "x", 0),
    ("expf(x); __ldg(&n); __shfl_sync(~0u, x, 0); make_float2(x, x); cudaGetErrorString(x); ceilf(x);", "x", 0),
    ("cute::tuple_cat(x); safe_div(x, 2); cutlass::arch::umma_arrive_multicast(x, 3); std::log2(x);", "x", 0),
    ("auto t = other(); t(_, x); t(_, _, x);", "x", 0),
    ("auto tma = other(); tma.get_slice(x); tma.partition_S(x);", "x", 0),
    ("Reader r; int y = 0; r << y;", "y", 7),
    ("", "given<4>(n)", 4),
    ("", "Of<4>{}.given(n)", 4),
    ("auto f = []<int N>(Int<N>) { helper(N); Helper h(N); return N; };", "f(_4{})", 4),
    ("int y = 3; dim3 g(n, y); dim3 h{y};", "y", 3),
]


@pytest.mark.parametrize(("body", "shown"), LOST)
def test_what_a_function_that_is_not_declared_may_write_is_not_known_after_it(
    body: str, shown: str, tmp_path: Path
) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize(("body", "shown", "value"), KEPT)
def test_what_it_cannot_write_stays(body: str, shown: str, value: int, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


def test_the_lost_elements_of_an_array_are_numbers_still(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", "int q[2] = {1, 2}; helper(q);").replace("SHOWN", "8 * q[0]"))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].offset).startswith("8*q.0#") and str(event.operands[0].layout) == "_8:_1"


TENSORS = """#include <cute/tensor.hpp>
using namespace cute;
template <class E, class L> __device__ void both(Tensor<E, L> const& a, Tensor<E, L> const& b) { copy(a, b); }
__global__ void k(float* x, float* y, int n) {
  both(make_tensor(make_gmem_ptr(x), make_layout(n)), make_tensor(make_gmem_ptr(y + 4), make_layout(n)));
}
void host(float* x, float* y, int n) { k<<<1, 32>>>(x, y, n); }
"""


def test_two_tensors_over_other_memory_are_of_one_type(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TENSORS)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert [str(o.offset) for o in event.operands] == ["0", "4"]


LOOP = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float* x, int n) { auto t = make_tensor(make_gmem_ptr(x), make_layout(8, n)); copy(t, t); }
int main(int argc, char** argv) {
  int n = 0;
  while (argc-- > other()) { n += 4; }
  k<<<1, 32>>>(nullptr, n);
}
"""


def test_threads_of_a_kernel_get_the_same_arguments(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(LOOP)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert "~" not in str(event.operands[0].layout) and "#" in str(event.operands[0].layout)


def test_a_kernel_that_is_given_to_one_is_launched(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("""#include <cute/tensor.hpp>
using namespace cute;
template <int N> __global__ void kernel(float* p) {
  copy(make_tensor(make_gmem_ptr(p), Layout<Int<N>>{}), make_tensor<float>(Int<N>{}));
}
void host(float* p, int bytes) {
  auto chosen = kernel<8>;
  void* plain = (void*)chosen;
  mine::set_smem_size(bytes, chosen);
  mine::prepare(plain);
  chosen<<<1, 32, bytes>>>(p);
}
""")
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(getattr(event.operands[0], "layout", None)) == "_8:_1"
