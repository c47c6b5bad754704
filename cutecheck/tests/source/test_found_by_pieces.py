"""What random pieces found (scripts/random_pieces.py): the numbers that g++ prints."""

# ruff: noqa: E501

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Unknown
from cutecheck.model.layout import Layout
from cutecheck.model.notation import show
from cutecheck.source.evaluate import evaluate
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.shown import kernel, number

DECLARED = """
#include <cute/tensor.hpp>
#include <algorithm>
using namespace cute;
template <class T, int N> struct Pick { static constexpr int value = N; };
template <int N> struct Pick<float, N> { static constexpr int value = N * 2; };
template <class A, class B, int N> struct Pick<std::pair<A, B>, N> {
  static constexpr int value = Pick<A, N>::value * Pick<B, N>::value;
};
template <class T> struct Is { static constexpr int value = 1; };
template <class A> struct Is<std::vector<A>> { static constexpr int value = 3; };
template <class A, class B> struct Is<std::pair<A, B>> { static constexpr int value = 2; };
template <class T> __device__ int kind(T const&) { return Is<T>::value; }
enum class Mode : int { A = 4, B, C = A + 8, D };
enum class Same { A = 4, B = A, C };
constexpr int of(Mode m) { switch (m) { case Mode::A: return 1; case Mode::B: return 6; default: return 3; } }
template <int... Is> struct Row {
  template <int I> static constexpr int at = get<I>(cute::make_tuple(Is...));
  template <int M> using Times = Row<(Is * M)...>;
  static constexpr int product = (Is * ...);
};
using RowA = Row<2, 4, 8>;
template <class T> struct Q {
  template <int M> __device__ static int f(int a) { return a * M; }
  template <class U> struct In { using type = Row<1, 2>; static constexpr int v = 7; };
};
template <class T> __device__ int through(int n) {
  int q = T::template In<int>::type::template at<1> + 1;
  if (T::template In<int>::v < 9 && 5 > 3) { q += T::template f<3>(4) > 2 ? 30 : 40; }
  return q + T::template In<int>::type::template Times<3>::product * 100;
}
constexpr auto sum = [](int a) { int r = 0; for (int i = 0; i < a; ++i) r += i; return r + 1; };
"""
TOLD = {
    ("int v[3] = {1, 2, 3}; std::any_of(v, v + 3, [&](int q) { x = q; return q > 2; });", "x"): 3,
    ("int v[3] = {1, 2, 3}; std::reverse(v, v + 3);", "v[0]"): 3,
    ("", "Pick<std::pair<half_t, float>, 3>::value"): 18, ("", "Is<std::vector<int>>::value"): 3,
    ("", "Is<std::pair<int, float>>::value"): 2, ("std::pair<int, int> p{n, 3};", "kind(p)"): 2,
    ("auto p = std::make_pair(n, 3);", "kind(p)"): 2, ("", "int(Mode::C)"): 12, ("", "int(Mode::D)"): 13,
    ("", "RowA::template at<1> * 8"): 32, ("", "(3 + RowA::template at<2>)"): 11, ("", "RowA::template Times<2>::product"): 512,
    ("", "(x + 3) * RowA::template Times<2>::product"): 1536, ("", "through<Q<int>>(3)"): 1833,
    ("auto [a, b] = cute::make_tuple((n & 3) * RowA::template Times<2>::product, Int<3>{});", "b"): 3,
    ("", "of(Mode::C)"): 3, ("", "int(Same::C)"): 5, ("", "sum(5)"): 11, ("", "int(Int<sum(4)>{})"): 7,
}  # fmt: skip
LOST = {
    "int v[3] = {1, 2, 3}; std::sort(v, v + 3, [&](int a, int b) { ++x; return a < b; });": "x",
    "int v[3] = {1, 2, 3}; std::for_each(v, v + 3, [&](int a) { x += a; });": "x",
}
SHAPE = "make_shape(Int<2>{}, Int<3>{}, 4)"
PRINTED = {
    f"cute::fold({SHAPE}, Int<1>{{}}, [](auto a, auto b) {{ return a * b; }})": "24",
    "fold_first(make_shape(Int<2>{}, Int<3>{}), [](auto a, auto b) { return a + b; })": "_5",
    "cute::fold(make_shape(Int<2>{}, Int<3>{}), Int<1>{}, [](auto a, auto b) { return a + b; })": "_6",
    f"tuple_cat({SHAPE}, make_shape(Int<5>{{}}))": "(_2,_3,4,_5)",
    f"filter_tuple({SHAPE}, [](auto x) {{ if constexpr (is_static<decltype(x)>::value) {{ return cute::make_tuple(x); }} "
    "else { return cute::tuple<>{}; } })": "(_2,_3)",
    "find_if(make_shape(Int<2>{}, Int<3>{}), [](auto x) { return x == Int<3>{}; })": "_1",
    "find_if(make_shape(Int<2>{}, Int<3>{}), [](auto x) { return x == Int<4>{}; })": "_2",
    "any_of(make_shape(Int<2>{}, Int<3>{}), [](auto x) { return x == Int<4>{}; })": "_0",
    "all_of(make_shape(Int<2>{}, Int<3>{}), [](auto x) { return x < Int<4>{}; })": "_1",
    "any_of(make_shape(Int<1>{}, 3), [](auto x) { return is_constant<1, decltype(x)>{}; })": "_1",
    "all_of(make_shape(Int<1>{}, 3), [](auto x) { return is_static<decltype(x)>{}; })": "_0",
    "any_of(make_shape(Int<1>{}, 3), [](auto x) { return is_same<decltype(x), int>{}; })": "1",
    "find_if(make_shape(Int<1>{}, 3), [](auto x) { return is_same<decltype(x), int>{}; })": "_1",
    "make_shape(Int<sizeof_bits_v<cute::array<half_t, 3>>>{}, Int<cutlass::sizeof_bits<cutlass::Array<int4b_t, 3>>::value>{})":
    "(_48,_16)",
    "Int<sizeof_bits_v<cutlass::AlignedArray<half_t, 3, 8>>>{}": "_64",
    "none_of(make_shape(Int<2>{}, Int<3>{}), [](auto x) { return x < Int<4>{}; })": "_0",
    "cute::wrap(Int<3>{})": "(_3)", "replace_front(make_shape(Int<2>{}, 3), Int<7>{})": "(_7,3)",
    "replace_back(make_shape(Int<2>{}, 3), Int<7>{})": "(_2,_7)", "tuple_repeat<2>(Int<3>{})": "(_3,_3)",
    "flatten_to_tuple(make_shape(Int<2>{}, make_shape(3, Int<4>{})))": "(_2,3,_4)",
    "elem_scale(make_shape(2, Int<3>{}), make_shape(4, Int<5>{}))": "(8,_15)",
    "inner_product(make_shape(Int<2>{}, Int<3>{}), make_shape(Int<4>{}, Int<5>{}))": "_23",
    "iscan(make_shape(Int<2>{}, 3), Int<1>{}, [](auto a, auto b) { return a * b; })": "(_2,6)",
    "escan(make_shape(Int<2>{}, 3, Int<4>{}), Int<1>{}, [](auto a, auto b) { return a * b; })": "(_1,_2,6)",
    "cute::sum(make_shape(Int<2>{}, make_shape(Int<3>{}, Int<4>{})))": "_9",
    "make_basis_like(make_shape(2, make_shape(3, Int<4>{})))": "(_1@0,(_1@0@1,_1@1@1))",
    "basis_get(E<1>{}, make_shape(2, Int<3>{}))": "_3",
    "compact_major<LayoutRight>(make_shape(Int<2>{}, make_shape(Int<3>{}, Int<4>{})))": "(_12,(_4,_1))",
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), [*TOLD])
def test_numbers(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, kernel(DECLARED), body, shown) == TOLD[body, shown]


