"""What the DSL takes and refuses (nvidia-cutlass-dsl 4.8.1 on sm_80): outcomes, values, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutecheck.cli import main

SOURCE = (Path(__file__).parents[2] / "data" / "dsl_accepted.py").read_text()
# name of the variable: the DSL takes it, a field or the whole of its value, the codes of the findings on its line
ROWS: dict[str, tuple[bool, str, set[str]]] = {
    "c1": (True, "((5,20),8):((160,1),20)", {"CUT211"}),
    "c2": (True, "((8,16),12):((192,1),16)", {"CUT301"}),
    "c3": (True, "", {"CUT201", "CUT202"}),
    "c4": (True, "((8,16),8):((128,1),16)", {"CUT202"}),
    "c5": (True, "(32,8):(8,1)", {"CUT201"}),
    "c6": (True, "(128,8):(1,256)", {"CUT201"}),
    "c7": (True, "(48,8):(8,1)", {"CUT302"}),
    "m1": (False, "", {"CUT303"}),
    "m2": (True, "((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))", {"CUT203"}),
    "m3": (True, "((4,8,2,2),((2,2),(1,1))):((64,1,16,256),((32,8),(0,0)))", {"CUT203"}),
    "m4": (True, "((4,8,2,2),((2,2),(1,4))):((64,1,16,0),((32,8),(0,256)))", {"CUT203"}),
    "m5": (True, "((4,8,2),((2,2),(1,1))):((64,1,16),((32,8),(0,0)))", {"CUT211"}),
    "m6": (True, "((4,8,2,2),((2,2),(1,1))):((64,1,16,0),((32,8),(0,0)))", {"CUT211"}),
    "m7": (True, "((4,8,2,2),((2,2),(1,1))):((64,1,16,256),((32,8),(0,0)))", {"CUT303"}),
    "m8": (True, "((4,8,2,2),((2,2),(1,1))):((64,1,16,0),((32,8),(0,0)))", {"CUT301"}),
    "o @op1": (False, "", {"CUT303"}),
    "o @op2": (False, "", {"CUT303"}),
    "o @op3": (False, "", {"CUT303"}),
    "a1": (True, "(32,(1,4)):(1,(1,32))", set()),
    "a2": (False, "", {"CUT303"}),
    "a3": (True, "(1,1):(0,1)", {"CUT303"}),
    "a4": (False, "", {"CUT303"}),
    "a5": (False, "", {"CUT303"}),
    "l1": (True, "((8,13),(64,1)):((64,512),(1,0))", {"CUT211"}),
    "l2": (True, "S<3,0,3> o 0 o (8,64):(64,1)", {"CUT211"}),
    "l3": (True, "S<0,4,3>", {"CUT211"}),
    "l4": (True, "(2,2):(10,1)", set()),
    "l5": (True, "(0,8):(4,8)", {"CUT211"}),
    "l6": (False, "", {"CUT303"}),
    "l7": (False, "", {"CUT303"}),
    "l8": (False, "", {"CUT303"}),
    "l9": (True, "(16,()):(8,())", set()),
    "d1": (True, "(32,(4,64)):(64,(2048,1))", {"CUT211"}),
    "d2": (True, "((4,4),(3,2)):((1,10),(4,40))", {"CUT211"}),
    "d3": (True, "(5,20):(1,5)", {"CUT211"}),
    "d4": (True, "((4,4),(3,2)):((1,12),(4,48))", set()),
    "d5": (True, "(4,8):(1,4)", {"CUT211"}),
    "d6": (False, "", {"CUT303"}),
}


def _run(command: str, path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main([command, str(path), "--output-format", "json", "--arch", "sm_80"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_outcome_is_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.py"
    file.write_text(SOURCE)
    lines = SOURCE.split("\n")
    starts = [i for i, line in enumerate(lines, 1) if line.startswith("def ")]
    sites = _run("facts", file, capsys)["sites"]
    findings = _run("check", file, capsys)["findings"]
    for name, (taken, value, codes) in ROWS.items():
        variable, _, function = name.partition(" @")
        after = next((i for i in starts if lines[i - 1].startswith(f"def {function}(")), 0) if function else 0
        first = next(i for i, line in enumerate(lines, 1) if i > after and line.strip().startswith(f"{variable} = "))
        last = next(i for i in range(first, len(lines)) if lines[i - 1].count("(") or True) + 4
        span = range(first, 1 + next((i for i in range(first, last) if not lines[i].startswith("     ")), first))
        made = [s for s in sites if s["call_line"] in span and _configures(s, lines[first - 1])]
        resolved = [s for s in made if s["status"] == "resolved"]
        assert bool(resolved) == taken, (name, made)
        assert not value or any(value in json.dumps(s["result"]) for s in resolved), (name, resolved)
        assert {f["code"] for f in findings if f["line"] in span} == codes, name


def _configures(site: dict[str, Any], line: str) -> bool:
    """The outermost call of the line, or the MMA that an operation is for."""
    outer = line.split("= ", 1)[1].split("(", 1)[0]
    return str(site["call"]).rpartition(".")[2] == outer.rpartition(".")[2]


OPEN = """
# hopper_helpers and warpgroup layouts are borrowed by sm_120 kernels
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp


