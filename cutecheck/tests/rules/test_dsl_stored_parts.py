"""Parts that kernels of the Python DSL store: to which tile, under which condition, of whose threads."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_dsl_roles import KERNEL as GEMM

GLU = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(gX: cute.Tensor, gO: cute.Tensor, cO: cute.Tensor, shape: cute.Shape, thr: cute.Layout, val: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    blk = ((None, None), bid)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gX.element_type)
    t = cute.make_tiled_copy_tv(atom, thr, val).get_slice(tid)
    tX, tO, tC = t.partition_S(gX[blk]), t.partition_D(gO[blk]), t.partition_S(cO[blk])
    rX, rO = cute.make_fragment_like(tX), cute.make_fragment_like(tO)
    pred = cute.make_rmem_tensor(tC.shape, cutlass.Boolean)
    for i in range(0, cute.size(pred), 1):
        pred[i] = cute.elem_less(tC[i], shape)
    cute.copy(atom, tX, rX, pred=pred)
    rO.store(rX.load() * 2.0)
    cute.copy(atom, rO, tO, pred=pred)


@cute.jit
def host(mX: cute.Tensor, mO: cute.Tensor):
    thr, val = cute.make_ordered_layout((4, 32), order=(1, 0)), cute.make_ordered_layout((4, 4), order=(1, 0))
    tiler, _ = cute.make_layout_tv(thr, val)
    gX, gO = cute.zipped_divide(mX, tiler), cute.zipped_divide(mO, tiler)
    cO = cute.zipped_divide(cute.make_identity_tensor(mO.shape), tiler)
    kernel(gX, gO, cO, mO.shape, thr, val).launch(grid=[cute.size(gO, mode=[1]), 1, 1], block=[128, 1, 1])


def tensor():
    shape = (cute.sym_int(), cute.sym_int(divisibility=4))
    return make_fake_compact_tensor(Float32, shape, stride_order=(1, 0), assumed_align=16)


cute.compile(host, tensor(), tensor())
"""


def _codes(folder: Path, text: str, *swaps: tuple[str, str]) -> list[str]:
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_90a",), select=("CUT2", "CUT6", "CUT7"), cache=False))
    assert not report.errors
    assert not report.failures
    return sorted({f.code for f in report.findings})


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("cute.copy(atom, rO, tO, pred=pred)", "cute.copy(atom, rO, tO)", "CUT210"),
        ("block=[128, 1, 1]", "block=[256, 1, 1]", "CUT706"),
    ],
    ids=["stored whole", "threads beyond the copy's"],
)
def test_parts_by_an_atom(tmp_path: Path, old: str, new: str, code: str) -> None:
    """``cute.copy(atom, ...)`` of what a tiled copy has parted; predicates ask for what is stored."""
    assert _codes(tmp_path, GLU) == []
    assert _codes(tmp_path, GLU, (old, new)) == [code]


def test_predicates_that_ask_of_another_matrix_say_nothing_of_what_is_stored(tmp_path: Path) -> None:
    other = ("cute.make_identity_tensor(mO.shape)", "cute.make_identity_tensor(mX.shape)")
    asked = ("kernel(gX, gO, cO, mO.shape", "kernel(gX, gO, cO, mX.shape")
    whole = ("cute.copy(atom, rO, tO, pred=pred)", "cute.copy(atom, rO, tO)")
    assert _codes(tmp_path, GLU, other, asked, whole) == []


TWO = (
    ("(1, 1, 1), (64, 128))", "(2, 1, 1), (64, 128))"),
    ("block=[256, 1, 1]", "block=[384, 1, 1]"),
    ("barrier_id=1, num_threads=128", "barrier_id=1, num_threads=256"),
    ("pipeline.Agent.Thread, 4)", "pipeline.Agent.Thread, 8)"),
    ("thr = mma.get_slice(tid - 128)", "thr = mma.get_slice(SLICE)"),
)


@pytest.mark.parametrize(("index", "found"), [("tid // 128 * 128 - 128", False), ("tid // 128 - 1", True)])
def test_slices_of_one_warpgroup_of_two(tmp_path: Path, index: str, found: bool) -> None:
    text = GEMM
    for old, new in TWO:
        assert text.count(old) == 1, old
        text = text.replace(old, new.replace("SLICE", index))
    assert ("CUT605" in _codes(tmp_path, text)) is found


