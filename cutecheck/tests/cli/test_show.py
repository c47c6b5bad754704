"""``cutecheck show``: from an expression or a place in a source to a picture."""

import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cutecheck.cli import main

MMA = "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2,_1>>{}, Tile<_128,_128,_64>{})"
SOURCE = """#include <cute/tensor.hpp>
using namespace cute;
template <int kM>
struct Traits {
  using Smem = decltype(composition(Swizzle<3, 3, 3>{},
                                    Layout<Shape<Int<kM>, _64>, Stride<_64, _1>>{}));
  using A = Layout<Shape<Int<kM>>>; using B = Layout<Shape<_2, _4>>;
};
template <class T> __global__ void kernel() { typename T::Smem s; typename T::A a; typename T::B b; }
void host() { kernel<Traits<8>><<<1, 32>>>(); kernel<Traits<16>><<<1, 32>>>(); }
void other(int n) { auto open = make_layout(make_shape(n, _4{})); }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.cu"
    file.write_text(SOURCE)
    return file


def test_an_expression(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "(2,(2,2)):(4,(1,2))"]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == [
        "      0     1     2     3",
        "  (0,0) (1,0) (0,1) (1,1)",
        "0     0     1     2     3",
        "1     4     5     6     7",
    ]


@pytest.mark.parametrize(
    ("expression", "title"),
    [
        ("SM80_16x8x16_F32F16F16F32_TN", "TiledMMA SM80_16x8x16_F32F16F16F32_TN 16x8x16"),
        ("Copy_Atom<SM75_U32x4_LDSM_N, half_t>", "Copy_Atom SM75_U32x4_LDSM_N"),
        ("Swizzle<3,3,3>{}", "swizzle"),
    ],
)
def test_atoms_and_swizzles(expression: str, title: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", expression]) == 0
    assert capsys.readouterr().out.splitlines()[0] == title


def test_a_layout_over_a_tile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--tv", "2x4", "(_4,_2):(_2,_1)"]) == 0
    assert capsys.readouterr().out.splitlines()[4:] == ["    0   1   2   3", "0 0/0 1/0 2/0 3/0", "1 0/1 1/1 2/1 3/1"]


def test_several_instantiations_are_listed_and_picked(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--isolated", f"{source}:5"]) == 2
    captured = capsys.readouterr()
    assert "2 configurations; choose with --symbol" in captured.err
    listing = captured.out.splitlines()
    assert listing[0].startswith("1: ") and "kM=8" in listing[0] and "(_8,_64):(_64,_1)" in listing[0]
    assert listing[1].startswith("2: ") and "kM=16" in listing[1]
    assert main(["show", "--isolated", f"{source}:5", "--symbol", "2"]) == 0
    assert "Layout: Sw<3,3,3> o _0 o (_16,_64):(_64,_1)" in capsys.readouterr().out


def test_several_symbols_of_a_line(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--isolated", f"{source}:7", "--symbol", "B"]) == 0
    assert "Layout: (_2,_4):(_1,_2)" in capsys.readouterr().out
    assert main(["show", "--isolated", f"{source}:7", "--symbol", "C"]) == 2
    captured = capsys.readouterr()
    assert "no configuration is called 'C'" in captured.err
    assert [line.split()[2] for line in captured.out.splitlines()] == ["Traits<8>::A", "Traits<16>::A", "Traits<8>::B"]


def test_a_line_inside_a_declaration(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--isolated", f"{source}:6", "--symbol", "1"]) == 0
    assert "(_8,_64)" in capsys.readouterr().out


def test_other_files_instantiate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tile.h").write_text(
        "#include <cute/tensor.hpp>\ntemplate <int N> struct Tile_ {\n"
        "  using L = cute::Layout<cute::Shape<cute::Int<N>, cute::_2>>;\n};\n"
    )
    (tmp_path / "use.cu").write_text('#include "tile.h"\nTile_<4>::L used;\n')
    place = f"{tmp_path / 'tile.h'}:3"
    assert main(["show", "--isolated", place]) == 2
    capsys.readouterr()
    assert main(["show", "--isolated", place, "--path", str(tmp_path)]) == 0
    assert "Layout: (_4,_2):(_1,_4)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (":11", "an extent is not a known number"),
        (":1", "no configuration is declared here; the closest one is at line 5"),
        ("", "give a line, as in"),
        ("x.cu:3", "no such file"),
    ],
)
def test_places_without_a_picture(place: str, message: str, source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--isolated", f"{source}{place}"]) == 2
    err = capsys.readouterr().err
    assert message in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["(4,lda):(1,4)"], ["frob(1)"], ["Shape<_2,_2>{}"], ["--tv", "4", "_8:_1"], ["--cutlass-version", "2.9", "_8:_1"],
     ["(4096,4096):(1,4096)"], ["--svg", "-", "--latex", "-", "_8:_1"], ["--svg", "/nowhere/x.svg", "_8:_1"]],
)  # fmt: skip
def test_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "error: " in captured.err


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg, latex = tmp_path / "a.svg", tmp_path / "a.tex"
    assert main(["show", "Swizzle<3,3,3>{}", "--svg", str(svg), "--latex", str(latex)]) == 0
    assert capsys.readouterr().out == f"{svg}: swizzle, 512 cells\n{latex}: swizzle, 512 cells\n"
    ElementTree.parse(svg)
    assert latex.read_text().count("\\node[fill=") == 512
    assert main(["show", "_4:_1", "--svg", "-"]) == 0
    assert ElementTree.fromstring(capsys.readouterr().out).tag.endswith("svg")


def test_a_large_tile_takes_no_seconds(tmp_path: Path) -> None:
    main(["show", MMA, "--svg", str(tmp_path / "warm.svg")])
    start = time.process_time()
    assert main(["show", MMA, "--svg", str(tmp_path / "a.svg"), "--latex", str(tmp_path / "a.tex")]) == 0
    assert time.process_time() - start < 2


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    expression = "upcast<4>(make_layout(Shape<_10,_4>{}, Stride<_1,_12>{}))"
    assert main(["show", expression]) == 0
    assert "Layout: (_3,_4):(_1,_3)" in capsys.readouterr().out
    assert main(["show", "--cutlass-version", "3.8", expression]) == 2  # shape_div must divide there