@cute.jit
def host():
    op = warp.MmaMXF4Op(cutlass.Float4E2M1FN, cutlass.Float32, cutlass.Float8E8M0FNU)
    mma = cute.make_tiled_mma(op)


host()
"""


def test_an_architecture_that_the_names_leave_open_refuses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "k.py").write_text(OPEN)
    main(["check", str(tmp_path), "--output-format", "json"])
    assert not [f for f in json.loads(capsys.readouterr().out)["findings"] if f["code"] == "CUT303"]
    main(["check", str(tmp_path), "--output-format", "json", "--arch", "sm_100a"])
    assert [f["code"] for f in json.loads(capsys.readouterr().out)["findings"]].count("CUT303")


MESSAGES = {
    "c1 = ": "100 threads are no whole number of warps: 28 lanes of the last warp do nothing",
    "l1 = ": "tile_to_shape gives 6656 elements for 6400",
    "l2 = ": "`S<3,0,3>` looks at bits 3 to 5 of an offset, inside a row of 64 elements",
    "l3 = ": "make_swizzle(-1, 4, 3) is no swizzle",
    "d1 = ": "logical_divide gives 8192 elements for 6400",
    "d2 = ": "zipped_divide gives 96 elements for 80",
    "d3 = ": "flat_divide gives 100 elements for 96",
    "d5 = ": "logical_divide gives 32 elements for 24",
    "d6 = ": "expects a tile or a layout as its tiler, but got an integer: 5",
}


def test_findings_are_on_their_line_with_their_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.py"
    file.write_text(SOURCE)
    lines = SOURCE.split("\n")
    said = {(f["line"], f["message"]) for f in _run("check", file, capsys)["findings"]}
    for start, text in MESSAGES.items():
        at = next(i for i, line in enumerate(lines, 1) if line.strip().startswith(start))
        assert any(line == at and text in message for line, message in said), (start, sorted(said))


SWIZZLES = """
import cutlass
import cutlass.cute as cute


@cute.jit
def host():
    good = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    transpose = cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, cute.make_layout((32, 32), stride=(32, 1)))
    columns = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((64, 8), stride=(1, 64)))
    vector = cute.make_composed_layout(cute.make_swizzle(3, 0, 3), 0, cute.make_layout(64))
    padded = cute.make_composed_layout(cute.make_swizzle(3, 0, 3), 0, cute.make_layout((8, 64), stride=(72, 1)))
    {bad}


