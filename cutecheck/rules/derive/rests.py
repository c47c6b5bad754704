"""What is left of a mode from a tile on, where more than a block index says which tile that is.

FlashAttention takes the last tile of the keys first, ``128 * (ceil_div(keys, 128) - 1)``: where a tile starts is what
an offset has of the mode's stride, in multiples of the tile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.facts.core import Bound, Guard
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Int, as_expr, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import (
    INDICES,
    Guarded,
    bounded_mode,
    guarded,
    own_limit,
    predicates_of,
    variables_of,
)
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.tile_starts import only

_BLOCK = "blockIdx."


@record(frozen=True, slots=True)
class Bounded:
    """A copy of a kernel, and what its conditions compare the modes of one of its tensors with."""

    event: Event
    tensor: TensorFact
    part: Guarded
    bounds: dict[int, Bound]


def taken(limit: Int, extent: Int, tile: Int) -> Expr | None:
    """What is before a limit's tile, where the limit is what is left of an extent from a tile on; else None."""
    size = known_value(tile)
    if size is None or size < 2 or known_value(extent) is not None:
        return None
    before = ex.sub(as_expr(extent), as_expr(limit))
    return before if all(n % size == 0 for _, n in before.terms) else None


def start_of(part: Guarded, mode: int, coordinates: tuple[Int, ...]) -> Expr | None:
    """Where the tile starts along a mode with a run-time stride: what moves in whole tiles; None where not known."""
    size, unit = known_value(part.tile[mode]), only(as_expr(part.strides[mode]))
    if size is None or size < 2 or unit is None:
        return None
    within = {v.name for c in coordinates for v in as_expr(c).variables()}
    found = []
    for factors, n in part.offset.terms:
        if unit not in factors:
            if any(unit.name in {v.name for v in variables_of(f)} for f in factors):
                return None
            continue
        others = list(factors)
        others.remove(unit)
        if n % size or within & {v.name for f in others for v in variables_of(f)}:
            continue
        if unit in others:
            return None
        found.append((tuple(others), n))
    return Expr(tuple(found))


def bounded_copies(event: Event, context: Context) -> list[Bounded]:
    """All copies of an event's kernel of tensors in global memory, with their comparisons."""
    key = (event.kernel or event.enclosing, event.arch)
    memo = cast("dict[tuple[str, str], list[Bounded]]", context.memo.setdefault("bounded copies", {}))
    if key not in memo:
        memo[key] = [
            own for e in context.facts.events
            if e.kind == "copy" and (e.kernel or e.enclosing) == key[0] and e.arch == key[1]
            for own in _bounded(e, context)
        ]  # fmt: skip
    return memo[key]


def _bounded(event: Event, context: Context) -> Iterator[Bounded]:
    for tensor in event.operands[:2]:
        part = guarded(tensor)
        if part is not None:
            predicates = [p for asked in predicates_of(event, context) for p in asked[:1]]
            yield Bounded(event, tensor, part, limits_of(predicates, part))


def limits_of(predicates: list[Predicate], part: Guarded) -> dict[int, Bound]:
    """The comparison of each mode of a part; coordinates may be another tensor's, of more modes."""
    every = [b for p in predicates for b in p.bounds if not own_limit(b)]
    modes = ((bounded_mode(b.value, b.coordinates), b) for b in every)
    return {m: b for m, b in modes if m is not None and m < len(part.extents)}


def rest_of_other(mine: Bounded, mode: int, context: Context) -> tuple[TensorFact, Int] | None:
    """A tensor of which a mode's limit is what is left of an extent, where the copy's own mode has another one that
    other copies of the kernel are compared with: the tensor, its extent.

    The two go on by tiles of their own: tensors whose tiles start alike may be of one length.
    """
    bound, part = mine.bounds[mode], mine.part
    own, tile = part.extents[mode], part.tile[mode]
    if taken(bound.limit, own, tile) is not None or known_value(own) is not None:
        return None
    start = start_of(part, mode, bound.coordinates)
    if start is None:
        return None
    known, found = False, None
    for other in bounded_copies(mine.event, context):
        for m, extent in enumerate(other.part.extents):
            size = other.part.tile[m]
            if as_expr(extent) == as_expr(own):
                at = other.bounds.get(m)
                known |= at is not None and taken(at.limit, own, size) is not None and not _same(other, mine)
            elif taken(bound.limit, extent, tile) is not None:
                b = other.bounds.get(m)
                its = start_of(other.part, m, b.coordinates if b is not None else ())
                if its is None or its == start:
                    return None
                found = found or (other.tensor, extent)
    return found if known else None


