"""``std::to_array``: its size, elements and type are those that g++ says."""

from __future__ import annotations

from pathlib import Path

from cutecheck.tests.source.test_extract import printed, run

TEXT = """
struct K { int a, b; };
inline constexpr auto A = std::to_array<K>({{1, 2}, {3, 4}, {5, 6}});
inline constexpr auto B = std::to_array({7, 8});
template <class F, std::size_t... I> constexpr int find(F f, std::index_sequence<I...>) { return (f(A[I]) + ...); }
void host() {
  auto v = make_layout(make_shape(Int<A.size()>{}, Int<A[2].b>{}, Int<B[1]>{}, Int<std::size(B)>{}));
  auto w = make_layout(Int<find([](K k) { return k.a; }, std::make_index_sequence<A.size()>{})>{});
}
"""


def test_to_array(tmp_path: Path) -> None:
    facts = run(tmp_path, TEXT)
    assert printed(facts, "v") == "(_3,_6,_8,_2):(_1,_3,_18,_144)"
    assert printed(facts, "w") == "_9:_1"


OF_THE_LIBRARY = """
struct Row { int rows, stages; };
struct S2 { static constexpr int stages = 2; };
struct S5 { static constexpr int stages = 5; };
using Var = std::variant<S2, S5>;
inline constexpr auto deeper = [](Row const& a, Row const& b) { return a.stages < b.stages; };
template <class T> constexpr int has() {
  if constexpr (requires { typename T::type; }) return 1;
  else if constexpr (requires(T t) { t(0, 0); }) return 2;
  else return 3;
}
struct HasType { using type = int; };
struct HasCall { int operator()(int, int) const { return 0; } };
void host() {
  constexpr auto big = std::max(Row{64, 3}, Row{128, 5}, deeper);
  auto a = make_layout(make_shape(Int<big.rows>{}, Int<std::min({Row{8, 4}, Row{16, 2}, Row{32, 2}}, deeper).rows>{}));
  auto b = make_layout(make_shape(Int<std::variant_size_v<Var>>{}, Int<std::variant_alternative_t<1, Var>::stages>{}));
  auto c = make_layout(make_shape(Int<has<HasType>()>{}, Int<has<HasCall>()>{}, Int<has<std::monostate>()>{}));
}
"""


def test_comparisons_and_variants(tmp_path: Path) -> None:
    """As g++ 12 prints them."""
    facts = run(tmp_path, OF_THE_LIBRARY)
    assert printed(facts, "a") == "(_128,_16):(_1,_128)"
    assert printed(facts, "b") == "(_2,_5):(_1,_2)"
    assert printed(facts, "c") == "(_1,_2,_3):(_0,_1,_2)"


BRACES = """
struct S { int m, n; std::array<int, 2> w; };
constexpr std::array<std::array<int, 3>, 2> a1{{ {{64, 32, 2}}, {{128, 16, 4}} }};
constexpr std::array<std::array<int, 3>, 2> a2 = {{ {64, 32, 2}, {128, 16, 4} }};
constexpr std::array<std::array<int, 3>, 2> a3{64, 32, 2, 128, 16, 4};
constexpr std::array a4{std::array{64, 32, 2}, std::array{128, 16, 4}};
constexpr std::array<S, 2> b1{{ {64, 32, {{2, 4}}}, {.m = 128, .n = 16, .w{4, 2}} }};
constexpr std::array<std::pair<int, int>, 2> c1{{ {64, 32}, {128, 16} }};
constexpr std::array<std::array<std::array<int, 2>, 2>, 2> d1{{ {{ {{1, 2}}, {{3, 4}} }}, {{ {{5, 6}}, {{7, 8}} }} }};
template <auto const& A> struct Row { static constexpr auto row = std::get<1>(A); static constexpr int m = row[0]; };
using A1 = decltype(make_layout(Shape<Int<std::get<1>(a1)[0]>, Int<a1[0][2]>, Int<Row<a1>::m>>{}));
using A2 = decltype(make_layout(Shape<Int<std::get<1>(a2)[0]>, Int<a2[0][2]>, Int<Row<a2>::m>>{}));
using A3 = decltype(make_layout(Shape<Int<std::get<1>(a3)[0]>, Int<a3[0][2]>, Int<Row<a3>::m>>{}));
using A4 = decltype(make_layout(Shape<Int<std::get<1>(a4)[0]>, Int<a4[0][2]>, Int<Row<a4>::m>>{}));
using B1 = decltype(make_layout(Shape<Int<b1[1].m>, Int<b1[0].w[1]>, Int<b1[1].w[0]>>{}));
using C1 = decltype(make_layout(Shape<Int<c1[1].first>, Int<c1[0].second>>{}));
using D1 = decltype(make_layout(Shape<Int<d1[1][0][1]>, Int<d1[0][1][0]>>{}));
"""


def test_braces_of_arrays_in_arrays(tmp_path: Path) -> None:
    """As nvcc prints them."""
    facts = run(tmp_path, BRACES)
    for name in ("A1", "A2", "A3", "A4"):
        assert printed(facts, name) == "(_128,_2,_128):(_1,_128,_256)", name
    assert printed(facts, "B1") == "(_128,_4,_4):(_1,_128,_512)"
    assert printed(facts, "C1") == "(_128,_32):(_1,_128)"
    assert printed(facts, "D1") == "(_6,_3):(_1,_6)"
