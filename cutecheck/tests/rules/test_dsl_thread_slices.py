"""Slices and barriers of the DSL that some of a block's threads take."""

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
def work(x: cute.Tensor, s: cute.Tensor, tc: cute.TiledCopy, t: cutlass.Int32):
    mine = tc.get_slice(t)
    cute.copy(tc, mine.partition_S(x), mine.partition_D(s))


@cute.kernel
def kernel(x: cute.Tensor, tc: cute.TiledCopy):
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((8, 128), stride=(128, 1)), 128)
    t, _, _ = cute.arch.thread_idx()
    group = cute.arch.make_warp_uniform(t // 128)
    BODY
    r = cute.make_rmem_tensor((4,), cutlass.Float32)
    cute.autovec_copy(cute.local_tile(s, (1, 4), (0, t % 32)), r)
    cute.autovec_copy(r, cute.local_tile(x, (1, 4), (0, t % 32)))


@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 32), stride=(32, 1)), cute.make_layout((1, 4)))
    kernel(x, tc).launch(grid=(1, 1, 1), block=(384, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (8, 128), stride=(128, 1), assumed_align=16))
"""
)


def found(tmp_path: Path, body: str, code: str) -> list[str]:
    (tmp_path / "main.py").write_text(SCRIPT.replace("BODY", body.replace("\n", "\n    ")))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=(code,)))
    return [f.message for f in made.findings]


@pytest.mark.parametrize(
    ("index", "said"),
    [("t - 128", ""), ("t", "thread 256 takes slice 256 of a TiledCopy of 256 threads"), ("t - 96", "slice 256")],
)
def test_threads_of_later_groups_take_slices_that_there_are(tmp_path: Path, index: str, said: str) -> None:
    """The block of the DSL has three extents; ``t - 128`` is no other thread's number than it is."""
    made = found(tmp_path, f"if group == 0:\n    pass\nelse:\n    work(x, s, tc, {index})", "CUT605")
    assert [said in m for m in made] == [True] * bool(said)


@pytest.mark.parametrize(
    ("meet", "said"),
    [
        ("if t < 128:\n    cute.arch.sync_threads()", True),
        ("if t < 128:\n    cute.arch.barrier()", True),
        ("if t < 128:\n    cute.arch.barrier(barrier_id=1, number_of_threads=128)", False),
        ("cute.arch.sync_threads()", False),
    ],
)
def test_barriers_of_the_block_that_some_threads_miss(tmp_path: Path, meet: str, said: bool) -> None:
    made = found(tmp_path, f"if t >= 128:\n    work(x, s, tc, t - 128)\n{meet}", "CUT212")
    assert any("does not come to this barrier of the block" in m for m in made) == said


PRODUCT = (
    HEAD
    + """
import cutlass.utils.hopper_helpers as sm90
from cutlass.cute.nvgpu import warpgroup


@cute.kernel
def kernel(mma: cute.TiledMma, lA: cute.ComposedLayout, lB: cute.ComposedLayout):
    t, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, lA.outer, 1024, lA.inner)
    sB = smem.allocate_tensor(cutlass.Float16, lB.outer, 1024, lB.inner)
    if t >= 128:
        group = cute.arch.make_warp_uniform((t - 128) // 128)
        thr = mma.get_slice(INDEX)
        rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
        acc = cute.make_rmem_tensor(mma.partition_shape_C((128, 64)), cutlass.Float32)
        warpgroup.fence()
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for k in cutlass.range_constexpr(4):
            cute.gemm(mma, acc, rA[None, None, k, 0], rB[None, None, k, 0], acc)
            mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()
        warpgroup.wait_group(0)


@cute.jit
def host():
    major = warpgroup.OperandMajorMode.K
    half, two = cutlass.Float16, (2, 1, 1)
    mma = sm90.make_trivial_tiled_mma(half, half, major, major, cutlass.Float32, two, (64, 64))
    rows, tile = cutlass.utils.LayoutEnum.ROW_MAJOR, (128, 64, 64)
    lA, lB = (f(rows, tile, cutlass.Float16, 1) for f in (sm90.make_smem_layout_a, sm90.make_smem_layout_b))
    kernel(mma, lA, lB).launch(grid=(1, 1, 1), block=(384, 1, 1))


cute.compile(host)
"""
)


@pytest.mark.parametrize(
    ("index", "said"), [("128 * group", False), ("t - 128", False), ("group", True), ("(t - 128) % 128", True)]
)
def test_warpgroups_behind_others_take_slices_of_their_own(tmp_path: Path, index: str, said: bool) -> None:
    """What is divided there is no number of the first threads, which do not come."""
    (tmp_path / "main.py").write_text(PRODUCT.replace("INDEX", index))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT605",)))
    assert ["first of the 2 warpgroups" in f.message for f in made.findings] == [True] * said
