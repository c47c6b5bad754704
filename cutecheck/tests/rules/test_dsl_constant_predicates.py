"""Predicates of the DSL that are constant, that a variable holds, and of tiles that parts of one block index walk."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def move(a: cute.Tensor, c: cute.Tensor, tiled: cute.TiledCopy, even: cutlass.Constexpr):
    bx, by, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    gA, gC, iA, iC = (
        cute.local_tile(t, (32, 32), (bx, by))
        for t in (a, c, cute.make_identity_tensor(a.shape), cute.make_identity_tensor(c.shape))
    )
    tA, tC, cA, cC = (thr.partition_S(t) for t in (gA, gC, iA, iC))
    r = cute.make_fragment_like(tA)
    pA = cute.make_rmem_tensor(cA.shape, cutlass.Boolean)
    pC = cute.make_rmem_tensor(cC.shape, cutlass.Boolean)
    pC.fill(False)
    for i in range(cute.size(pA)):
        inside = (cA[i][0] < a.shape[0]) & (cA[i][1] < a.shape[1])
        pA[i] = inside
    for i in range(cute.size(pC)):
        pC[i] = cute.elem_less(cC[i], c.shape)
    cute.copy(tiled, tA, r, pred=pA)
    cute.copy(tiled, r, tC, pred=pC)


@cute.jit
def run(a: cute.Tensor, c: cute.Tensor, even: cutlass.Constexpr = False):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    grid = [cute.ceil_div(a.shape[0], 32), cute.ceil_div(a.shape[1], 32), 1]
    move(a, c, tiled, even).launch(grid=grid, block=[128, 1, 1])


def tensor():
    shape = (cute.sym_int(), cute.sym_int())
    return make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int(), 1), assumed_align=16)


cute.compile(run, tensor(), tensor())
"""
OF_C = "        pC[i] = cute.elem_less(cC[i], c.shape)\n"
TO_C = "for i in range(cute.size(pC))"
TRUE = "        pC[i] = cutlass.Boolean(1)\n"
ROWS, COLUMNS = "(cA[i][0] < a.shape[0])", "(cA[i][1] < a.shape[1])"
LINEAR = [
    ("bx, by, _ = cute.arch.block_idx()", "at = cute.arch.block_idx()[0]\n    bx, by = at % T, at // T"),
    ("at % T, at // T", "at % cute.ceil_div(a.shape[0], 32), at // cute.ceil_div(a.shape[0], 32)"),
    ("grid = [", "grid = [cute.ceil_div(a.shape[0], 32) * cute.ceil_div(a.shape[1], 32), 1, 1]\n    unused = ["),
]
COPIES = "    cute.copy(tiled, tA, r, pred=pA)\n    cute.copy(tiled, r, tC, pred=pC)"
UNDER = "    if bx >= tiles or by >= columns:\n        pass\n    else:\n"
WITHIN_THE_GRID = [
    ("bx, by, _ = cute.arch.block_idx()", "at, above, _ = cute.arch.block_idx()\n    raster = 4"),
    ("    thr = tiled.get_slice", "    bx, by = at // raster, at % raster + above * raster\n    thr = tiled.get_slice"),
    (COPIES, UNDER + COPIES.replace("    cute", "        cute")),
    ("even: cutlass.Constexpr)", "even: cutlass.Constexpr, tiles: cutlass.Int32, columns: cutlass.Int32)"),
    ("tiled, even)", "tiled, even, cute.ceil_div(a.shape[0], 32), cute.ceil_div(a.shape[1], 32))"),
]
ONE_TILE: list[tuple[str, str]] = [
    ("(32, 32), (bx, by)", "(32, 64), (bx, 0)"),
    ("shape = (cute.sym_int(), cute", "shape = (cute.sym_int(), 40)  # (cute"),
    ("for i in range(cute.size(pC))", "for i in cutlass.range_constexpr(cute.size(pC))"),
]  # fmt: skip
CASES = {
    "right": ([], {}),
    "always_true": ([(OF_C, TRUE)], {"CUT210": "predicates of `tC` are always true"}),
    "true_but_for_some": ([(OF_C, f"{TRUE}        if cC[i][0] >= c.shape[0]:\n            pC[i] = False\n")], {}),
    "true_for_some": ([(OF_C, f"        if cC[i][0] < c.shape[0]:\n    {TRUE}")], {}),
    "true_for_a_number_of_them": ([(OF_C, TRUE), (TO_C, "for i in range(c.shape[0])")], {}),
    "true_for_the_first": ([(OF_C, TRUE), (TO_C, "for i in cutlass.range_constexpr(5)")], {}),
    "always_true_one_by_one": (
        [(OF_C, TRUE), (TO_C, "for i in cutlass.range_constexpr(8)")],
        {"CUT210": "predicates of `tC` are always true"},
    ),
    "for_whole_tiles": (
        [
            (OF_C, f"        if cutlass.const_expr(even):\n    {TRUE}        else:\n    {OF_C}"),
            ("run, tensor(), tensor())", "run, tensor(), tensor())\ncute.compile(run, tensor(), tensor(), True)"),
        ],
        {},
    ),
    "a_variable_of_columns_alone": ([(f"{ROWS} & {COLUMNS}", COLUMNS[1:-1])], {"CUT604": "do not bound mode 0"}),
    "a_variable_of_swapped_limits": (
        [(ROWS, ROWS.replace("shape[0]", "shape[1]")), (COLUMNS, COLUMNS.replace("shape[1]", "shape[0]"))],
        {"CUT604": "compare mode 0"},
    ),
    "one_index": (LINEAR, {}),
    "one_index_rows_alone": ([*LINEAR, ("elem_less(cC[i], c.shape)", "elem_less(cC[i][0], c.shape[0])")],
                             {"CUT604": "`tC` do not bound mode 1"}),
    "blocks_of_the_grid": (WITHIN_THE_GRID, {}),
    "blocks_of_the_grid_rows_alone": (
        [*WITHIN_THE_GRID, ("elem_less(cC[i], c.shape)", "elem_less(cC[i][0], c.shape[0])")],
        {"CUT604": "`tC` do not bound mode 1"},
    ),
    "blocks_of_the_grid_always_true": ([*WITHIN_THE_GRID, (OF_C, TRUE)], {"CUT210": "`tC` are always true"}),
    "one_tile_of_columns": (ONE_TILE, {}),
    "as_many_columns_as_the_tile": ([*ONE_TILE, ("elem_less(cC[i], c.shape)", "elem_less(cC[i], (c.shape[0], 64))")],
                                    {"CUT604": "let the coordinate 40 of mode 1 pass"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_predicates(tmp_path: Path, case: str) -> None:
    edits, said = CASES[case]
    text = KERNEL
    for right, wrong in edits:
        assert right in text
        text = text.replace(right, wrong, 1)
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT210", "CUT604"), cache=False))
    assert not report.failures and not report.errors and len(report.facts.events) >= 2
    assert {f.code for f in report.findings} == set(said)
    assert all(any(words in f.message for f in report.findings if f.code == code) for code, words in said.items())
