"""Specialisations, for classes of the tree, of templates that are not in it: CUTLASS's, without its headers."""

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

TREE = """#include <cute/tensor.hpp>
using namespace cute;
struct Mine {}; struct Schedule {}; struct Special : Schedule {};
namespace cutlass::gemm::collective {
template <class T, int N, class Kind>
struct CollectiveBuilder<Mine, T, N, Kind, cute::enable_if_t<cute::is_base_of_v<Schedule, Kind> && (N > 2)>> {
  static constexpr int value = N + sizeof(T);
};
template <class T, int N, class Kind>
struct CollectiveBuilder<Mine, T, N, Kind, cute::enable_if_t<cute::is_same_v<Kind, int>>> {
  static constexpr int value = 7;
};
template <class T, class Kind, class More>
struct CollectiveBuilder<Schedule, T, 4, Kind, More> { static constexpr int value = 9; };
template <class A, class T, class Kind>
struct CollectiveBuilder<A, T, 8, Kind, cute::enable_if_t<cute::is_same_v<Kind, char>>> {
  static constexpr int value = 5;
};
}
template <class A, class T, int N, class K> constexpr int built =
  cutlass::gemm::collective::CollectiveBuilder<A, T, N, K>::value;
"""


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("built<Mine, float, 3, Special>", 7),
        ("built<Mine, half_t, 3, Schedule>", 5),
        ("built<Mine, half_t, 3, int>", 7),
        ("built<Mine, float, 2, Special>", None),  # another one of the library's may take these
        ("built<Mine, float, 3, float>", None),
        ("built<Schedule, float, 4, int>", None),  # what follows the arguments may be anything
        ("built<int, float, 8, char>", None),
        ("built<Mine, float, elsewhere(), Special>", None),
    ],
)
def test_a_specialisation_for_a_class_of_the_tree(what: str, value: int | None, tmp_path: Path) -> None:
    assert number(tmp_path, kernel(TREE), "", what) == value
