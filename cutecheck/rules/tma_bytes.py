"""CUT805 tma-wrong-transaction-bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.announced import ADDS, EXPECTS, announced_bytes, announcements, brought_by, bytes_by
from cutecheck.rules.derive.protocol import BY_TMA, expected, fills, in_pairs, pipelines, stage_bytes
from cutecheck.rules.derive.told import by_same_threads, bytes_of, told


class TmaTransactionBytes(Rule):
    """A barrier is told to expect other bytes than its TMA copies bring.

    What it checks
        Where a function announces a number of bytes (``set_barrier_transaction_bytes``, ``arrive_and_expect_tx``,
        ``mbarrier_arrive_and_expect_tx``): the TMA loads that follow, up to the next announcement, bring that many
        bytes to the CTA's shared memory, the parts of other CTAs in a multicast included; or those before it, since
        the last announcement, where the first step at its barrier is a load. Of a barrier that is known they may be
        in other functions. So do the loads into one stage of a pipeline, as its ``tx_count``, or
        ``transaction_bytes`` of its ``Params``, says: where two CTAs multiply together, those that both bring.

    Why
        With too many announced the wait never ends. With too few the phase flips before the data is there, and the
        kernel computes with what was in the tile before; both compile.

    Example
        set_barrier_transaction_bytes(bar, sizeof(half_t) * size(SmemA{}));
        copy(tma_a.with(bar), tAgA, tAsA);
        copy(tma_b.with(bar), tBgB, tBsB);

    Use instead
        set_barrier_transaction_bytes(bar, sizeof(half_t) * (size(SmemA{}) + size(SmemB{})));

    Assumptions
        Copies whose barrier is not known signal the one that was announced last. Announcements whose number, or copies
        whose size, the source does not say, copies under a condition of their own, several announcements before
        the first copy, and bytes that are added to what a barrier expects (``expect_transaction``,
        ``mbarrier_expect_tx``) are not judged.

    Fix
        Compute the bytes from the layouts of all tiles that the barrier waits for.

    References
        PTX ISA, mbarrier.expect_tx; cute/arch/copy_sm90_desc.hpp (set_barrier_transaction_bytes)
    """

    code = "CUT805"
    name = "tma-wrong-transaction-bytes"
    family = "tma-limits"
    severity = "error"
    confidence = "heuristic"
    valid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          set_barrier_transaction_bytes(bar, size(Smem{}) * sizeof(half_t));
          copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}));
        }
        """,
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(blockIdx.x % 2);
          set_barrier_transaction_bytes(bar, size(Smem{}) * sizeof(half_t));  // each CTA fetches half, for both
          copy(tma.with(bar, uint16_t(3)), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, _2{}));
        }
        """,
    )
    invalid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          set_barrier_transaction_bytes(bar, size(Smem{}));
          copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          fill<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if call.subject:
            yield from self._of_pipeline(call, context)
        if call.function == "mbarrier.expect":
            yield from self._of_barrier(call, context)
        if call.function not in EXPECTS or (call.span, call.kernel, call.arch) in told(context):
            return
        function = (call.enclosing, call.kernel, call.arch)
        group = next((g for g in announcements(context)[function] if call in g.calls), None)
        if group is None or group.calls[-1] is not call or not group.loads:
            return
        expected = [announced_bytes(c) for c in group.calls]
        brought = [bytes_by(e) for e in group.loads]
        guards = {g for c in group.calls for g in c.guards}
        if None in expected or None in brought or not all(by_same_threads(e, guards) for e in group.loads):
            return
        if len(group.calls) > 1 or call.function in ADDS:
            return  # the copies between the announcements are not known, or all follow the last; or not all announced
        if len({e.loop_depth for e in group.loads}) != 1:
            return
        want = sum(cast("list[int]", expected))
        yield from self._compared(call, want, cast("list[int]", brought), group.loads, True, context)

    def _of_barrier(self, call: Call, context: Context) -> Iterable[Finding]:
        """What one barrier is told, against the loads that tell it, whatever functions both are in."""
        group = told(context).get((call.span, call.kernel, call.arch))
        if group is None or group.call is not call:
            return
        want, brought = announced_bytes(call), bytes_of(group)
        if want is None or brought is None:
            return
        yield from self._compared(call, want, brought, list(group.loads), group.follow, context)

    def _compared(
        self, call: Call, want: int, brought: list[int], loads: list[Call | Event], follow: bool, context: Context
    ) -> Iterable[Finding]:
        have = sum(brought)
        payload = Holds((Condition(Rel.EQ, as_expr(want), as_expr(have)),), "bytes of the barrier")
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        if outcome.verdict is not Verdict.REFUTED:
            return
        parts = " + ".join(f"{b}" for b in brought)
        yield self.finding(
            call.span,
            f"the barrier is told to expect {want} bytes, the TMA copies {'that follow' if follow else 'before it'} "
            f"bring {have}"
            + (f" ({parts})" if len(brought) > 1 else "")
            + (": the wait ends before they are there" if want < have else ": the wait never ends"),
            label=f"{want} bytes, {have} arrive",
            help="sum the bytes of the shared tiles of all copies that signal this barrier",
            related=[Related(e.span, f"{b} bytes") for e, b in zip(loads, brought, strict=True)],
            enclosing=call.enclosing,
            arch=call.arch,
        )

    def _of_pipeline(self, call: Call, context: Context) -> Iterable[Finding]:
        """``tx_count`` of a pipeline, against what is loaded between one acquired stage and the next."""
        pipeline = pipelines(context).get((call.subject, call.arch))
        if pipeline is None or pipeline.made is not call or pipeline.escapes:
            return
        if pipeline.kind not in BY_TMA or pipeline.adds:
            return
        for loads in fills(pipeline):
            paired = in_pairs(pipeline, loads)
            brought = [brought_by(e, paired) for e in loads]
            want = stage_bytes(pipeline, loads)
            if None in brought or want is None:
                continue
            have = sum(cast("list[int]", brought)) * (2 if paired else 1)
            if not paired and expected(pipeline, have, want):
                have = want
            payload = Holds((Condition(Rel.EQ, as_expr(want), as_expr(have)),), "bytes of the barrier")
            outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
            if outcome.verdict is not Verdict.REFUTED:
                continue
            parts = " + ".join(f"{b}" for b in brought)
            yield self.finding(
                call.span,
                f"a stage of this pipeline expects {want} bytes, the TMA copies into one bring {have}"
                + (f" ({parts}{' in each of two CTAs' if paired else ''})" if len(brought) > 1 else "")
                + (": the wait ends before they are there" if want < have else ": the wait never ends"),
                label=f"{want} bytes expected, {have} arrive",
                help="sum the bytes of the shared tiles, one stage of each, of all copies that tell its barrier",
                related=[Related(e.span, f"{b} bytes") for e, b in zip(loads, brought, strict=True)],
                enclosing=call.enclosing,
                arch=call.arch,
            )
            return