@pytest.mark.parametrize("body", [*LOST])
def test_what_a_function_of_the_standard_library_runs_may_write(body: str, tmp_path: Path) -> None:
    assert number(tmp_path, kernel(DECLARED), body, LOST[body]) is None


@pytest.mark.parametrize("expression", [*PRINTED])
def test_algorithms_of_tuples(expression: str) -> None:
    found = evaluate(expression)
    assert not isinstance(found, Unknown), found
    assert show(found) == PRINTED[expression]


def test_whether_a_tuple_that_lost_its_name_is_a_pair_is_not_known(tmp_path: Path) -> None:
    text = kernel(DECLARED)
    assert number(tmp_path, text, "auto p = cute::make_tuple(n, 3);", "kind(p)") is None
    assert number(tmp_path, text, "auto p = cute::make_tuple(n, 3, 4);", "kind(p)") == 1


def test_a_class_that_names_a_longer_one_of_its_own_ends(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        """#include <cute/tensor.hpp>
template <int... Is> struct List {
  static constexpr int sum = (Is + ... + 0); using More = List<Is..., 1>;
  using L = decltype(cute::make_layout(cute::Shape<cute::Int<Is>...>{}));
};
template <int N> struct Up { using Next = Up<N + 1>; using Other = List<N>; };
using A = List<4, 2>::More::More; using B = Up<0>;
"""
    )
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert facts.errors == ()
    assert "(_4,_2,_1,_1):(_1,_4,_0,_0)" in {str(s.value) for s in facts.sites}