host()
"""


def test_swizzles_that_look_at_rows_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "swizzles.py"
    file.write_text(SWIZZLES.replace("{bad}", "pass"))
    assert not _run("check", file, capsys)["findings"]
    for shape, stride in (("(8, 64)", "(64, 1)"), ("(64, 8)", "(1, 64)"), ("(4, 2, 128)", "(256, 128, 1)")):
        layout = f"cute.make_layout({shape}, stride={stride})"
        bad = f"bad = cute.make_composed_layout(cute.make_swizzle(3, 0, 3), 0, {layout})"
        file.write_text(SWIZZLES.replace("{bad}", bad))
        assert [f["code"] for f in _run("check", file, capsys)["findings"]] == ["CUT211"], shape


CONSTANTS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def named(m: cute.Tensor, tv: cute.Layout, tiler: cute.Shape):
    copy = cute.make_tiled_copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type), tv, tiler)  # taken


@cute.kernel
def plain(m: cute.Tensor, tv: cute.Layout, tiler):
    copy = cute.make_tiled_copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type), tv, tiler)  # refused


@cute.kernel
def packed(m: cute.Tensor, both):
    copy = cute.make_tiled_copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type), *both)  # refused


@cute.jit
def host(m: cute.Tensor, rows: int, which: cutlass.Constexpr):
    tiler, tv = cute.make_layout_tv(cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1)))
    if cutlass.const_expr(which == 0):
        named(m, tv, tiler).launch(grid=[1, 1, 1], block=[128, 1, 1])
    elif cutlass.const_expr(which == 1):
        plain(m, tv, tiler).launch(grid=[1, 1, 1], block=[128, 1, 1])
    elif cutlass.const_expr(which == 2):
        packed(m, (tv, tiler)).launch(grid=[1, 1, 1], block=[128, 1, 1])
    else:
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), m.element_type)
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((rows, 32)), cute.make_layout((4, 4)))  # refused


def uncalled(m: cute.Tensor, tv, tiler, which: int):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16)
    copy = cute.make_tiled_copy(atom, cute.make_layout((32, which)), (32, which))


if __name__ == "__main__":
    for which in range(4):
        m = make_fake_compact_tensor(cutlass.Float32, (64, 128), stride_order=(1, 0), assumed_align=16)
        cute.compile(host, m, 4, which)
"""


def test_a_tiled_copy_is_made_of_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "constants.py"
    file.write_text(CONSTANTS)
    refused = [i for i, line in enumerate(CONSTANTS.split("\n"), 1) if line.endswith("# refused")]
    findings = _run("check", file, capsys)["findings"]
    assert [(f["code"], f["line"]) for f in findings] == [("CUT303", line) for line in refused]
    assert findings[0]["message"].endswith("it is (tiler[0],tiler[1])")
    assert findings[1]["message"].endswith("it is (both[1][0],both[1][1])")
    assert not any("#" in f["message"] for f in findings)


TILE = """
import cutlass
import cutlass.cute as cute

@cute.jit
def host():
    op = cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(cutlass.Float16))
    cute.make_tiled_mma(op, cute.make_layout((16, 16, 1)), (128, 128, cutlass.Float4E2M1FN))  # refused

host()
"""


def test_a_tile_has_integers_and_layouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tile.py"
    file.write_text(TILE)
    document = _run("check", file, capsys)
    assert [(f["code"], f["line"]) for f in document["findings"]] == [("CUT303", 8)] and not document["errors"]


SCALES = """
import cutlass
import cutlass.cute as cute

@cute.jit
def host():
    atom = cute.make_layout(((32, 4), (16, 4)), stride=((16, 4), (STRIDE, 1)))
    scales = cute.tile_to_shape(atom, (ROWS, 256), (1, 0))

host()
"""


@pytest.mark.parametrize(
    ("stride", "rows", "found"), [("0", "200", []), ("512", "200", ["CUT211"]), ("512", "256", [])]
)
def test_blocks_of_scale_factors_are_padded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stride: str, rows: str, found: list[str]
) -> None:
    """Sixteen values share a factor; 128 rows make a block of them, the last one too."""
    (tmp_path / "k.py").write_text(SCALES.replace("STRIDE", stride).replace("ROWS", rows))
    main(["check", str(tmp_path), "--output-format", "json"])
    assert [f["code"] for f in json.loads(capsys.readouterr().out)["findings"]] == found
