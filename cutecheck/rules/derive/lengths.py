"""Lengths that no matrix has as an extent: of one of several sequences that lie in it one after another, say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cutecheck.facts import Event, Predicate
from cutecheck.facts.core import Bound
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Int, Rel, as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES, Guarded, advance, block_modes, bounded_mode, left_of, own_limit
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.predicates import Fault, of_kept, open_end
from cutecheck.rules.derive.rests import Bounded, bounded_copies
from cutecheck.rules.derive.tile_starts import along

_FRESH = re.compile(r"#\d+")


def fault_of_length(event: Event, asked: Sequence[Predicate], mine: Bounded, context: Context) -> Fault | None:
    """A length that coordinates in the tile are compared with, or tiles of a sequence that are copied whole."""
    part, tensor = mine.part, mine.tensor
    bounds = list(_every(event, (b for p in asked for b in p.bounds), part))
    for mode, index in sorted(block_modes(part).items()):
        own = [b for b in bounds if bounded_mode(b.value, b.coordinates) == mode]
        whole = _whole(mine, mode, index, own, context)
        if whole is not None:
            return Fault(
                f"the coordinates of `{tensor.name}`'s predicates start at the tile, but mode {mode} is compared with "
                f"`{_shown(whole)}`, of which the kernel takes a tile of {part.tile[mode]} for each `{index}`",
                f"no `{index}` in the coordinate",
                "compare with what is left of it from the tile on",
            )
        other = _copied_to_its_end(mine, mode, index, context) if not own else None
        if other is not None and all(p.complete for p in asked):
            return Fault(
                f"nothing bounds mode {mode} of `{tensor.name}` here: at line {other.event.span.line} the copy of "
                f"`{other.tensor.name}`, whose tile starts alike, goes only as far as "
                f"`{_shown(next(iter(_ends(other, index))).limit)}`",
                f"mode {mode} is not compared",
                "compare it with what is left from the tile on, as there",
            )
    return None


def _all(copy: Bounded) -> Iterator[Bound]:
    return _every(copy.event, copy.bounds.values(), copy.part)


def _every(event: Event, asked: Iterable[Bound], part: Guarded) -> Iterator[Bound]:
    """What must hold of a tile's coordinates: by predicates, and by conditions around the copy."""
    for bound in (*asked, *(b for g in inner(event.guards) for b in g.bounds)):
        own = of_kept(bound, part)
        if own is not None and not own_limit(own):
            yield own


def _whole(mine: Bounded, mode: int, index: str, bounds: list[Bound], context: Context) -> Int | None:
    """The limit of coordinates in the tile that is the length of all tiles of a block index.

    It is one where the kernel asks whether the tile starts before it, or compares with what is left of it elsewhere.
    """
    part, tile = mine.part, known_value(mine.part.tile[mode])
    limits = {as_expr(b.limit) for b in bounds}
    if tile is None or len(limits) != 1 or any(advance(b.value, index) != 0 for b in bounds):
        return None
    limit = bounds[0].limit
    if known_value(limit) is not None or left_of(limit, part.extents[mode]) is not None or _indexed(as_expr(limit)):
        return None
    start = ex.mul(ex.const(tile), ex.var(index))
    starts_before = any(
        c.rel is Rel.LT and _same(c.lhs, start) and c.rhs == as_expr(limit)
        for g in inner(mine.event.guards)
        if not g.negated
        for c in g.holds
    )
    rest = ex.sub(as_expr(limit), start)
    others = bounded_copies(mine.event, context)
    asked = starts_before or any(_same(as_expr(b.limit), rest) for o in others for b in _all(o))
    return limit if asked and open_end(mine.event, limit, tile, context) else None


def _copied_to_its_end(mine: Bounded, mode: int, index: str, context: Context) -> Bounded | None:
    """Another copy of a tile that starts alike, at a number from memory, and goes only as far as a length."""
    if not all(
        same_in_all_blocks(g) or (g.complete and g.bounds) or _of_start(g.holds) for g in inner(mine.event.guards)
    ):
        return None
    start = _start(mine.part, mode)
    if start is None or not any(v.name.startswith("*") for v in start.variables()):
        return None
    for other in bounded_copies(mine.event, context):
        if other.tensor.buffer != mine.tensor.buffer and any(
            other.part.tile[m] == mine.part.tile[mode] and _start(other.part, m) == start
            for m in (bounded_mode(b.value, b.coordinates) for b in _ends(other, index))
            if m is not None and m < len(other.part.tile)
        ):
            return other
    return None


def _ends(other: Bounded, index: str) -> Iterator[Bound]:
    """Comparisons of coordinates in a tile with what is left from it on: ``length - 128 * blockIdx.x``."""
    for bound in _all(other):
        mode = bounded_mode(bound.value, bound.coordinates)
        if mode is None or mode >= len(other.part.tile):
            continue
        tile, limit = known_value(other.part.tile[mode]), as_expr(bound.limit)
        if tile is not None and block_modes(other.part).get(mode) == index and advance(bound.value, index) == 0:
            whole = ex.add(limit, ex.mul(ex.const(tile), ex.var(index)))
            if not _indexed(_named(whole)) and any(v.name.startswith("*") for v in whole.variables()):
                yield bound


def _of_start(holds: Sequence[Condition]) -> bool:
    """Whether the tile starts before a length: its last one may do so as well."""
    return bool(holds) and all(
        c.rel is Rel.LT and not any(v.name.startswith("threadIdx.") for v in c.lhs.variables()) for c in holds
    )


def _start(part: Guarded, mode: int) -> Expr | None:
    """Where the tile starts along a mode, but for a constant."""
    whole = along(part, mode)
    if whole is None:
        return None
    return Expr(tuple(t for t in whole.terms if t[0] and "threadIdx." not in str(Expr((t,)))))


def _indexed(e: Expr) -> bool:
    return any(v.name.startswith(INDICES) for v in e.variables())


def _named(e: Expr) -> Expr:
    """Without what says how far indices go: variables of one name are one."""
    return e.substitute({v.name: ex.var(v.name) for v in e.variables() if v.name.startswith(INDICES)})


def _same(a: Expr, b: Expr) -> bool:
    return _named(a) == _named(b)


def _shown(number: Int) -> str:
    text = _FRESH.sub("", str(number))
    return text if len(text) < 60 else "its length"


__all__ = ["fault_of_length"]
