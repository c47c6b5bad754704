"""Grids of the Python DSL that round down the tiles of a mode whose end the kernel guards: CUT219."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute


@cute.kernel
def rows(mX: cute.Tensor, mY: cute.Tensor, tv: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    idX = cute.make_identity_tensor(mX.shape)
    gX, gY, cX = [cute.local_tile(t, (16, 128), (bidx, 0)) for t in (mX, mY, idX)]
    x, y, c = [cute.composition(t, tv)[tidx, None] for t in (gX, gY, cX)]
    r = cute.make_fragment_like(x)
    if c[0][0] < mX.shape[0]:
        cute.autovec_copy(x, r)
        cute.autovec_copy(r, y)


@cute.jit
def run(mX: cute.Tensor, mY: cute.Tensor):
    tiler, tv = cute.make_layout_tv(cute.make_layout((16, 32), stride=(32, 1)), cute.make_layout((1, 4)))
    m = mX.shape[0]
    rows(mX, mY, tv).launch(grid=GRID, block=[512, 1, 1])


def main():
    import torch
    from cutlass.cute.runtime import from_dlpack
    a, b = (from_dlpack(torch.empty(1000, 128, device="cuda"), assumed_align=16) for _ in range(2))
    a, b = (t.mark_compact_shape_dynamic(mode=0, stride_order=(0, 1)) for t in (a, b))
    cute.compile(run, a, b)


main()
"""


def found(folder: Path, grid: str, text: str = KERNEL) -> list[str]:
    (folder / "k.py").write_text(text.replace("GRID", grid))
    report = check(inputs([str(folder)]), Settings(select=("CUT219", "CUT704"), arch=("sm_90a",)))
    assert not report.failures and sum(e.kind == "copy" and e.reason is None for e in report.facts.events) == 2
    return [f.message for f in report.findings]


@pytest.mark.parametrize(
    "grid",
    [
        "[cute.ceil_div(m, 16), 1, 1]",
        "[(m + 15) // 16, 1, 1]",
        "(cute.ceil_div(mX.shape[0], 16), 1, 1)",
        "[m, 1, 1]",
        "[64, 1, 1]",
        "[cute.size(mX, mode=[0]), 1, 1]",
    ],
)
def test_a_block_for_each_tile(tmp_path: Path, grid: str) -> None:
    assert found(tmp_path, grid) == []


@pytest.mark.parametrize("grid", ["[m // 16, 1, 1]", "(mX.shape[0] // 16, 1, 1)"])
def test_none_for_the_last(tmp_path: Path, grid: str) -> None:
    (message,) = found(tmp_path, grid)
    assert "16" in message


@pytest.mark.parametrize(("grid", "count"), [("[m // 16, 1, 1]", 1), ("[cute.ceil_div(m, 16), 1, 1]", 0)])
def test_coordinates_in_the_tile_are_held_below_what_is_left(tmp_path: Path, grid: str, count: int) -> None:
    text = KERNEL.replace("idX = cute.make_identity_tensor(mX.shape)", "idX = cute.make_identity_tensor((16, 128))")
    text = text.replace("(bidx, 0)) for t in (mX, mY, idX)]", "(bidx, 0)) for t in (mX, mY)] + [idX]")
    text = text.replace("if c[0][0] < mX.shape[0]:", "if c[0][0] < mX.shape[0] - bidx * 16:")
    assert len(found(tmp_path, grid, text)) == count


ADD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(gA: cute.Tensor, gC: cute.Tensor, cC: cute.Tensor, shape: cute.Shape, thr: cute.Layout, val: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    a, c, ids = gA[(None, None), bidx], gC[(None, None), bidx], cC[(None, None), bidx]
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type, num_bits_per_copy=32)
    copier = cute.make_tiled_copy_tv(atom, thr, val).get_slice(tidx)
    tA, tC, tId = copier.partition_S(a), copier.partition_D(c), copier.partition_S(ids)
    r = cute.make_fragment_like(tA)
    pred = cute.make_rmem_tensor((tId.shape[0][1], tId.shape[1], tId.shape[2]), cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(pred)):
        pred[i] = cute.elem_less(tId[i], LIMIT)
    cute.copy(atom, tA, r, pred=pred)
    STORE


@cute.jit
def run(mA: cute.Tensor, mC: cute.Tensor, valid: cutlass.Int32):
    thr, val = cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 1))
    tiler, tv = cute.make_layout_tv(thr, val)
    gA, gC = (cute.zipped_divide(t, tiler) for t in (mA, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mA.shape), tiler)
    kernel(gA, gC, cC, mA.shape, thr, val).launch(grid=[cute.size(gC, mode=[1]), 1, 1], block=[128, 1, 1])


def fake(m, n):
    return make_fake_tensor(cutlass.Float32, (m, n), (cute.sym_int64(), 1), assumed_align=16)


m, n = cute.sym_int(divisibility=DIVIDES), cute.sym_int(divisibility=DIVIDES)
cute.compile(run, fake(m, n), OUT, cutlass.Int32(3))
"""
STORE = "cute.copy(atom, r, tC)"


@pytest.mark.parametrize(
    ("store", "limit", "divides", "out", "codes"),
    [
        ("cute.copy(atom, r, tC, pred=pred)", "shape", 1, "fake(m, n)", []),
        (STORE, "shape", 1, "fake(m, n)", ["CUT210"]),
        (STORE, "shape", 64, "fake(m, n)", []),  # tiles of 16 and of 32
        (STORE, "shape", 1, "fake(cute.sym_int(), n)", []),  # as many rows as tiles may have
        (STORE, "(shape[0] - 1, shape[1] - 1)", 1, "fake(m, n)", []),  # which elements are wanted, not which there are
        ("if pred[0]:\n        " + STORE, "shape", 1, "fake(m, n)", []),
    ],
)
def test_what_is_loaded_by_predicates_is_stored_by_them(
    store: str, limit: str, divides: int, out: str, codes: list[str], tmp_path: Path
) -> None:
    text = ADD.replace("STORE", store).replace("LIMIT", limit).replace("DIVIDES", str(divides)).replace("OUT", out)
    (tmp_path / "k.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT210",), arch=("sm_90a",), cache=False))
    assert not report.failures and sum(e.kind == "copy" and e.reason is None for e in report.facts.events) == 2
    assert [f.code for f in report.findings] == codes
