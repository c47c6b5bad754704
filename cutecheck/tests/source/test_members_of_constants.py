"""Members that their own declarations initialise hold what these say, wherever they are asked for first."""

from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

CONSTANTS = """#include <cute/tensor.hpp>
using namespace cute;
struct Extent { int m{}, n{}; };
struct Config {
  Extent tile{128, 64};
  int stages = 3;
  constexpr Config with_stages(int s) const { auto c = *this; c.stages = s; return c; }
};
inline constexpr Config base{};
inline constexpr Config other = base.with_stages(4);
using Stages = Layout<Int<other.stages>>;
template <class T> concept Tiled = requires { requires base.tile.m > 0; };
"""


@pytest.mark.parametrize(
    "first",
    [
        "",
        "using First = decltype(make_layout(Int<base.tile.m>{}));",
        "using First = decltype(make_layout(Int<other.tile.n>{}));",
        "template <Tiled T> struct On { using type = Layout<T>; }; using First = typename On<_8>::type;",
    ],
)
def test_what_an_operand_that_is_not_evaluated_asks_for_first(first: str, tmp_path: Path) -> None:
    """The object that a copy shares its first values with keeps its members: they were zeros, as `m{}` says."""
    text = CONSTANTS + first + "\nusing Then = Layout<Int<other.tile.m>, Int<other.tile.n>>;\n"
    (tmp_path / "a.cu").write_text(text)
    sites = {s.symbol: s for s in extract(ExtractRequest((tmp_path,))).sites}
    assert show(sites["Then"].value) == "_128:_64"
    assert show(sites["Stages"].value) == "_4:_1"