def _same(one: Bounded, other: Bounded) -> bool:
    return one.tensor.buffer == other.tensor.buffer


def tile_before(mine: Bounded, mode: int) -> tuple[int, int] | None:
    """Of a tile that its mode's own extent chooses, the last one, and a limit that is what is left from another tile
    on: an extent, and the coordinate behind its end that passes in the first blocks; None where there is none."""
    bound, part = mine.bounds[mode], mine.part
    own = as_expr(part.extents[mode])
    before, start = taken(bound.limit, part.extents[mode], part.tile[mode]), start_of(part, mode, bound.coordinates)
    size = known_value(part.tile[mode])
    if before is None or start is None or size is None or not last_tile(start, part, mode):
        return None
    begun = ex.sub(as_expr(bound.value), as_expr(bound.coordinates[mode]))
    names = {v.name for n in (own, before, start, begun) for v in n.variables()}
    if any(not v.name.startswith(_BLOCK) for n in (before, begun) for v in n.variables() if v not in own.variables()):
        return None
    for rows in (2 * size - size // 2, 3 * size - 1):
        for variable in own.variables():
            values = {**dict.fromkeys(names, 0), variable.name: rows}
            if own.evaluate(values) != rows:
                continue
            at = start.evaluate(values)
            passes = rows - before.evaluate(values) - begun.evaluate(values)
            if 0 <= at < rows and min(passes, size) > rows - at:
                return rows, rows
    return None


def last_tile(start: Expr, part: Guarded, mode: int) -> bool:
    """Whether a tile starts where the last one of its mode does, by the mode's extent alone."""
    size = known_value(part.tile[mode]) or 1
    own = as_expr(part.extents[mode])
    whole = ex.op("div", ex.add(own, ex.const(size - 1)), ex.const(size))
    return start == ex.mul(ex.const(size), ex.sub(whole, ex.const(1)))


def unlike(mine: Bounded, mode: int, context: Context) -> TensorFact | None:
    """A tensor of another copy of the kernel whose mode of the same extent is compared with what is left of it, in the
    same tile or where this one's is the last, where this copy compares its other modes, or that is another copy of the
    same memory, and nothing leaves out rows of this one that does not do so of the other."""
    part = mine.part
    if mode in mine.bounds or known_value(part.extents[mode]) is not None:
        return None
    around = {(g.span, g.negated) for g in conditions(mine.event)}
    for other in bounded_copies(mine.event, context):
        if not mine.bounds and not _same(other, mine):
            continue
        for m, bound in other.bounds.items():
            if as_expr(other.part.extents[m]) != as_expr(part.extents[mode]):
                continue
            if known_value(other.part.tile[m]) != known_value(part.tile[mode]):
                continue
            if not around <= {(g.span, g.negated) for g in conditions(other.event)}:
                continue
            coordinates = bound.coordinates
            begun = ex.sub(as_expr(bound.value), as_expr(coordinates[m]))
            before = taken(bound.limit, part.extents[mode], part.tile[mode])
            theirs = start_of(other.part, m, coordinates)
            if before is None:
                continue
            mine_at = start_of(part, mode, ())
            if mine_at is not None and mine.bounds and last_tile(mine_at, part, mode):
                return other.tensor
            if theirs is not None and ex.add(before, begun) == theirs == mine_at:
                return other.tensor
            if theirs is None and before == begun == ex.const(0) and one_tile(part, mode) and one_tile(other.part, m):
                return other.tensor
    return None


def conditions(event: Event) -> list[Guard]:
    """Those around a copy that are no comparisons of its coordinates."""
    return [g for g in inner(event.guards) if not g.bounds]


def one_tile(part: Guarded, mode: int) -> bool:
    """A mode of stride 1 whose one tile is the first: nothing leads out of it along the mode."""
    size = known_value(part.tile[mode])
    if known_value(part.strides[mode]) != 1 or size is None:
        return False
    lo, hi = ex.bounds(Expr(tuple((f, n) for f, n in part.offset.terms if not _by_parameter(f))))
    return lo is not None and hi is not None and lo >= 0 and hi < size


def _by_parameter(factors: tuple[Var | Op, ...]) -> bool:
    """A step by a number that the host gives: of another mode."""
    alone = [f.name for f in factors if isinstance(f, Var)]
    return any(not n.startswith(INDICES) and "#" not in n for n in alone)


__all__ = ["Bounded", "bounded_copies", "limits_of", "one_tile", "rest_of_other", "tile_before", "unlike"]
