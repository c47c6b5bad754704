"""Which of constrained templates a call or a class takes, as g++ 12 prints it (C++20)."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

KERNEL = kernel("""#include <cute/tensor.hpp>
#include <array>
#include <concepts>
#define FN __device__
using namespace cute;
template <class T> concept Big = sizeof(T) > 4;
  template <class T, class U> concept Same = std::is_same_v<T, U>;
  template <class T> concept HasStage = requires { T::kStages; };
  template <class T> concept Fn = requires(T t) { t.run(1); };
  template <class T> concept Both = HasStage<T> && Fn<T>;
template <class T, int N> concept AtLeast = (sizeof(T) >= N); template <class T> concept Any = true;
struct P1 { static constexpr int kStages = 3; FN int run(int v) { return v; } };
  struct P2 { static constexpr int kStages = 4; }; struct P3 { FN int run(int v) { return v + 1; }
  using type = int; };
template <class P> FN int stages() { if constexpr (HasStage<P>) return P::kStages; else return 1; }
template <class P> FN int st2() { if constexpr (requires { P::kStages; }) return P::kStages; else return 1; }
template <class P> requires HasStage<P> struct K { static constexpr int v = P::kStages; };
template <class P> struct Ker { static constexpr int v = 1; };
  template <HasStage P> struct Ker<P> { static constexpr int v = 2; };
  template <Both P> struct Ker<P> { static constexpr int v = 3; };
template <Big T> FN int g1(T) { return 1; } FN int g1(int) { return 2; } template <class T> FN int g1(T) { return 3; }
template <class T> requires (Big<T> || std::is_integral_v<T>) FN int g2(T) { return 1; }
  template <class T> FN int g2(T) { return 2; }
template <class T> requires Big<T> && std::is_integral_v<T> FN int g3(T) { return 1; }
  template <class T> requires Big<T> FN int g3(T) { return 2; } template <class T> FN int g3(T) { return 3; }
FN int g4(Big auto) { return 1; } FN int g4(auto) { return 2; } FN int g5(Same<int> auto) { return 1; }
  FN int g5(auto) { return 2; } FN int g6(AtLeast<8> auto const&) { return 1; }
  FN int g6(AtLeast<2> auto const&) { return 2; } FN int g6(auto const&) { return 3; }
template <class T> requires requires(T t) { t.run(1); } FN int g7(T t) { return t.run(4); }
  template <class T> FN int g7(T) { return 0; }
template <class T> FN int g8(T t) { if constexpr (requires { t.run(2); }) return t.run(2); else return 9; }
template <Any T> FN int g9() { return sizeof(T); } template <int N> FN int g9() { return N * 100; }
template <class T> struct Cc { T v; FN int f() requires Big<T> { return 1; }
  FN int f() requires (!Big<T>) { return 2; } FN int g() requires Big<T>; };
template <class... T> requires (Big<T> && ...) FN int gA(T...) { return 1; }
  template <class... T> FN int gA(T...) { return 2; }
template <class T> FN auto sz(T const& t) -> decltype(t.size()) { return 1; }
  template <class T> FN int sz(T const* t) { return 2; } FN int sz(...) { return 3; }
template <class T> FN auto mem(T t, int) -> decltype(t.run(0), 0) { return 1; }
  template <class T> FN int mem(T t, ...) { return 2; }
template <class T> FN auto add(T a, T b) -> decltype(a + b) { return a + b; }
  template <class T> FN auto add(T a) -> decltype(a) { return a; }
template <class L> FN auto lay(L const& l) -> decltype(size(l)) { return size(l); }
""")


@pytest.mark.parametrize(
    ("body", "shown", "value"),
    [
        ("", "stages<P1>() * 100 + stages<P2>() * 10 + stages<P3>()", 341),
        ("", "st2<P1>() * 100 + st2<P2>() * 10 + st2<P3>()", 341),
        ("", "K<P1>::v", 3),
        ("", "Ker<P1>::v * 100 + Ker<P2>::v * 10 + Ker<P3>::v", 321),
        ("", "g1(3) * 100 + g1(3L) * 10 + g1('a')", 213),
        ("", "g2(3) * 100 + g2(3.0) * 10 + g2(1.f)", 112),
        ("", "g3(3L) * 100 + g3(3.0) * 10 + g3(3)", 123),
        ("", "g4(3L) * 10 + g4(3)", 12),
        ("", "g5(3L) * 10 + g5(3)", 21),
        ("", "g7(P3{}) * 10 + g7(P2{})", 50),
        ("", "g8(P3{}) * 10 + g8(P2{})", 39),
        ("", "g9<long>() + g9<3>()", 308),
        ("", "Cc<long>{}.f() * 10 + Cc<int>{}.f()", 12),
        ("", "gA(1L, 2L) * 10 + gA(1L, 2)", 12),
        ("std::array<int, 3> a;", "sz(a)", 1),
        ("", "sz(&x) * 10 + sz(x)", 23),
        ("", "mem(P3{}, 0) * 10 + mem(P2{}, 0)", 12),
        ("", "add(3, 4) * 10 + add(5)", 75),
        ("", "lay(make_layout(make_shape(2, 3)))", 6),
        ("", "Both<P1> * 100 + Both<P2> * 10 + HasStage<P3>", 100),
        ("auto f = []<Big T>(T v) { return sizeof(T); };", "f(3L)", 8),
    ],
)
def test_the_template_that_a_compiler_takes(tmp_path: Path, body: str, shown: str, value: int) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


def test_what_is_not_known_to_be_satisfied_may_be_taken_or_not(tmp_path: Path) -> None:
    text = kernel("""#include <cute/tensor.hpp>
#include <concepts>
using namespace cute;
template <class T> concept Adds = requires(T a) { { a + a } noexcept; };
template <Adds T> __device__ int f(T) { return 1; }
template <class T> __device__ int f(T) { return 2; }
""")
    assert number(tmp_path, text, "short h = 1;", "f(h)") is None
