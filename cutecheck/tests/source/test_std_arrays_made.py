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
