"""What is made once outlives the kernel that asked first, and what is lost may differ from thread to thread."""

from __future__ import annotations

from pathlib import Path

from cutecheck.model.ints import as_expr
from cutecheck.model.prove.domains import per_thread
from cutecheck.source.extract import ExtractRequest, extract

HEAD = "#include <cute/tensor.hpp>\nusing namespace cute;\n"
GLOBALS = """
struct Made { int a; int b; constexpr Made(int x, int y) : a(x), b(y) {} };
struct Held { int a; int b; };
constexpr Made made(64, 8);
constexpr Held held{32, 16};
template <int N> struct Of { static constexpr Made own{N, 2 * N}; static constexpr Held part{N, 4 * N}; };
template <int K> __global__ void kernel(int n) {
  __shared__ alignas(128) half_t s[4096];
  auto r = make_tensor<half_t>(Layout<_8>{});
  for (int i = 0; i < n; ++i) {
    if (i == K) copy(make_tensor(make_smem_ptr(s) + made.a, Layout<_8>{}), r);
    copy(make_tensor(make_smem_ptr(s) + held.b, Layout<_8>{}), r);
    copy(make_tensor(make_smem_ptr(s) + Of<12>::own.b, Layout<_8>{}), r);
    copy(make_tensor(make_smem_ptr(s) + Of<12>::part.b, Layout<_8>{}), r);
  }
}
void host() { kernel<1><<<1, 32>>>(3); kernel<2><<<1, 32>>>(3); }
"""
CALLBACK = """
template <class F> __device__ void given(F f);
__global__ void kernel() {
  __shared__ alignas(128) half_t s[4096];
  int x = 8 * threadIdx.x; int y = 0; int z = 8;
  auto f = [&] { x = 0; y = 8 * threadIdx.x; z = z + 8; };
  given(f);
  auto r = make_tensor<half_t>(Layout<_8>{});
  copy(make_tensor(make_smem_ptr(s) + x, Layout<_8>{}), r);
  copy(make_tensor(make_smem_ptr(s) + y, Layout<_8>{}), r);
  copy(make_tensor(make_smem_ptr(s) + z, Layout<_8>{}), r);
}
void host() { kernel<<<1, 32>>>(); }
"""
WAYS = """
__global__ void kernel(int n) {
  __shared__ alignas(128) half_t s[4096];
  int x = 0;
  auto r = make_tensor<half_t>(Layout<_8>{});
  for (int i = 0; i < n; ++i) {
    copy(make_tensor(make_smem_ptr(s) + x, Layout<_8>{}), r);
    if (i == n / 2) { x = 8 * threadIdx.x; continue; }
    asm volatile("" : "+r"(x));
  }
}
void host() { kernel<<<1, 32>>>(3); }
"""


def _offsets(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    (tmp_path / "k.cu").write_text(HEAD + text)
    events = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    return [(e.enclosing, str(e.operands[0].offset)) for e in events]


def test_objects_outside_of_functions_are_known_in_every_kernel(tmp_path: Path) -> None:
    found = _offsets(tmp_path, GLOBALS)
    for kernel in ("kernel<1>", "kernel<2>"):
        assert sorted(offset for k, offset in found if k == kernel) == ["16", "24", "48", "64"]


def test_what_an_unknown_callback_changes_may_differ_from_thread_to_thread(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(HEAD + CALLBACK)
    events = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert len(events) == 3
    for e in events:
        (variable,) = as_expr(e.operands[0].offset).variables()  # also where threads started apart
        assert per_thread(variable.name)


def test_a_number_that_is_lost_on_one_way_may_be_of_each_thread_on_another(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(HEAD + WAYS)
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert any(per_thread(v.name) for v in as_expr(event.operands[0].offset).variables())


def test_what_is_evaluated_once_is_a_site_also_where_a_loop_is_walked_to_find_what_it_changes(tmp_path: Path) -> None:
    text = """
template <int N> struct Config {
  using Tiled = decltype(make_tiled_copy(Copy_Atom<DefaultCopy, half_t>{}, Layout<Shape<Int<N>>>{}, Layout<_8>{}));
};
template <class Layouts> struct Holds { static constexpr int threads = 1; };
template <int N> struct Based
    : Holds<decltype(make_tiled_copy(Copy_Atom<DefaultCopy, half_t>{}, Layout<Shape<Int<N>>>{}, Layout<_4>{}))> {};
__global__ void kernel(int n, int* out) {
  int x = 0;
  for (int i = 0; i < n; ++i) x += int(size(typename Config<32>::Tiled{})) + i;
  for (int i = 0; i < n; ++i) x += Based<64>::threads + i;
  out[0] = x;
}
void host() { kernel<<<1, 32>>>(3, nullptr); }
"""
    (tmp_path / "k.cu").write_text(HEAD + text)
    found = extract(ExtractRequest((tmp_path,)))
    assert not found.errors
    member, base = [s for s in found.sites if s.kind == "tiled_copy"]
    assert (member.symbol, member.status, base.status) == ("Config<32>::Tiled", "resolved", "resolved")
