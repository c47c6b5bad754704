"""Coordinates of a sum's mode that predicates leave out of shared memory, which nothing sets to zero."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import ELEMENT_STORED, Call, Event, Loop, TensorFact, Unknown
from cutecheck.facts.core import FILLED, Bound
from cutecheck.facts.leftovers import taken_by
from cutecheck.model.ints import Int, as_expr
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.coordinates import Guarded, bounded_mode, forwards, guarded, predicates_of
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.predicates import open_end
from cutecheck.rules.derive.zero_fill import fills_zeros

_COUNT = "iteration"  # the name of a loop's passes that were counted
_K = 1  # the mode of a tile of A (M, K) or B (N, K) that a product sums over


@record(frozen=True, slots=True)
class LeftOver:
    """A copy that leaves out what is past ``extent``, and the product that sums over whole tiles of ``tile``."""

    bound: Bound
    extent: Int
    tile: Int
    gemm: Event
    before: bool  # the tile before is there


def left_over(load: Event, context: Context) -> LeftOver | None:
    """What a copy to shared memory, or to registers that go there, leaves out of the mode that a product sums over, of
    both of its operands.

    Where the other operand is zero there, what is left is multiplied by zero.
    """
    found = _leaves(load, context)
    if found is None:
        return None
    bound, part = found
    targets = [load.operands[1]] if load.operands[1].space == "smem" else _passed_on(load, context)
    for gemm in _gemms(load, context):
        around = _last_is_short(load, part, gemm)
        sources = [_sources(gemm, operand, context) for operand in gemm.operands[-3:-1]]
        if not any(_same_tile(t, s) for t in targets for fed in sources for s in fed):
            continue
        if all(fed and all(_all_left_over(s, gemm, around, context) for s in fed) for fed in sources):
            tails = open_end(load, part.extents[_K], part.tile[_K], context)
            return LeftOver(bound, part.extents[_K], part.tile[_K], gemm, around is not None) if tails else None
    return None


def _last_is_short(load: Event, part: Guarded, gemm: Event) -> Loop | None:
    """The loop through all tiles of K, whose last pass leaves the tail out: whatever was in shared memory before it,
    the tile before is there then. None where the short tile may be the first."""
    shared = [one for one, other in zip(load.loops, gemm.loops, strict=False) if one.span == other.span]
    name = forwards(part, _K) if shared else None
    if name is None or (not name.startswith(_COUNT) and shared[-1].step <= 0):
        return None
    return shared[-1]


def _leaves(load: Event, context: Context) -> tuple[Bound, Guarded] | None:
    """The comparison by which a copy from global memory leaves out the end of the summed mode, without zeros."""
    if not _loads(load):
        return None
    part = guarded(load.operands[0])
    if part is None or len(part.extents) != 2 or _zeros(load):
        return None
    around = [b for g in inner(load.guards) for b in g.bounds]
    asked = [b for place in predicates_of(load, context) for p in place for b in p.bounds]
    extent = part.extents[_K]
    names = {v.name for v in as_expr(extent).variables()}
    for bound in (*asked, *around):
        limit = {v.name for v in as_expr(bound.limit).variables()}
        if len(bound.coordinates) == 2 and bounded_mode(bound.value, bound.coordinates) == _K and names & limit:
            return bound, part
    return None


def _loads(event: Event) -> bool:
    spaces = tuple(t.space for t in event.operands)
    to = spaces in (("gmem", "smem"), ("gmem", "rmem"))
    return event.kind == "copy" and to and event.reason is None and bool(event.kernel)


def _passed_on(load: Event, context: Context) -> list[TensorFact]:
    """Where in shared memory registers go that a copy from global memory fills."""
    return [e.operands[1] for e in _copies(load, context) if e.operands[0].buffer == load.operands[1].buffer]


def _copies(at: Event, context: Context) -> list[Event]:
    """The copies of a kernel from registers to shared memory."""
    return [
        e for e in context.facts.events
        if e.kind == "copy" and (e.kernel, e.arch) == (at.kernel, at.arch) and e.reason is None
        and tuple(t.space for t in e.operands) == ("rmem", "smem")
    ]  # fmt: skip


def _brought(write: Event, mine: list[Event], around: Loop | None, context: Context) -> list[Event] | None:
    """The copies from global memory that a write to shared memory has its elements from; None of others."""
    if write.operands[0].space != "rmem":
        return [write]
    registers = write.operands[0].buffer
    taken = taken_by(write, context.facts.calls)
    set_otherwise = _set_otherwise(context).get((registers, write.kernel, write.arch), ())
    if taken is None or registers is None or registers in taken or any(_within(c, around) for c in set_otherwise):
        return None
    filled = [e for e in mine if len(e.operands) > 1 and e.operands[-1].buffer == registers]
    return filled if filled and all(e.kind == "copy" for e in filled) else None


def _gemms(load: Event, context: Context) -> list[Event]:
    """Products of the same kernel whose operands are known, which come after the copy."""
    return [
        e for e in context.facts.events
        if e.kind == "gemm" and (e.kernel, e.arch) == (load.kernel, load.arch) and e.reason is None
        and len(e.operands) > 2 and e.order > load.order
    ]  # fmt: skip


def _sources(gemm: Event, operand: TensorFact, context: Context) -> list[TensorFact]:
    """What a product reads of shared memory: an operand itself, or what registers are copied from."""
    if operand.space == "smem":
        return [operand]
    found: list[TensorFact] = []
    for e in context.facts.events:
        alike = e.kind == "copy" and (e.kernel, e.arch) == (gemm.kernel, gemm.arch) and len(e.operands) > 1
        if alike and operand.buffer is not None and e.operands[1].buffer == operand.buffer:
            if e.operands[0].space != "smem":
                return []
            found.append(e.operands[0])
    return found


def _all_left_over(source: TensorFact, gemm: Event, around: Loop | None, context: Context) -> bool:
    """All that is written to this memory, in a loop, are copies that leave out the end of the summed mode."""
    buffers = context.index.buffers.get((source.buffer or "", gemm.arch), [])
    if not buffers or not all(b.accesses_complete for b in buffers):
        return False
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (gemm.kernel, gemm.arch) and _within(e, around)]
    writes = [e for e in mine if e.kind == "copy" and len(e.operands) > 1 and e.operands[1].buffer == source.buffer]
    own = [e for e in writes if _same_tile(e.operands[1], source)]
    if any(e.operands[1].root_start_bits == source.root_start_bits and e not in own for e in writes):
        return False  # another view of the same memory
    if any(_within(c, around) for c in _set_otherwise(context).get((source.buffer, gemm.kernel, gemm.arch), ())):
        return False
    brought = [_brought(e, mine, around, context) for e in own]
    every = [e for loads in brought for e in loads or ()]
    if None in brought or not all(map(_loads, every)):
        return False
    return any(_leaves(e, context) is not None for e in every) and not any(map(_zeros, every))


def _within(at: Event | Call, around: Loop | None) -> bool:
    return around is None or any(loop.span == around.span for loop in at.loops)


def _zeros(event: Event) -> bool:
    """Where its predicate is false the copy writes zeros."""
    atom = atom_of(event.tiled)
    return fills_zeros(event) or (atom is not None and "ZFILL" in atom.op)


def _set_otherwise(context: Context) -> dict[tuple[str | None, str, str], list[Call]]:
    """What fills shared memory, or stores elements of it, by buffer, kernel and architecture."""
    if "set otherwise" not in context.memo:
        found: dict[tuple[str | None, str, str], list[Call]] = {}
        for call in context.facts.calls:
            if isinstance(call.result, Unknown) and call.result.reason in (FILLED, ELEMENT_STORED):
                for t in _tensors(call):
                    found.setdefault((t.buffer, call.kernel, call.arch), []).append(call)
        context.memo["set otherwise"] = found
    return cast("dict[tuple[str | None, str, str], list[Call]]", context.memo["set otherwise"])


def _tensors(call: Call) -> list[TensorFact]:
    return [t for t in call.arguments if isinstance(t, TensorFact)]


def _same_tile(one: TensorFact, other: TensorFact) -> bool:
    """Views of one memory whose first two modes are the same coordinates."""
    a, b = _tile(one.root_layout), _tile(other.root_layout)
    return (one.buffer, one.root_start_bits) == (other.buffer, other.root_start_bits) and a is not None and a == b


def _tile(layout: AnyLayout | None) -> tuple[object, ...] | None:
    """The first two modes of a tensor in shared memory, (M, K) or (N, K), with its swizzle."""
    inside = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(inside, Layout) or not isinstance(inside.shape, tuple) or not isinstance(inside.stride, tuple):
        return None
    swizzle = (layout.a, layout.offset) if isinstance(layout, ComposedLayout) else None
    return (swizzle, inside.shape[:2], inside.stride[:2]) if len(inside.shape) > 1 else None
