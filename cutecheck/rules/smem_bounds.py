"""CUT209 smem-out-of-bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from cutecheck.facts import Call, Event, Guard, SmemBuffer, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Dyn, Int, Sym, as_expr, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.model.prove import Outcome, Verdict, make_obligation
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.prove.properties import CosizeFits
from cutecheck.model.units import Elements
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of, static_layout
from cutecheck.rules.derive.barrier_room import barrier_behind
from cutecheck.rules.derive.coordinates import open_limits
from cutecheck.rules.derive.element_ends import element_behind
from cutecheck.rules.derive.elements import is_element
from cutecheck.rules.derive.ends import always_beyond
from cutecheck.rules.derive.guards import inner, leaves_out_blocks, selects_threads
from cutecheck.rules.derive.lanes import neighbours
from cutecheck.rules.derive.neighbours import lies_over_more
from cutecheck.rules.derive.outside import room_in
from cutecheck.rules.derive.places import placed, steps_apart
from cutecheck.rules.derive.scratch import overwritten
from cutecheck.rules.derive.zero_fill import as_written
from cutecheck.rules.partition_rounds_up import extents
from cutecheck.rules.replayed import Replayed


class SmemOutOfBounds(Replayed):
    """A copy or MMA goes past the end of the shared-memory array its tensor lies in.

    What it checks
        For every thread and every iteration with known bounds: all elements that a copy or MMA touches in shared memory
        lie in the array, or in the dynamic shared memory that the launch asks for. In kernels that are run pass by
        pass (by one path for all threads): no copy or MMA takes a slice that its tensor does not have, stage 3 of 3,
        or a stage behind the end of the array, and none reads a tile of which a part has been overwritten by a tensor
        that lies half over its own; so are kernels without loops where two tensors lie so. No single element is read
        that threads have stored, and another tensor's copy has overwritten since, of an array that starts elsewhere
        than that tensor and has another type. Of single elements (``partial[warp]``): that of each thread, in the first
        pass of the loops around, lies in the array, where all conditions around are on the thread's index. Barriers
        that are members of a struct in dynamic shared memory lie in what the launch asks for.

    Why
        A tensor is a pointer and a layout, nothing compares it with the allocation. ``size(layout)`` elements are too
        few for a padded layout, whose last row ends at ``cosize(layout)``; a loop that runs one stage too far, or a
        launch with the bytes of an older tile, writes over what lies behind.

    Example
        using SmemA = Layout<Shape<_64, _64>, Stride<_72, _1>>;   // padded by 8
        __shared__ half_t smem[size_v<SmemA>];

    Use instead
        __shared__ half_t smem[cosize_v<SmemA>];

    Assumptions
        Iterations and blocks whose number the source does not say are judged in a run pass by pass alone; but a stage
        that only a number of run time picks, ``(_, _, stage)``, comes to be each that the layout has. Not judged
        are copies under a predicate (but those by ``cp.async`` of the Python DSL, which write zeros there, and stages
        that do not exist, in such a run), under a
        condition that threads pass which are not neighbours, or under one on the thread that is not known, nor a tensor
        that is laid over several members of one structure, or over what the DSL's allocator gave one after another, of
        which the first is another tensor's. A copy under another condition happens. An array under a swizzle on
        addresses starts at a multiple of the blocks that the swizzle stays inside, which is listed where its
        declaration does not say so.

    Fix
        Allocate ``cosize_v`` of the layout, and launch with the bytes of the layouts that the kernel uses.

    References
        cute/layout.hpp (cosize); CUDA C++ Programming Guide, execution configuration
    """

    kinds = ("past stage", "torn", "outside")
    code = "CUT209"
    name = "smem-out-of-bounds"
    family = "coverage"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using SmemA = Layout<Shape<_64, _64>, Stride<_72, _1>>;
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) stage(half_t const* A) {
          __shared__ alignas(16) half_t smem[cosize_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_64, _64>{}, LayoutRight{});
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Load load;
          auto thr = load.get_slice(threadIdx.x);
          copy(load, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
    )
    invalid = (
        """
        using SmemA = Layout<Shape<_64, _64>, Stride<_72, _1>>;
        using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) stage(half_t const* A) {
          __shared__ alignas(16) half_t smem[size_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_64, _64>{}, LayoutRight{});
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Load load;
          auto thr = load.get_slice(threadIdx.x);
          copy(load, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        barrier = barrier_behind(call, context)
        if barrier is not None:
            over = barrier.end - barrier.left
            yield self.finding(
                call.span,
                f"a barrier in `{barrier.buffer.name}` ends {over} bytes behind the dynamic shared memory that the "
                "kernel is launched with",
                label=f"{over} bytes behind the end",
                help="launch with the size of all of the struct: sizeof(SharedStorage)",
                related=[Related(barrier.buffer.span, "lies here")],
                enclosing=call.enclosing,
                arch=call.arch,
            )
        behind = element_behind(call, context) if is_element(call) else None
        if behind is not None:
            name = f"`{behind.buffer.name}`" if behind.buffer.name else "its array"
            ends = f"launched with {behind.size} bytes" if behind.launched else f"{behind.size} bytes here"
            yield self.finding(
                call.span,
                f"thread {behind.thread} accesses element {behind.index} of {name}, which has {behind.elements} "
                f"elements ({behind.size} bytes)" + (" by the launch" if behind.launched else ""),
                label=f"{behind.elements} elements allocated",
                help="allocate an element for each thread that comes here, or let fewer threads come",
                related=[Related(behind.buffer.span, ends)],
                enclosing=call.enclosing, arch=call.arch,
            )  # fmt: skip
        lost = overwritten(call, context)
        if lost is not None:
            yield self.finding(
                call.span,
                f"an element of shared memory is read that was stored at line {lost.stored.span.line}, and "
                f"`{lost.name}` has been copied over it since: the two lie over one another",
                label=f"overwritten at line {lost.copied.span.line}",
                help="start each array behind the last byte of the one before it, and allocate the bytes of both",
                related=[Related(lost.stored.span, "stored here"), Related(lost.copied.span, "copied over it here")],
                enclosing=call.enclosing, arch=call.arch,
            )  # fmt: skip

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        event = as_written(event)
        if not open_limits(event, context):
            return
        some = any(map(_picks, inner(event.guards)))
        for tensor in event.operands:
            told = some and depends_on_thread(tensor)
            threads = _coming(event) if told else None
            named = selects_threads(inner(event.guards))
            if named and (event.predicated or (told and threads is None)):
                continue
            found = beyond(event, tensor, context, threads)
            if found is None:
                continue
            outcome, buffer, elements = found
            assert tensor.dtype is not None and tensor.dtype.bits is not None
            launched = buffer.size_bytes is None
            array = f"`{buffer.name}`" if buffer.name else "its array"
            size = elements * int(tensor.dtype.bits) // 8
            yield self.finding(
                event.span,
                f"`{tensor.name}` goes past the end of {array}, which has {elements} elements ({size} bytes)"
                + (" by the launch" if launched else ""),
                label=f"{elements} {tensor.dtype.name} allocated",
                help="launch with the bytes of all layouts that the kernel has in it at a time"
                if launched
                else "allocate cosize of the layout, not its size, for all stages the code uses",
                witness=outcome.witness,
                related=[
                    Related(tensor.span, f"part of {tensor.root_layout or tensor.layout}"),
                    Related(buffer.span, f"{size} bytes here" if not launched else f"launched with {size} bytes"),
                ],
                enclosing=event.enclosing,
                arch=event.arch,
            )


def _coming(event: Event) -> tuple[int, int] | None:
    """The first and the last thread that conditions on the index let come to a copy, where all between them do."""
    block = None if event.threads is None else known_value(event.threads)
    return None if block is None else neighbours(filter(_picks, inner(event.guards)), block)


def _picks(guard: Guard) -> bool:
    """Whether a condition lets some threads come only: by its value, or by the names in it."""
    return guard.asks is not None or selects_threads([guard])


def _may_leave_out(guard: Guard, event: Event, offset: Expr) -> bool:
    """Whether a condition may leave out some of the places that an offset stands for."""
    if guard.asks is not None or any(v.domain.hull or v.domain.values for v in offset.variables()):
        return True  # `int at = on ? 512 : 0; if (on) return;`: which value it has may hang on any condition
    names = {v.name for v in offset.variables()}
    if any(known_value(b.limit) is not None and not names.isdisjoint(_names(b.value)) for b in guard.bounds):
        return True
    return not guard.complete and not leaves_out_blocks(guard, event)


def _names(value: Int) -> set[str]:
    return {v.name for v in as_expr(value).variables()}


def depends_on_thread(tensor: TensorFact) -> bool:
    """Whether where a tensor starts may differ from thread to thread."""
    inner = tensor.layout.offset if isinstance(tensor.layout, ComposedLayout) else 0
    offsets = [tensor.offset, *([inner] if isinstance(inner, Dyn) else [])]
    if not all(isinstance(o, (int, Dyn, Sym)) for o in offsets):
        return True
    names = [v.name for o in offsets for v in as_expr(cast("Int", o)).variables()]
    return any("threadIdx" in name or PER_THREAD in name for name in names)


def beyond(
    event: Event, tensor: TensorFact, context: Context, threads: tuple[int, int] | None = None
) -> tuple[Outcome, SmemBuffer, int] | None:
    """The refuted outcome, the buffer and its elements, for a tensor that leaves its buffer.

    ``threads``: the first and the last that come here, where a condition leaves others out.
    """
    if tensor.space != "smem" or tensor.buffer is None:
        return None
    tensor = steps_apart(tensor)
    if tensor.dtype is None or not tensor.dtype.bits:
        return None
    if isinstance(tensor.layout, Unknown) or not static_layout(tensor.layout):
        return None
    atom = atom_of(event.tiled)
    if atom is not None and "MULTICAST" in atom.op.upper():
        return None  # each CTA brings a part of what its layout shows
    if any((known_value(a) or 0) % (known_value(b) or 1) for a, b in extents(tensor, event, context)):
        return None  # partition-rounds-up says why
    buffer = next(iter(context.index.buffers.get((tensor.buffer or "", event.arch), [])), None)
    found = None if buffer is None else placed(event, tensor, buffer, threads)
    if found is None or buffer is None:
        return None
    room = room_in(buffer, context)
    if room is None:
        return None
    total, launched = room
    if launched:
        buffer = replace(buffer, size_bytes=None)
    elements = total * 8 // int(tensor.dtype.bits)
    payload = CosizeFits(found.layout, Elements(elements), found.offset, tensor.name, found.base)
    obligation = make_obligation(
        payload, (event.event_id, buffer.buffer_id), arch=event.arch, span=event.span,
        hypotheses=[*(h.condition for h in event.hypotheses), *_passed(event)],
        assumptions=[found.assumption] if found.assumption else [],
    )  # fmt: skip
    outcome = context.prove(obligation)
    if outcome.verdict is not Verdict.REFUTED:
        return None
    if lies_over_more(tensor, buffer, context):
        before = f"`{buffer.name}` in the same structure" if buffer.name else "its array, of other tensors, too"
        reason = f"it goes on into what comes after {before}"
        context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason))
        return None
    at_each = (replace(obligation, objects=replace(payload, base=ex.const(n))) for n in found.starts())
    if any(context.prover(o).verdict is not Verdict.REFUTED for o in at_each):
        reason = f"whether it goes past the end depends on where `{buffer.name}` starts"
        context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason))
        return None
    each = [replace(payload, base=ex.const(n)) for n in found.starts()] or [payload]
    wide = next((v for v in found.offset.variables() if v.domain.hull), None)
    if wide is not None and not all(always_beyond(event, p, [], context) for p in each):
        reason = f"`{wide.name}` may have no value that goes past the end: it is known by a range around its values"
        context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason))
        return None
    unclear = [g for g in inner(event.guards) if _may_leave_out(g, event, found.offset)]
    if threads is not None or not depends_on_thread(tensor):  # it is known which threads come here, or does not matter
        unclear = [g for g in unclear if g.asks is None]
    if found.offset.constant is None and unclear and not all(always_beyond(event, p, unclear, context) for p in each):
        # which threads, and which values of the others, pass the condition is not known
        reason = f"`{unclear[0].text}` may leave out what goes past the end"
        context.record(replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason))
        return None
    return outcome, buffer, elements


def _passed(event: Event) -> list[Condition]:
    """What the conditions around a copy say of numbers that are alike in all threads: ``if (i + 1 < size<2>(s))``."""
    said = [c for g in inner(event.guards) for c in g.holds]
    names = [[v.name for side in (c.lhs, c.rhs) for v in side.variables()] for c in said]
    return [c for c, of in zip(said, names, strict=True) if not any("threadIdx" in n or PER_THREAD in n for n in of)]
