"""Threads that write the operand of an MMA of tensor memory: one lane issues it and tells when it is done."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
from cutlass import Float16, Float32
from cutlass.cute.nvgpu import tcgen05


def agents(n=1):
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, n)


@cute.struct
class Storage:
    bars: cute.struct.MemRange[cutlass.Int64, 2]


@cute.kernel
def kernel(mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    bars = smem.allocate(Storage).bars.data_ptr()
    layout = cute.make_layout(((128, 16), 1, 4), stride=((64, 1), 0, 16))
    sA = smem.allocate_tensor(Float16, layout, 1024, swizzle=cute.make_swizzle(3, 4, 3))
    sB = smem.allocate_tensor(Float16, layout, 1024, swizzle=cute.make_swizzle(3, 4, 3))
    put, get = pipeline.PipelineAsyncUmma.create(
        barrier_storage=bars, num_stages=1, producer_group=agents(128), consumer_group=agents()
    ).make_participants()
    acc = mma.make_fragment_C(mma.partition_shape_C((128, 128)))
    if warp == 4:
        rA, rB = mma.make_fragment_A(sA), mma.make_fragment_B(sB)
        for n in cutlass.range(4, unroll=1):
            full = get.wait_and_advance()
            for k in cutlass.range_constexpr(4):
                mma.set(tcgen05.Field.ACCUMULATE, k != 0)
                cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)
            full.release()
    elif warp < 4:
        r = cute.make_rmem_tensor(cute.make_layout(16), Float16)
        r.fill(0.0)
        for n in cutlass.range(4, unroll=1):
            free = put.acquire_and_advance()
            for k in cutlass.range_constexpr(4):
                cute.autovec_copy(r, sA[(tid, None), 0, k])
            cute.arch.fence_proxy("async.shared", space="cta")
            free.commit()


@cute.jit
def host():
    k_major = tcgen05.OperandMajorMode.K
    op = tcgen05.MmaF16BF16Op(
        Float16, Float32, (128, 128, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, k_major, k_major)
    kernel(cute.make_tiled_mma(op)).launch(grid=(1, 1, 1), block=(160, 1, 1))


cute.compile(host)
"""


def test_what_one_lane_multiplies_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), select=("CUT212", "CUT217"), cache=False))
    assert not report.errors and not report.failures
    assert any(c.function == "replay" for c in report.facts.calls)
    assert not report.findings
