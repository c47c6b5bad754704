"""Coordinates of a sum's mode that predicates leave out of shared memory, which nothing sets to zero."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import ELEMENT_STORED, Call, Event, Loop, TensorFact, Unknown
from cutecheck.facts.core import FILLED
from cutecheck.facts.leftovers import taken_by
from cutecheck.model.algebra import coalesce, get
from cutecheck.model.ints import Int, as_expr
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.before_start import lacks
from cutecheck.rules.derive.coordinates import (
    Guarded,
    bounded_mode,
    forwards,
    guarded,
    left_of,
    loop_names,
    predicates_of,
)
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.predicates import of_kept, open_end
from cutecheck.rules.derive.tile_starts import along, only
from cutecheck.rules.derive.zero_fill import fills_zeros

_COUNT = "iteration"  # the name of a loop's passes that were counted
_INTEGERS = ("int", "uint", "bool")  # how their types' names begin: zero times anything is zero


@record(frozen=True, slots=True)
class LeftOver:
    """A copy that leaves out what is past ``extent`` or, where the short tile is the first, before the start; and the
    product that sums over whole tiles of ``tile``."""

    mode: int
    extent: Int
    tile: Int
    gemm: Event
    before: bool  # the tile before is there
    alone: bool  # of this operand alone: what was in shared memory before the kernel is multiplied by zeros


def left_over(load: Event, context: Context) -> LeftOver | None:
    """What a copy to shared memory, or to registers that go there, leaves out of the mode that a product sums over.

    Of both operands; or of one, of numbers that are no integers, where it is the first that is written to this memory:
    what lies there may be no number, and zero times that is none.
    """
    if not _loads(load):
        return None
    targets = [load.operands[1]] if load.operands[1].space == "smem" else _passed_on(load, context)
    for gemm in _gemms(load, context):
        sources = [_sources(gemm, operand, context) for operand in gemm.operands[-3:-1]]
        mode = next((m for t in targets for fed in sources for s in fed if (m := _summed(t, s)) is not None), None)
        left = None if mode is None else _leaves(load, mode, context)
        if mode is None or left is None:
            continue
        extent, part = left
        around = _last_is_short(load, part, mode, gemm)
        both = all(fed and all(_all_left_over(s, gemm, around, context) for s in fed) for fed in sources)
        mine = [s for fed in sources for s in fed if any(_summed(t, s) is not None for t in targets)]
        alone = not both and _first_is_short(load, part, mode, gemm) and _first_written(load, targets, context)
        alone = alone and all(_all_left_over(s, gemm, None, context, later=True) for s in mine)
        if both or alone:
            tails = open_end(load, extent, part.tile[mode], context)
            return LeftOver(mode, extent, part.tile[mode], gemm, around is not None, alone) if tails else None
    return None


def _first_written(load: Event, targets: list[TensorFact], context: Context) -> bool:
    """Nothing was written before to the memory of what is left out, of numbers that may be none."""
    dtype = targets[0].dtype if targets else None
    if dtype is None or dtype.name.startswith(_INTEGERS):
        return False
    buffers = {t.buffer for t in targets}
    return not any(
        e.order < load.order and e.span != load.span and e.operands[-1].buffer in buffers
        for e in context.facts.events
        if (e.kernel, e.arch) == (load.kernel, load.arch) and e.operands
    )


def _last_is_short(load: Event, part: Guarded, mode: int, gemm: Event) -> Loop | None:
    """The loop through all tiles of K, whose last pass leaves the tail out: whatever was in shared memory before it,
    the tile before is there then. None where the short tile may be the first."""
    shared = _shared(load, gemm)
    name = forwards(part, mode) if shared else None
    if name is None or (not name.startswith(_COUNT) and shared[-1].step <= 0):
        return None
    return shared[-1]


def _first_is_short(load: Event, part: Guarded, mode: int, gemm: Event) -> bool:
    """The first tile that a copy takes may be the short one: it takes no other, or goes back from the last."""
    names = [n for n, m in loop_names(part).items() if m == mode]
    shared = _shared(load, gemm)
    if len(names) != 1 or not shared:
        return not names
    return (forwards(part, mode) is None) is (names[0].startswith(_COUNT) or shared[-1].step > 0)


def _shared(load: Event, gemm: Event) -> list[Loop]:
    return [one for one, other in zip(load.loops, gemm.loops, strict=False) if one.span == other.span]


def _leaves(load: Event, mode: int, context: Context) -> tuple[Int, Guarded] | None:
    """The number by which a copy from global memory leaves out the end of the summed mode, without zeros; the extent
    of a mode whose first tile is the short one."""
    if not _loads(load):
        return None
    part = guarded(load.operands[0])
    if part is None or len(part.extents) != 2:
        return None
    asked = [
        b for g in inner(load.guards) if not g.fills for b in g.bounds
    ]  # where these are false no zeros come, either
    if load.predicate is not None and not _zeros(load):
        asked += [b for place in predicates_of(load, context) for p in place for b in p.bounds]
    for bound in (kept for b in asked if (kept := of_kept(b, part)) is not None):
        limit = as_expr(bound.limit)
        length = any(v.name.startswith("*") for v in limit.variables())  # what is left of it, by memory
        ends = length or only(limit) is not None
        ends = ends or bool({*as_expr(part.extents[mode]).variables()} & {*limit.variables()})
        if ends and bounded_mode(bound.value, bound.coordinates) == mode:
            own = left_of(bound.limit, part.extents[mode]) is not None
            return (part.extents[mode] if own or not (length or only(limit) is not None) else bound.limit), part
    return (part.extents[mode], part) if _short_first(load, part, mode) else None


def _short_first(load: Event, part: Guarded, mode: int) -> bool:
    """What lies before the start is left out: ``if (-1 < get<1>(coordinates(0, 0, k)))`` of a matrix that was moved
    back by what its extent lacks to whole tiles."""
    extent, position = only(as_expr(part.extents[mode])), along(part, mode)
    if extent is None or position is None or lacks(position, extent) is None:
        return False
    return any(c.lhs.constant is not None and c.rhs == position for g in inner(load.guards) for c in g.holds)


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


def _all_left_over(
    source: TensorFact, gemm: Event, around: Loop | None, context: Context, later: bool = False
) -> bool:  # fmt: skip
    """All that is written to this memory, in a loop, are copies that leave out the end of the summed mode; ``later``:
    of those that come after one which does, some may fill with zeros."""
    buffers = context.index.buffers.get((source.buffer or "", gemm.arch), [])
    if not buffers or not all(b.accesses_complete for b in buffers):
        return False
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (gemm.kernel, gemm.arch) and _within(e, around)]
    writes = [e for e in mine if e.kind == "copy" and len(e.operands) > 1 and e.operands[1].buffer == source.buffer]
    modes = [(e, _summed(e.operands[1], source)) for e in writes]
    own = [e for e, mode in modes if mode is not None]
    if any(e.operands[1].root_start_bits == source.root_start_bits and e not in own for e in writes):
        return False  # another view of the same memory
    if any(_within(c, around) for c in _set_otherwise(context).get((source.buffer, gemm.kernel, gemm.arch), ())):
        return False
    brought = [(_brought(e, mine, around, context), mode) for e, mode in modes if mode is not None]
    every = [(e, mode) for loads, mode in brought for e in loads or ()]
    if any(loads is None for loads, _ in brought) or not all(_loads(e) for e, _ in every):
        return False
    left = [e for e, mode in every if _leaves(e, mode, context)]
    return bool(left) and (later or not any(_zeros(e) for e, _ in every if e not in left))


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


def _summed(written: TensorFact, read: TensorFact) -> int | None:
    """Which of the first two modes of a tile in shared memory a product sums over that reads it, as it is or
    transposed: the second of what is read, (M, K) or (N, K). None where these are not one memory's coordinates."""
    if (written.buffer, written.root_start_bits) != (read.buffer, read.root_start_bits):
        return None
    a, b = _tile(written.tile_layout), _tile(read.tile_layout)
    if a is None or b is None or a[0] != b[0]:
        return None
    if a[1:] == b[1:]:
        return 1
    return 0 if (a[2], a[1]) == b[1:] else None


def _tile(layout: AnyLayout | None) -> tuple[object, object, object] | None:
    """The swizzle of a tensor in shared memory and its first two modes, each as short as it can be written."""
    inside = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(inside, Layout) or not isinstance(inside.shape, tuple) or len(inside.shape) < 2:
        return None
    swizzle = (layout.a, layout.offset) if isinstance(layout, ComposedLayout) else None
    first, second = (coalesce(get(inside, i)) for i in (0, 1))
    return swizzle, first, second
