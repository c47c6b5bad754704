"""CUT214 pipeline-wrong-steps."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.made import wrong_steps

_EXAMPLE = """
        import cutlass
        import cutlass.cute as cute
        import cutlass.pipeline as pipeline
        from cutlass.cute.nvgpu import cpasync
        from cutlass.cute.runtime import make_fake_tensor

        @cute.kernel
        def kernel(load: cute.CopyAtom, mA: cute.Tensor, layout: cute.Layout, mB: cute.Tensor, n: cutlass.Int32):
            tidx, _, _ = cute.arch.thread_idx()
            smem = cutlass.utils.SmemAllocator()
            bars = smem.allocate_array(cutlass.Int64, 4)
            sA = smem.allocate_tensor(cutlass.Float32, layout, byte_alignment=128)
            pipe = pipeline.PipelineTmaAsync.create(
                barrier_storage=bars, num_stages=2, tx_count=16384,
                producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
                consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4))
            gA = cute.group_modes(cute.local_tile(mA, (64, 64), (0, None)), 0, 2)
            ts, tg = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), gA)
            atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
            copy = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
            thr = copy.get_slice(tidx - 32)
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
            read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
            if tidx < 32:
                for i in cutlass.range(n):
                    pipe.producer_acquire(state)
                    cute.copy(load, tg[None, i], ts[None, state.index], tma_bar_ptr=pipe.producer_get_barrier(state))
                    state.advance()
            else:
                for i in cutlass.range(n):
                    %s
                    part = thr.partition_S(sA[None, None, read.index])
                    regs = cute.make_fragment_like(part)
                    cute.copy(copy, part, regs)
                    cute.copy(copy, regs, thr.partition_D(cute.local_tile(mB, (64, 64), (0, i))))
                    pipe.consumer_release(read)
                    read.advance()

        @cute.jit
        def host(mA: cute.Tensor, mB: cute.Tensor):
            tile = cute.make_layout((64, 64), stride=(64, 1))
            load, a = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, tile, (64, 64))
            layout = cute.make_layout((64, 64, 2), stride=(64, 1, 4096))
            kernel(load, a, layout, mB, 4).launch(grid=(4, 1, 1), block=(160, 1, 1))

        def tensor():
            shape = (cute.sym_int(divisibility=64), cute.sym_int(divisibility=64))
            stride = (cute.sym_int64(divisibility=64), 1)
            return make_fake_tensor(cutlass.Float32, shape, stride=stride, assumed_align=128)

        cute.compile(host, tensor(), tensor())
        """


class PipelineStepMissing(Rule):
    """A producer or consumer of a pipeline that does not wait for a stage, or does not give it back.

    What it checks
        Of each pipeline of the DSL's ``cutlass.pipeline``, or of C++'s ``cutlass::PipelineTmaAsync``,
        ``PipelineTmaUmmaAsync``, ``PipelineAsync``, ``PipelineUmmaAsync`` and ``PipelineUmmaConsumerAsync``, that a
        kernel makes (steps in loops count as often as they are written): something acquires a stage before the first
        load that tells its barriers, and in the loop around a load; something waits before the first read of what the
        loads fill, and in a loop that reads and releases; a loop that waits releases; a producer that is no TMA load
        commits; it has no more stages than the buffer that it fills and barriers for them; and the states that it is
        given are of its stages and of who uses them, and advance in the loops around. In a loop that goes on to the
        next stage, copies and MMAs do too. In C++: no fewer ``num_consumers`` than threads of a WGMMA that release its
        stages, and a barrier of the block between its constructor and its first use; no two
        pipelines have their barriers in the same memory at the same time. Of a pipeline that a kernel of CUTLASS's own
        makes, and hands to a collective of the program's, all steps count, and findings are where the program uses it.
        In Python: a ``PipelineTmaAsync``
        within one block counts as many releases as warps release a stage, of each of which one thread arrives.

    Why
        Without ``producer_acquire`` the copy overwrites a stage that is still read, and the barrier never hears how
        many bytes come. Without ``consumer_wait`` the kernel computes with the tile before. Without
        ``consumer_release`` or ``producer_commit`` the other side waits for ever, once all stages were used.

    Example
        for k in cutlass.range(n):
            warpgroup.fence()
            cute.gemm(mma, acc, tCrA[None, None, 0, state.index], tCrB[None, None, 0, state.index], acc)

    Use instead
        for k in cutlass.range(n):
            pipe.consumer_wait(state)
            warpgroup.fence()

    Assumptions
        A pipeline that is given to code that is not followed, whose class is the program's own, or in a file that was
        not walked to its end, is not judged; nor is one of which some steps are in headers that are not reported on. A
        loop that waits without a release may be a prologue where another loop releases without a wait.

    Fix
        Acquire, load (commit); wait, read, release: once each in every pass.

    References
        cutlass/pipeline/sm90.py and sm100.py of nvidia-cutlass-dsl 4.8.1; cutlass/pipeline/sm90_pipeline.hpp
    """

    code = "CUT214"
    name = "pipeline-wrong-steps"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the order of a pipeline's steps."
    arch = ("sm_90a",)
    valid = (_EXAMPLE % "pipe.consumer_wait(read)",)
    invalid = (_EXAMPLE % "pass",)

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        for at, message, label, advice in wrong_steps(call, context):
            yield self.finding(
                at.span, message, label=label, help=advice, related=[Related(call.span, "the pipeline")],
                enclosing=at.enclosing, arch=call.arch,
            )  # fmt: skip
