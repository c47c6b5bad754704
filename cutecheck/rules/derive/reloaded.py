"""Tiles that each pass of a loop copies anew, the same one in each, while others go on along the same mode."""

from __future__ import annotations

from cutecheck.facts import ELEMENT_STORED, Event, Loop, TensorFact, Unknown
from cutecheck.facts.core import FILLED
from cutecheck.model.ints import as_expr, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import Guarded, block_modes, guarded, loop_modes, split_modes
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.stages import stays
from cutecheck.rules.derive.uses import order

_STORED = (ELEMENT_STORED, FILLED)


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
    loop = event.loops[-1] if event.loops else None
    if event.kind != "copy" or event.reason is not None or loop is None or loop.trips is not None or not event.kernel:
        return None
    source, target = event.operands[:2]
    part = guarded(source)
    if part is None or target.space != "smem" or _changes(source) or not stays(target) or inner_of(event, loop):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    if not _alone(event, source, target, mine, context):
        return None
    fixed = [m for m in range(len(part.extents)) if not _walked(part, m) and _tiled(part, m)]
    for other in mine:
        if other.kind != "copy" or loop not in other.loops or other.operands[0].buffer == source.buffer:
            continue
        goes_on = guarded(other.operands[0])
        if goes_on is None or other.operands[1].space != "smem":
            continue
        for theirs in loop_modes(goes_on):
            for m in fixed:
                if as_expr(part.extents[m]) == as_expr(goes_on.extents[theirs]):
                    return Reloaded(source, other.operands[0], m, str(part.extents[m]))
    return None


def _changes(tensor: TensorFact) -> bool:
    """Its start hangs on a pass, or on memory."""
    return any("#" in v.name or v.name.startswith("*") for v in as_expr(tensor.offset).variables())  # type: ignore[arg-type]


def inner_of(event: Event, loop: Loop) -> bool:
    """Whether a condition that the passes answer differently is around the copy: the first pass alone may make it."""
    return any(g.turns and not g.host for g in inner(event.guards)) and loop.trips is None


def _walked(part: Guarded, mode: int) -> bool:
    return mode in block_modes(part) or mode in loop_modes(part) or mode in split_modes(part)


def _tiled(part: Guarded, mode: int) -> bool:
    """A run-time extent, of which a tile is a part."""
    return known_value(part.extents[mode]) is None and known_value(part.tile[mode]) is not None


def _alone(event: Event, source: TensorFact, target: TensorFact, mine: list[Event], context: Context) -> bool:
    """Nothing else writes where the copy does, neither by copies of other tensors nor element by element."""
    if target.buffer is None or any(
        isinstance(c.result, Unknown) and c.result.reason in _STORED and _of(c.arguments, target.buffer)
        for c in context.facts.calls
        if (c.kernel, c.arch) == (event.kernel, event.arch)
    ):
        return False
    for e in mine:
        if e.kind == "copy" and e.operands[-1].buffer == target.buffer and e.operands[0].buffer != source.buffer:
            return False
    uses = order(context).uses.get((event.kernel, event.arch, target.buffer), [])
    return all(u.event.kind == "copy" or not u.written for u in uses)


def _of(arguments: tuple[object, ...], buffer: str) -> bool:
    return any(isinstance(a, TensorFact) and a.buffer == buffer for a in arguments)


__all__ = ["Reloaded", "reloaded"]
