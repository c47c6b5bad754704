"""``explain FILE:LINE``: the definitions behind a value and the way to it."""

import json
from pathlib import Path

import pytest

from cutecheck.cli import main

TRAITS = """#include <cute/tensor.hpp>
using namespace cute;
template <int D> struct Base {
  static constexpr int kRow = D % 64 == 0 ? 64 : 32;
};
template <int D, int M, class B = Base<D>> struct Traits : B {
  static constexpr int kRow = B::kRow;
  using Atom = decltype(composition(Swizzle<kRow == 32 ? 2 : 3, 3, 3>{},
                        Layout<Shape<_8, Int<kRow>>, Stride<Int<kRow>, _1>>{}));
  using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<M>, Int<D>>{}));
};
"""
USE = """#include "traits.h"
template <int D> void launch() {
  using T = Traits<D, 128>;
  auto tile = typename T::Smem{};
}
void run() { launch<96>(); }
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "traits.h").write_text(TRAITS)
    (tmp_path / "use.cu").write_text(USE)
    return tmp_path


def test_the_chain_from_root_to_value(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{tree}/traits.h:10", "--path", str(tree), "--isolated"]) == 0
    assert capsys.readouterr().out.split("\n")[:-1] == [
        "traits.h:10:9: Smem in Traits<96,128>, sm_80",
        "  = Sw<2,3,3> o _0 o ((_8,_16),(_32,_3)):((_32,_256),(_1,_4096))",
        "  from",
        "    Atom = Sw<2,3,3> o _0 o (_8,_32):(_32,_1)  traits.h:8:9",
        "      kRow = 32  traits.h:7:24",
        "        B = Base<96>  traits.h:6:31",
        "        kRow = 32  traits.h:4:24",
        "          D = 96  traits.h:3:15",
        "    M = 128  traits.h:6:22",
        "    D = 96  traits.h:6:15",
        "  reached by",
        "    use.cu:6:14: launch<96> with D = 96",
        "    use.cu:3:13: Traits<96,128> with D = 96, M = 128, B = Base<96>",
    ]


def test_as_json(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{tree}/traits.h:4", "--path", str(tree), "--isolated", "--output-format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["explanations"]
    assert (found["name"], found["value"], found["symbol"]) == ("kRow", "32", "Base<96>")
    assert [(u["name"], u["value"], u["definition"]["line"]) for u in found["uses"]] == [("D", "96", 3)]


def test_python_assignments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = "import cutlass.cute as cute\nrows = 8\nlayout = cute.make_layout((rows, 64), stride=(64, 1))\n"
    (tmp_path / "k.py").write_text(source)
    assert main(["explain", f"{tmp_path}/k.py:3", "--isolated"]) == 0
    shown = capsys.readouterr().out
    assert "k.py:3:1: layout" in shown
    assert "rows = _8  k.py:2:1" in shown


@pytest.mark.parametrize(
    ("target", "said"),
    [("traits.h", "give a file and a line"), ("none.h:3", "no such file"), ("traits.h:1", "closest definition")],
)
def test_refusals(tree: Path, target: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{tree}/{target}", "--path", str(tree), "--isolated"]) == 2
    assert said in capsys.readouterr().err