ATTENTION = """
import cutlass
import cutlass.cute as cute
from cutlass import Float16, Float32
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(mQ: cute.Tensor, mK: cute.Tensor, mO: cute.Tensor, layout: cute.ComposedLayout, g2s: cute.TiledCopy,
           mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    block, head, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    sQ, sK = (smem.allocate_tensor(Float16, layout, 128) for _ in "qk")
    thr = g2s.get_slice(tid)
    gQ = cute.local_tile(mQ[None, None, head], (64, 64), (block, 0))
    gK = cute.local_tile(mK[None, None, head], (64, 64), (0, 0))
    gO = cute.local_tile(mO[None, None, head], (64, 64), (block, 0))
    tQg, tQs = thr.partition_S(gQ), thr.partition_D(sQ)
    at = thr.partition_S(cute.make_identity_tensor((64, 64)))
    for m in cutlass.range_constexpr(cute.size(tQs, mode=[1])):
        if at[0, m, 0][0] < mQ.shape[0] - block * 64:
            cute.copy(g2s, tQg[None, m, None], tQs[None, m, None])
        else:
            tQs[None, m, None].fill(0.0)
    cute.copy(g2s, thr.partition_S(gK), thr.partition_D(sK))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    each = mma.get_slice(tid)
    rQ, rK = mma.make_fragment_A(each.partition_A(sQ)), mma.make_fragment_B(each.partition_B(sK))
    acc = cute.make_rmem_tensor(mma.partition_shape_C((64, 64)), Float32)
    acc.fill(0.0)
    ldm = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
    s2r_Q, s2r_K = (f(ldm, mma).get_slice(tid) for f in (cute.make_tiled_copy_A, cute.make_tiled_copy_B))
    cute.copy(s2r_Q, s2r_Q.partition_S(sQ), s2r_Q.retile(rQ))
    cute.copy(s2r_K, s2r_K.partition_S(sK), s2r_K.retile(rK))
    cute.gemm(mma, acc, rQ, rK, acc)
    cute.gemm(mma, acc, rK, rK, acc)
    out = cute.make_rmem_tensor_like(acc, Float16)
    out.store(acc.load().to(Float16))
    tOg, tOc = each.partition_C(gO), each.partition_C(cute.make_identity_tensor((64, 64)))
    if tOc[0][0] < mO.shape[0] - block * 64:
        cute.autovec_copy(out, tOg)


@cute.jit
def host(mQ: cute.Tensor, mK: cute.Tensor, mO: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    layout = cute.tile_to_shape(swizzled, (64, 64), (0, 1))
    mma = cute.make_tiled_mma(
        warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (4, 1, 1), permutation_mnk=(64, 16, 16)
    )
    grid = (cute.ceil_div(mQ.shape[0], 64), mQ.shape[2], 1)
    kernel(mQ, mK, mO, layout, g2s, mma).launch(grid=grid, block=[128, 1, 1])


def tensor(rows):
    stride = (cute.sym_int64(divisibility=8), 1, cute.sym_int64(divisibility=8))
    return make_fake_tensor(Float16, (rows, 64, cute.sym_int()), stride=stride, assumed_align=16)


cute.compile(host, tensor(cute.sym_int()), tensor(64), tensor(cute.sym_int()))
"""


def test_a_tile_that_all_blocks_of_several_products_store(tmp_path: Path) -> None:
    own = ("gO = cute.local_tile(mO[None, None, head], (64, 64), (block, 0))",
           "gO = cute.local_tile(mO[None, None, head], (64, 64), (0, 0))")  # fmt: skip
    first = ("    if tOc[0][0] < mO.shape[0] - block * 64:\n", "    if block == 0:\n")
    assert "CUT219" not in _codes(tmp_path, ATTENTION)
    assert "CUT219" in _codes(tmp_path, ATTENTION, own)
    assert "CUT219" not in _codes(tmp_path, ATTENTION, own, first)