def test_a_swizzle_of_addresses_is_of_shared_memory_for_elements_of_one_width(tmp_path: Path) -> None:
    smem = "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{})"
    (tmp_path / "k.cu").write_text(
        f"""#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(float* p, half_t* q) {{
  __shared__ float s[8192]; __shared__ half_t h[8192];
  auto wide = make_tensor(make_smem_ptr(s), {smem});
  auto global = make_tensor(make_gmem_ptr(q), {smem});
  auto right = make_tensor(make_smem_ptr(h), {smem});
  copy(wide, wide); copy(global, global); copy(right, right);
  copy(as_position_independent_swizzle_tensor(make_tensor(make_gmem_ptr(q), Layout<_8>{{}})), right);
}}
void host(float* p, half_t* q) {{ k<<<1, 128>>>(p, q); }}
"""
    )
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    reasons = [getattr(e.operands[0].layout, "reason", None) for e in facts.events]
    assert reasons == [
        "CuTe rejects make_tensor: Expected a 16-bit pointer type, not float of 32 bits",
        "CuTe rejects make_tensor: Expected smem, not gmem, under a layout that swizzles addresses of shared memory",
        None,
        "CuTe rejects as_position_independent_swizzle_tensor: Expected smem tensor, not gmem",
    ]


def test_a_container_that_is_assigned_another_keeps_its_type(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        """#include <cute/tensor.hpp>
using namespace cute;
struct S {
  thrust::device_vector<half_t> d;
  void run(int n) {
    if (n > 3) { thrust::host_vector<float> h(n * 4); d = h; }
    auto a = make_tensor(make_gmem_ptr(d.data().get()), Layout<_8>{});
    copy(a, a);
  }
};
int main(int n, char**) { S s; s.run(n); }
"""
    )
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    dtype = event.operands[0].dtype
    assert dtype is not None and dtype.name == "half_t"


@pytest.mark.parametrize("element", ["shapes[i]", "shapes.at(i)", "shapes.front()"])
def test_elements_of_a_vector_of_tuples_are_what_their_type_says(element: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        f"""#include <cute/tensor.hpp>
using namespace cute;
std::vector<cute::tuple<int, int, _4>> made(int);
int main(int c, char**) {{
  std::vector<cute::tuple<int, int, _4>> shapes;
  shapes = c > 3 ? made(2) : made(3);
  for (int i = 0; i < c; ++i) {{
    auto problem = {element};
    auto t = make_tensor(make_gmem_ptr((half_t*)nullptr), make_layout(select<0, 2>(problem)));
    copy(t, t);
  }}
}}
"""
    )
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    layout = event.operands[0].layout
    assert isinstance(layout, Layout) and layout.shape[1] == 4 and layout.stride[0] == 1
