"""Grids of the DSL that are constants, held against the tiles of what their kernels store."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, tc: cute.TiledCopy):
    t, _, _ = cute.arch.thread_idx()
    b, n, _ = cute.arch.block_idx()
    mine = tc.get_slice(t)
    gX, gY = (cute.local_tile(a, (8, 128), (b, n)) for a in (x, y))
    r = cute.make_rmem_tensor_like(mine.partition_S(gX))
    cute.copy(tc, mine.partition_S(gX), r)
    cute.copy(tc, r, mine.partition_D(gY))


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 4)))
    kernel(x, y, tc).launch(grid=GRID, block=(128, 1, 1))


for rows in (ROWS):
    cute.compile(host, *(make_fake_tensor(cutlass.Float32, (rows, 256), stride=(256, 1)) for _ in "xy"))
"""
)


@pytest.mark.parametrize(
    ("grid", "rows", "codes"),
    [
        ("(8, 2, 1)", "64,", set()),
        ("[8, 2]", "64,", set()),
        ("(4, 2, 1)", "64,", {"CUT219"}),
        ("(8, 1, 1)", "64,", {"CUT219"}),
        ("(16, 2, 1)", "64,", {"CUT210"}),
        ("(2, 8, 1)", "64,", {"CUT210", "CUT219"}),
        ("(cute.ceil_div(x.shape[0], 16), 2, 1)", "64,", {"CUT219"}),
        ("(x.shape[0] // 8, 2, 1)", "64, 128, 32", set()),  # each launch has a grid of its own
    ],
)
def test_grids_of_constants(tmp_path: Path, grid: str, rows: str, codes: set[str]) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("GRID", grid).replace("ROWS", rows))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT210", "CUT219")))
    assert {f.code for f in made.findings} == codes
