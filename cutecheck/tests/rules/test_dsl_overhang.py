"""Tiles of the DSL that are larger than the rows they are taken of."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.jit
def below(c: cute.Tensor, limit: cutlass.Int32) -> cute.Tensor:
    mask = cute.make_rmem_tensor(
        cute.make_layout((1, 1, cute.size(c, mode=[2])), stride=(cute.size(c, mode=[2]), 0, 1)), cutlass.Boolean
    )
    for n in cutlass.range_constexpr(cute.size(mask, mode=[2])):
        mask[0, 0, n] = cute.elem_less(c[(0, 0), 0, n][1], limit)
    return mask


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, tc: cute.TiledCopy):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    mine = tc.get_slice(t)
    gX, gY = (cute.local_tile(a, (4, 768), (b, 0)) for a in (x, y))
    c = mine.partition_S(cute.local_tile(cute.make_identity_tensor(x.shape), (4, 768), (b, 0)))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    mask = below(c, x.shape[1])
    inside = c[0][0] < x.shape[0]
    r = cute.make_rmem_tensor_like(mine.partition_S(gX))
    r.fill(0)
    if inside:
        cute.copy(atom, mine.partition_S(gX), r, pred=mask)
    STORE


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 8)))
    kernel(x, y, tc).launch(grid=(cute.ceil_div(x.shape[0], 4), 1, 1), block=(128, 1, 1))


rows = cute.sym_int()
cute.compile(host, *(make_fake_tensor(cutlass.Float16, (rows, WIDE), stride=(WIDE, 1), assumed_align=16) for _ in "xy"))
"""
)
COPY = "cute.copy(atom, r, mine.partition_D(gY))"


@pytest.mark.parametrize(
    ("store", "wide", "said"),
    [
        (f"if inside:\n        {COPY[:-1]}, pred=mask)", 760, False),
        (f"if inside:\n        {COPY}", 760, True),
        (f"if c[0][0] < x.shape[0]:\n        {COPY}", 760, True),
        (COPY, 760, True),
        (f"if inside:\n        {COPY}", 768, False),
        (f"if c[0][1] < 128:\n        {COPY}", 760, False),
        (f"if inside and t < 8:\n        {COPY}", 760, False),
    ],
)
def test_a_tile_wider_than_the_rows(tmp_path: Path, store: str, wide: int, said: bool) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("STORE", store).replace("WIDE", str(wide)))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT210",)))
    assert [f.message for f in made.findings if "its tile 768" in f.message] == [f.message for f in made.findings]
    assert bool(made.findings) == said
