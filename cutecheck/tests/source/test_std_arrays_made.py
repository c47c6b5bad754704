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
