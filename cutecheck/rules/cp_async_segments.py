"""CUT105 cp-async-splits-lines."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.model.access import LINE_BYTES
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.segments import NoCostError, SegmentCost, cg_cost
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.coalescing import sectors
from cutecheck.rules.derive import heat
from cutecheck.rules.derive.accesses import SMEM_BASE, Access, accesses
from cutecheck.rules.derive.alignment import vector_faults
from cutecheck.rules.derive.lanes import lone_thread
from cutecheck.rules.derive.vectors import as_layout

_ADVICE = (
    "let the lanes of a warp fill whole 128-byte lines of shared memory from whole lines of global memory, or lines of "
    "different numbers modulo 4"
)


class CpAsyncSegments(Rule):
    """A cp.async.cg copy writes shared memory in more than twice the segments its source lines need.

    What it checks
        For every warp instruction of a 16-byte ``cp.async.cg``: how many segments its write takes by the model that was
        measured on sm_90, against the least for as many source lines. Reported above twice the least.

    Why
        ``cp.async.cg`` writes what arrived together from four source lines, one segment for each 128-byte line it goes
        to; segments whose lines are equal modulo 4 wait for each other. Rows 512 bytes apart take four times as long.
        Twice the least is not reported: two segments for one, as of 16 lanes a row in two pages of 64 columns, measured
        9% slower (786 against 720 cycles for 64 instructions), and a copy that waits for memory does not show it.

    Example
        using Smem = Layout<Shape<_64, _64>, Stride<_256, _1>>;  // half_t, filled by 16-byte cp.async.cg

    Use instead
        using Smem = Layout<Shape<_64, _64>, Stride<_64, _1>>;

    Assumptions
        Costs are a model fitted to measurements on an H200, not a proof. Run-time row strides of the source are taken
        as whole 128-byte lines, other uniform values at their smallest.

    Fix
        Let the eight lanes of a source line write one 128-byte line, and neighbouring source lines neighbouring ones.

    References
        PTX ISA, cp.async; docs/proofs.md (segment model)
    """

    code = "CUT105"
    name = "cp-async-splits-lines"
    family = "cp-async-segments"
    severity = "note"
    confidence = "model-based"
    valid = (
        """
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Smem = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) fill(half_t const* in) {
          __shared__ alignas(128) half_t tile[cosize_v<Smem>];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Smem{});
          Fill copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
        }
        """,
    )
    invalid = (
        """
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Smem = Layout<Shape<_64, _64>, Stride<_256, _1>>;
        __global__ void __launch_bounds__(128) fill(half_t const* in) {
          __shared__ alignas(128) half_t tile[cosize_v<Smem>];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Smem{});
          Fill copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        sides = {a.side: a for a in accesses(event)}
        src, dst = sides.get("src"), sides.get("dst")
        if src is None or dst is None or dst.instruction.kind != "cp.async.cg" or lone_thread(event):
            return
        if vector_faults(src, context) or vector_faults(dst, context):
            return
        try:
            cost = cg_cost(_written(dst), sectors(src, LINE_BYTES))
        except NoCostError as error:
            context.unknown("cp-async-segments", event, "dst", str(error))
            return
        if cost.total_segments <= 2 * cost.total_least:
            return
        yield self.finding(
            event.span,
            f"a cp.async.cg to `{dst.tensor.name}` takes up to {cost.segments} segments a warp instruction where "
            f"{cost.least} would do",
            label=f"{cost.segments} segments, {cost.least} would do",
            help=f"{_cost(event, cost)}; {_ADVICE}; by the model: {', '.join(cost.assumptions)}",
            related=[Related(t.span, f"part of {t.root_layout or t.layout}") for t in (src.tensor, dst.tensor)],
            enclosing=event.enclosing,
            arch=event.arch,
        )


def _written(access: Access) -> BankAccess:
    """The shared side as the segment model takes it; its kind plays no part there."""
    return BankAccess(
        kind="cp.async.ca",
        element_bits=access.element_bits,
        vector_bits=access.bits,
        offset=access.offset,
        threads=access.threads,
        swizzle=access.swizzle,
        rest=as_layout(access.rest),
        base_alignment=max(access.base, SMEM_BASE),
        what=access.tensor.name,
    )


def _cost(event: Event, cost: SegmentCost) -> str:
    return (
        f"{heat.where(event)}; {cost.total_segments} segments in {cost.instructions} instructions where "
        f"{cost.total_least} would do, about {cost.excess_cycles:.0f} cycles"
    )
