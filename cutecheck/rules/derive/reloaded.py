"""Tiles that each pass of a loop copies anew, the same one in each, while others go on along the same mode."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import ELEMENT_STORED, Event, Loop, TensorFact, Unknown
from cutecheck.model.ints import Dyn, Int, Sym, as_expr, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import Guarded, block_modes, guarded, loop_modes, split_modes
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.uses import order


@record(frozen=True, slots=True)
class Reloaded:
    """A copy of one tile in all passes, and a tensor that goes on along a mode of that extent."""

    tensor: TensorFact
    other: TensorFact
    mode: int
    extent: str


def reloaded(event: Event, context: Context) -> Reloaded | None:
    """A tile that is copied to one place by each pass of a loop, where nothing but such copies writes there.

    Its mode has as many elements as one along which the pass says what is copied of another tensor, and neither blocks
    nor passes say which of its tiles it is: copied once it would be the same.
    """
    loop = next((x for x in reversed(event.loops) if x.trips is None), None)
    if event.kind != "copy" or event.reason is not None or loop is None or not event.kernel:
        return None
    source, target = event.operands[:2]
    part = guarded(source)
    if (
        part is None
        or target.space != "smem"
        or _changes(source, event)
        or _changes(target, event)
        or inner_of(event, loop)
    ):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    if not _alone(event, source, target, mine, context):
        return None
    fixed = [m for m in range(len(part.extents)) if not _walked(part, m) and _tiled(part, m)]
    for other in mine:
        if other.kind != "copy" or loop not in other.loops or other.operands[0].buffer == source.buffer:
            continue
        if _multiplied(target, other.operands[1], mine):
            continue  # whether they are for one sum is for the tiles of a product to say (lone_tiles)
        goes_on = guarded(other.operands[0])
        if goes_on is None or other.operands[1].space != "smem":
            continue
        for theirs in loop_modes(goes_on):
            for m in fixed:
                if as_expr(part.extents[m]) == as_expr(goes_on.extents[theirs]):
                    return Reloaded(source, other.operands[0], m, str(part.extents[m]))
    return None


def _changes(tensor: TensorFact, event: Event) -> bool:
    """Its start hangs on a pass of the loop, or on memory; a loop inside may go through its parts."""
    within = tensor.layout.offset if isinstance(tensor.layout, ComposedLayout) else 0
    offsets = [tensor.offset, *([within] if isinstance(within, (int, Dyn)) else [])]
    if not all(isinstance(o, (int, Dyn, Sym)) for o in offsets):
        return True
    trips = {x.trips for x in event.loops}
    for v in (v for o in offsets for v in as_expr(cast("Int", o)).variables()):
        lo, hi = v.domain.bounds()
        parts = lo is not None and hi is not None and (hi - lo) // v.domain.step + 1 in trips
        if v.name.startswith("*") or ("#" in v.name and not parts):
            return True
    return False


def inner_of(event: Event, loop: Loop) -> bool:
    """Whether a condition that the passes answer differently is around the copy: the first pass alone may make it."""
    return any(g.turns and not g.bounds for g in inner(event.guards)) and loop.trips is None


def _walked(part: Guarded, mode: int) -> bool:
    return mode in block_modes(part) or mode in loop_modes(part) or mode in split_modes(part)


def _tiled(part: Guarded, mode: int) -> bool:
    """A run-time extent, of which a tile is a part."""
    return known_value(part.extents[mode]) is None and known_value(part.tile[mode]) is not None


def _alone(event: Event, source: TensorFact, target: TensorFact, mine: list[Event], context: Context) -> bool:
    """Nothing else writes where the copy does, neither by copies of other tensors nor element by element."""
    if target.buffer is None or any(
        isinstance(c.result, Unknown) and c.result.reason == ELEMENT_STORED and _of(c.arguments, target.buffer)
        for c in context.facts.calls
        if (c.kernel, c.arch) == (event.kernel, event.arch)
    ):
        return False
    for e in mine:
        if e.kind == "copy" and e.operands[-1].buffer == target.buffer and e.operands[0].buffer != source.buffer:
            return False
    uses = order(context).uses.get((event.kernel, event.arch, target.buffer), [])
    return all(u.event.kind == "copy" or not u.written for u in uses)


def _multiplied(one: TensorFact, other: TensorFact, mine: list[Event]) -> bool:
    """Whether a product has both, as instructions that take shared memory do."""
    both = {one.buffer, other.buffer}
    return any(e.kind == "gemm" and both <= {t.buffer for t in e.operands} for e in mine)


def _of(arguments: tuple[object, ...], buffer: str) -> bool:
    return any(isinstance(a, TensorFact) and a.buffer == buffer for a in arguments)


__all__ = ["Reloaded", "reloaded"]
