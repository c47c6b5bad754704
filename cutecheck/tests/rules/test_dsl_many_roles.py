"""Kernels of the DSL with many roles, or roles of lanes, thread by thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.rules.test_dsl_roles import found_codes

CHAIN = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(x: cute.Tensor):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    bars = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 6)
    if warp == 0:
        with cute.arch.elect_one():
            for i in cutlass.range_constexpr(6):
                cute.arch.mbarrier_init(bars + i, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(6):
        if warp == i:
            if cutlass.const_expr(i > 0):
                cute.arch.mbarrier_wait(bars + i - 1, 0)
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(bars + i)
    if warp == 0:
        for phase in (PHASES):
            cute.arch.mbarrier_wait(bars + 5, phase)


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(192, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (192,), stride=(1,), assumed_align=16))
"""


@pytest.mark.parametrize(("phases", "codes"), [("0,", []), ("0, 1", ["CUT217"])])
def test_twelve_roles(tmp_path: Path, phases: str, codes: list[str]) -> None:
    """Six warps, each with an elected thread that arrives and others that only wait."""
    assert found_codes(tmp_path, CHAIN.replace("PHASES", phases)) == codes


TURNS = """
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
from cutlass import Float16
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(tma: cute.CopyAtom, mA: cute.Tensor, y: cute.Tensor, rows: cute.Layout, lA: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    bars, turns = smem.allocate_array(cutlass.Int64, 4), smem.allocate_array(cutlass.Int64, 1)
    sA = smem.allocate_tensor(Float16, lA, byte_alignment=128)
    loads = pipeline.PipelineTmaAsync.create(
        barrier_storage=bars, num_stages=2, tx_count=cute.size_in_bytes(Float16, rows),
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4),
    )
    if tid == 0:
        cute.arch.mbarrier_init(turns, 128)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    g = cute.local_tile(mA, (128, 64), (0, None))
    to, of = cpasync.tma_partition(tma, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(g, 0, 2))
    steps = cute.size(g, mode=[2])
    if warp_idx == 4:
        fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
        for k in cutlass.range(steps, unroll=1):
            loads.producer_acquire(fill)
            cute.copy(tma, of[None, k], to[None, fill.index], tma_bar_ptr=loads.producer_get_barrier(fill))
            fill.advance()
        loads.producer_tail(fill)
    if warp_idx == 5:
        cute.arch.mbarrier_wait(turns, 0)
    if warp_idx < 4:
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
        tc = cute.make_tiled_copy_tv(atom, cute.make_layout((128, 1)), cute.make_layout((1, 8)))
        of = tc.get_slice(tid).partition_S(sA)
        r = cute.make_rmem_tensor(of[None, None, None, 0].shape, Float16)
        full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        for k in cutlass.range(steps, unroll=1):
            loads.consumer_wait(full)
            cute.copy(tc, of[None, None, None, full.index], r)
            loads.consumer_release(full)
            full.advance()
        cute.arch.mbarrier_arrive(turns)
        y[tid] = r[0]


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    rows = cute.make_layout((128, 64), stride=(64, 1))
    lA = cute.make_layout((128, 64, 2), stride=(64, 1, 8192))
    tma, mA = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, rows, (128, 64))
    kernel(tma, mA, y, rows, lA).launch(grid=(1, 1, 1), block=(192, 1, 1))


def tensor(*shape):
    return make_fake_compact_tensor(Float16, shape, stride_order=tuple(reversed(range(len(shape)))), assumed_align=16)


cute.compile(host, tensor(128, cute.sym_int(divisibility=64)), tensor(128))
"""


@pytest.mark.parametrize(("early", "codes"), [(False, []), (True, ["CUT212", "CUT213"])])
def test_lanes_that_arrive_at_another_barrier(tmp_path: Path, early: bool, codes: list[str]) -> None:
    """One lane of each warp says that a stage is free; that all arrive elsewhere, to others, changes nothing there."""
    release, copy = "            loads.consumer_release(full)\n", "            cute.copy(tc, "
    text = TURNS.replace(release, "").replace(copy, release + copy) if early else TURNS
    assert found_codes(tmp_path, text) == codes
