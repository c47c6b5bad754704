"""CUT224 reduction-drops-lanes."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, TensorFact
from cutecheck.facts.core import ACROSS
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.reduced import missed


class ReductionDropsLanes(Rule):
    """The shuffles of a reduction do not reach all lanes that have elements of the row.

    What it checks
        Where a thread of the Python DSL reduces its values of one row (``fragment.load().reduce(...)``) and brings the
        number together with other lanes' (``warp_reduction``, ``shuffle_sync_bfly``): these are all lanes of its warp
        that have elements of the same row, by the copies or products that fill the fragment.

    Why
        Each lane then has the maximum or sum of a part of the row. A softmax or norm with it is wrong by little, and
        of data that are alike not at all.

    Example
        x = tXrX.load().reduce(cute.ReductionOp.ADD, 0.0, 0)         # a row of 32 lanes
        total = cute.arch.warp_reduction(x, operator.add, threads_in_group=16)

    Use instead
        total = cute.arch.warp_reduction(x, operator.add, threads_in_group=32)

    Assumptions
        Lanes of the first warp are looked at. Where values of several rows are reduced to one number, or none of a
        lane's neighbours is asked, nothing is said; nor where the lanes have a part of the row without gaps, which may
        be a block that has a scale of its own.

    Fix
        Take as many lanes as the thread-value layout of the copy has along the row: 4 for the accumulators of an MMA.

    References
        cutlass/cute/arch/nvvm_wrappers.py (warp_reduction); PTX ISA, shfl.sync
    """

    code = "CUT224"
    name = "reduction-drops-lanes"
    family = "coverage"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it evaluates the layouts of one warp."
    arch = ("sm_80",)
    valid = (
        """
        import operator
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        @cute.kernel
        def sums(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
            tidx, _, _ = cute.arch.thread_idx()
            part = tiled.get_slice(tidx).partition_S(x)
            r = cute.make_fragment_like(part)
            cute.copy(tiled, part, r)
            own = r.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
            y[tidx // 16] = cute.arch.warp_reduction(own, operator.add, threads_in_group=16)

        @cute.jit
        def run(x: cute.Tensor, y: cute.Tensor):
            atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
            threads = cute.make_layout((8, 16), stride=(16, 1))
            tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 4)))
            sums(x, y, tiled).launch(grid=[1, 1, 1], block=[128, 1, 1])

        cute.compile(run, make_fake_tensor(cutlass.Float32, (8, 128), stride=(128, 1), assumed_align=16),
                     make_fake_tensor(cutlass.Float32, (8,), stride=(1,)))
        """,
    )
    invalid = (
        """
        import operator
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        @cute.kernel
        def sums(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
            tidx, _, _ = cute.arch.thread_idx()
            part = tiled.get_slice(tidx).partition_S(x)
            r = cute.make_fragment_like(part)
            cute.copy(tiled, part, r)
            own = r.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
            y[tidx // 16] = cute.arch.warp_reduction(own, operator.add, threads_in_group=8)

        @cute.jit
        def run(x: cute.Tensor, y: cute.Tensor):
            atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
            threads = cute.make_layout((8, 16), stride=(16, 1))
            tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 4)))
            sums(x, y, tiled).launch(grid=[1, 1, 1], block=[128, 1, 1])

        cute.compile(run, make_fake_tensor(cutlass.Float32, (8, 128), stride=(128, 1), assumed_align=16),
                     make_fake_tensor(cutlass.Float32, (8,), stride=(1,)))
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.function != "across" or getattr(call.result, "reason", "") != ACROSS:
            return
        lost = missed(call, context)
        tensor = call.arguments[0]
        if lost is None or not isinstance(tensor, TensorFact):
            return
        yield self.finding(
            call.span,
            f"{lost.many} lanes of a warp have elements of the row of `{tensor.name}` that is reduced, and the "
            f"shuffles bring together {lost.reached}: those of lane {lost.lane} do not come to lane 0",
            label=f"{lost.reached} lanes, not {lost.many}",
            help=f"bring together the {lost.many} lanes that the row lies over",
            related=[Related(tensor.span, "reduced here"), Related(lost.by.span, "this fills the fragment")],
            enclosing=call.enclosing,
            arch=call.arch,
        )
