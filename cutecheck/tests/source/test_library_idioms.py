"""Idioms of template libraries: what chooses an overload or a specialisation, and names of other namespaces; by g++."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
#define FN __device__
using namespace cute;
struct W { int m; };
struct Walker {
  template <class C, typename F = W(*)(W)> FN auto first(C c, F f = [](W w) { return w; }) { return f(W{get<0>(c)}); }
};
struct Strides { Stride<_0, _1, int> d[2] = {}; Layout<_4, _2> at[2]; };
FN int untouched(int* p) { exp2f(2.f); __float22half2_rn(make_float2(1, 2)); fmax(1.f, 2.f);
  return *p; }
enum class Mode : uint8_t { A = 1, B = 2, Also = 2, C = 250 };
template <Mode M> struct Of { static constexpr int v = 0; };
template <> struct Of<Mode::B> { static constexpr int v = 22; };
template <class T> struct is_array : std::false_type {};
template <class T, int N> struct is_array<cute::array<T, N>> : std::true_type {};
template <class T> struct is_counted : std::false_type {};
template <class T, size_t N> struct is_counted<cute::array<T, N>> : std::true_type {};
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> FN int sf(T) { return 1; }
template <class T, std::enable_if_t<!std::is_integral_v<T>, int> = 0> FN int sf(T) { return 2; }
template <class T, typename std::enable_if<(sizeof(T) > 2)>::type* = nullptr> FN int sp(T) { return 1; }
template <class T, typename std::enable_if<(sizeof(T) <= 2)>::type* = nullptr> FN int sp(T) { return 2; }
template <class T> FN int sd(T, std::enable_if_t<sizeof(T) == 4>* = nullptr) { return 1; }
template <class T> FN int sd(T, std::enable_if_t<sizeof(T) != 4>* = nullptr) { return 2; }
template <auto V> struct Au { static constexpr auto v = V; static constexpr int s = sizeof(V); };
namespace outer {
inline namespace v2 { FN constexpr int ver() { return 2; } struct S { int q = 4; }; FN int adl(S) { return 44; } }
namespace v1 { FN constexpr int ver() { return 1; } struct S {}; FN int adl(S) { return 11; } }
FN int hidden(v1::S) { return 5; }
}
FN int adl(int) { return 7; }
#if -1 > 0u
constexpr int compares = 1;
#else
constexpr int compares = 2;
#endif
#if 0b101 == 5 && '\\n' == 10 && -1 / 2 == 0 && (2 - 3u) > 5 && -8 >> 1 == -4
constexpr int more = 1;
#else
constexpr int more = 2;
#endif
""")
TOLD = {
    ("", "Of<static_cast<Mode>(2)>::v"): 22, ("constexpr int two = 2;", "Of<Mode(two)>::v"): 22,
    ("", "Of<Mode::Also>::v"): 22, ("", "(Mode::Also == Mode::B) + (Mode(3) == Mode::B)"): 1,
    ("", "int(Mode(251)) + int(Mode::C)"): 501, ("", "is_array<cute::array<int, 3>>::value"): 0,
    ("", "is_counted<cute::array<int, 3>>::value * 10 + is_counted<int[3]>::value"): 10,
    ("", "std::is_same_v<cute::array<int, 3>, int[3]> + 5"): 5,
    ("", "sf(3) * 10 + sf(3.f)"): 12, ("", "sf('c') * 10 + sf(nullptr)"): 12, ("", "sp(3) * 10 + sp('c')"): 12,
    ("", "sd(3) * 10 + sd('c')"): 12, ("", "Au<5>::s * 100 + Au<5ll>::s * 10 + Au<'c'>::s"): 481,
    ("", "outer::ver() * 10 + outer::v1::ver()"): 21, ("outer::S s0;", "adl(s0) + s0.q"): 48,
    ("Walker w;", "w.first(make_shape(_4{}, _2{})).m"): 4, ("int q = 5;", "untouched(&q)"): 5,
    ("Strides d;", "get<0>(d.d[0]) * 10 + get<1>(d.d[1])"): 1,
    ("auto l = transform_layout(Layout<Shape<_4, _2>>{}, [](auto m) { return make_layout(_3{}, stride(m)); });",
     "l(2, 2)"): 10,
    ("auto l = transform_layout(Layout<Shape<_4, _2>>{}, Layout<_5>{}, [](auto a, auto b) { return b; });",
     "size(l)"): 10,
    ("auto v = cute::detail::tapply(make_tuple(1, 2, 3), make_tuple(4, 5, 6), [](auto a, auto b) { return a * b; },"
     "[](auto... a) { return (a + ...); }, seq<0, 2>{});", "v"): 22,
    ("", "sizeof(exp2f(1)) * 100 + sizeof(exp2(1.f)) * 10 + sizeof(exp2(1))"): 448,
    ("outer::v1::S s1;", "adl(s1) * 10 + adl(3)"): 117, ("", "compares * 10 + more"): 11,
}  # fmt: skip


@pytest.mark.parametrize(("body", "shown"), TOLD, ids=str)
def test_what_libraries_write_means_what_the_compiler_says(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == TOLD[body, shown]


def test_what_enable_if_asks_and_is_not_known_leaves_the_call_open(tmp_path: Path) -> None:
    declarations = """#include <cute/tensor.hpp>
using namespace cute;
template <class T> struct Asks;
template <class T, std::enable_if_t<Asks<T>::value, int> = 0> __device__ int f(T) { return 1; }
template <class T, std::enable_if_t<!Asks<T>::value, int> = 0> __device__ int f(T) { return 2; }
"""
    assert number(tmp_path, kernel(declarations), "", "f(3)") is None


def test_elements_of_an_array_of_tuples_in_an_argument_are_of_their_type(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("""#include <cute/tensor.hpp>
using namespace cute;
struct Params { Stride<_0, _8, int> d[2] = {}; };
__global__ void k(half_t* p, Params params) {
  auto t = make_tensor(make_gmem_ptr(p), make_layout(make_shape(size<1>(params.d[1]), _2{})));
  copy(t, t);
}
void host(half_t* p, Params params) { k<<<1, 32>>>(p, params); }
""")
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    assert str(event.operands[0].layout) == "(_8,_2):(_1,_8)"
