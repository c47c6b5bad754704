"""Copies under predicates that are always true, of tiles whose block index walks another matrix under asking ones."""

from __future__ import annotations

from cutecheck.facts import Event, TensorFact
from cutecheck.model.ints import known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import (
    Guarded,
    block_modes,
    bounded_mode,
    goes_on,
    guarded,
    left_of,
    split_modes,
)
from cutecheck.rules.derive.guards import inner, of_grid, same_in_all_blocks
from cutecheck.rules.derive.predicates import of_kept, open_end
from cutecheck.rules.derive.rests import bounded_copies, one_tile


@record(frozen=True, slots=True)
class Unasked:
    """A tensor and its mode, what walks it (empty: its one tile is all of it), and the copy of another tensor that asks
    for coordinates of a mode that is walked alike, in the same tiles."""

    tensor: TensorFact
    mode: int
    index: str
    other: Event
    asked: TensorFact


def unasked(event: Event, context: Context) -> Unasked | None:
    """The blocks of one index are as many as are needed for both matrices: where the last tile of the one sticks out of
    it, that of the other does, too, unless it was padded; but then no one writes predicates for it. So with columns of
    which there is one tile."""
    for tensor in event.operands[:2]:
        part = guarded(tensor)
        for mode, index in sorted(_walked(part).items()) if part is not None else ():
            if part is None or goes_on(part, index) or _left_out(event, part, mode):
                continue
            if not open_end(event, part.extents[mode], part.tile[mode], context):
                continue
            size = known_value(part.tile[mode])
            for copy in bounded_copies(event, context) if size is not None else ():
                walked = _walked(copy.part)
                for bound in (of_kept(b, copy.part) for b in copy.bounds.values()):
                    m = None if bound is None else bounded_mode(bound.value, bound.coordinates)
                    if m is None or bound is None or walked.get(m) != index or known_value(copy.part.tile[m]) != size:
                        continue
                    if left_of(bound.limit, copy.part.extents[m]) is not None:
                        return Unasked(tensor, mode, index, copy.event, copy.tensor)
    return None


def _left_out(event: Event, part: Guarded, mode: int) -> bool:
    """A condition around the copy asks for a mode, too, or is not known: it may leave out what is past the end."""
    for guard in inner(event.guards):
        if same_in_all_blocks(guard) or of_grid(guard):
            continue
        bounds = [of_kept(b, part) for b in guard.bounds]
        asked = {None if b is None else bounded_mode(b.value, b.coordinates) for b in bounds}
        if not guard.complete or not asked or asked & {None, mode}:
            return True
    return False


def _walked(part: Guarded) -> dict[int, str]:
    """The block index, or part of it, that walks a mode; none where there is one tile."""
    found = {**split_modes(part), **block_modes(part)}
    return {m: found.get(m, "") for m in range(len(part.extents)) if m in found or one_tile(part, m)}


__all__ = ["Unasked", "unasked"]
