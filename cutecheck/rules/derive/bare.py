"""Copies without predicates of what the same kernel copies under a predicate elsewhere."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import (
    Guarded,
    block_modes,
    bounded_mode,
    guarded,
    left_of,
    loop_names,
    predicates_of,
)
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.predicates import open_end
from cutecheck.rules.derive.tile_starts import along, block_start, only
from cutecheck.rules.derive.vectors import Mode, leaves


def bare(event: Event, context: Context) -> tuple[TensorFact, Event] | None:
    """A part of global memory that a copy takes whole, and the copy that compares its coordinates with limits.

    Under no condition that the other is not under, too: where all of the tile is there no predicate is needed.
    """
    conditions = {(g.span, g.negated) for g in inner(event.guards)}
    of_all = {(g.span, g.negated) for g in inner(event.guards) if not same_in_all_blocks(g)}
    for other in _predicated(context).get((event.kernel, event.enclosing, event.arch), ()):
        theirs = {(g.span, g.negated) for g in inner(other.guards)}
        pairs = [(t, u) for t in event.operands[:2] for u in other.operands[:2] if _of_one(t, u)]
        twins = _twins(event, other) if conditions <= theirs else []
        if conditions <= theirs and any(_asks_of(event, ps, context) for ps in predicates_of(other, context)):
            return event.operands[1], other
        asked = [p for predicates in predicates_of(other, context) for p in predicates] if pairs or twins else []
        if not asked or not all(p.bounds for p in asked):
            continue
        found = next((t for t, u in pairs if _alike(t, u)), None) if conditions <= theirs else None
        if found is None and of_all <= theirs:
            found = next((t for t, u in pairs if _same_rows(event, t, u, asked, context)), None)
        if found is not None:
            return found, other
        open_ = (t for t, u in twins for ps in predicates_of(other, context) if _ends(event, u, t, ps, context))
        if (unasked := next(open_, None)) is not None:
            return unasked, other
    if event.enclosing != event.kernel or inner(event.guards):
        return None
    for other in _by_helpers(event, context):
        if any(_asks_of(event, ps, context) for ps in predicates_of(other, context)):
            return event.operands[1], other
    return None


def _by_helpers(event: Event, context: Context) -> list[Event]:
    """Predicated copies of the same kernel in functions that it calls."""
    found = _predicated(context)
    return [e for key, es in found.items() if (key[0], key[2]) == (event.kernel, event.arch) for e in es
            if e.enclosing != event.enclosing]  # fmt: skip


def _twins(event: Event, other: Event) -> list[tuple[TensorFact, TensorFact]]:
    """Tensors of the one and the other that are the same tiles of matrices with the same extents.

    Of two that are read, or two that are stored, the extents may have names of their own. What is stored as it was read
    may have room for whole tiles, where the source does not say that both are of one shape.
    """
    return [
        (t, u) for i, t in enumerate(event.operands[:2]) for j, u in enumerate(other.operands[:2])
        if _same_tile(t, u, own_names=i == j)
    ]  # fmt: skip


def _same_tile(mine: TensorFact, other: TensorFact, own_names: bool) -> bool:
    if mine.buffer in (None, other.buffer):
        return False
    part, its = guarded(mine), guarded(other)
    if part is None or its is None or part.tile != its.tile or len(part.extents) != len(its.extents):
        return False
    if not own_names and part.extents != its.extents:
        return False
    named: dict[str, ex.Expr] = {}
    pairs = zip((*part.extents, *part.strides), (*its.extents, *its.strides), strict=True)
    for a, b in ((as_expr(a), as_expr(b)) for a, b in pairs):
        name = only(a)
        if (a != b and (name is None or only(b) is None)) or (name and named.setdefault(name.name, b) != b):
            return False
    ours, theirs = _modes(mine.layout), _modes(other.layout)
    alike = [(size, as_expr(step).substitute(named)) for size, step in ours or ()]
    same = bool(ours) and alike == [(size, as_expr(step)) for size, step in theirs or ()]
    return same and part.offset.substitute(named) == its.offset


def _modes(layout: object) -> list[Mode] | None:
    return leaves(layout.shape, layout.stride) if isinstance(layout, Layout) else None


def _ends(event: Event, asking: TensorFact, tensor: TensorFact, asked: list[Predicate], context: Context) -> bool:
    """A predicate leaves out what lies past the end of a mode, and that of the tensor need not be whole tiles."""
    part, its = guarded(tensor), guarded(asking)
    if part is None or its is None or not asked or not all(p.bounds for p in asked):
        return False
    for bound in (b for p in asked for b in p.bounds):
        mode = bounded_mode(bound.value, bound.coordinates)
        if mode is None or mode >= len(its.extents) or as_expr(bound.value) != as_expr(bound.coordinates[mode]):
            return False
        own = left_of(bound.limit, its.extents[mode]) == 0
        if not own and (its.extents == part.extents or only(as_expr(bound.limit)) is None):
            return False
        if not all(open_end(event, e, part.tile[mode], context) for e in (bound.limit, part.extents[mode])):
            return False
    return True


def _asks_of(event: Event, asked: list[Predicate], context: Context) -> bool:
    """The predicate of a load compares with the extents of the matrix whose tile is stored, at the same coordinates."""
    stored = event.operands[1] if len(event.operands) > 1 else None
    part = guarded(stored) if stored is not None and stored.space == "gmem" else None
    if part is None or stored is None or not asked or not all(p.complete and p.bounds for p in asked):
        return False
    names = {v.name for e in part.extents if isinstance(e, Dyn) for v in as_expr(e).variables()}
    for bound in (b for p in asked for b in p.bounds):
        mode = bounded_mode(bound.value, bound.coordinates)
        limit = {v.name for v in as_expr(bound.limit).variables()}
        if mode is None or mode >= len(part.extents) or not limit or not limit <= names:
            return False
        walked = ex.Expr(tuple(t for t in as_expr(bound.value).terms if _of_block(ex.Expr((t,)))))
        there = set(part.offset.terms)
        if not walked.terms or not set(ex.mul(walked, as_expr(part.strides[mode])).terms) <= there:
            return False
    return _ends(event, stored, stored, asked, context)


def _of_block(e: ex.Expr) -> bool:
    return any(v.name.startswith("blockIdx.") for v in e.variables())


def _same_rows(
    event: Event, mine: TensorFact, its: TensorFact, asked: list[Predicate], context: Context
) -> bool:  # fmt: skip
    """Two tiles of one tensor apart along a mode that loops walk, of which the predicate compares other modes alone.

    So of both tiles the same rows may be outside, if a block's tile need not end where the matrix does.
    """
    part, other = guarded(mine), guarded(its)
    if part is None or other is None or not all(p.complete for p in asked):
        return False
    modes = {bounded_mode(b.value, b.coordinates) for p in asked for b in p.bounds}
    if any(m is None or m >= len(part.extents) for m in modes):
        return False
    compared = {m for m in modes if m is not None}
    starts = {m: along(part, m) for m in compared}
    if not all(s and s == along(other, m) and _block_walks(part, m) for m, s in starts.items()):
        apart = {v.name for v in ex.sub(part.offset, other.offset).variables()} - {
            v.name for s in part.strides for v in as_expr(s).variables()
        }
        walked = {**loop_names(other), **loop_names(part)}
        if mine.layout != its.layout or not apart or any(walked.get(n, -1) in (-1, *compared) for n in apart):
            return False
        if not all(_block_walks(part, m) and _block_walks(part, m) == _block_walks(other, m) for m in compared):
            return False
    return all(open_end(event, part.extents[m], part.tile[m], context) for m in compared)


def _block_walks(part: Guarded, mode: int) -> tuple[str | None, ex.Expr | None] | None:
    """What of the block indices a tile's position along a mode is made of; None where it is of none of them."""
    found = block_modes(part).get(mode), block_start(part, mode)
    return found if found[0] is not None or (found[1] is not None and found[1].terms) else None


def _predicated(context: Context) -> dict[tuple[str, str, str], list[Event]]:
    if "predicated copies" not in context.memo:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in context.facts.events:
            if event.kind == "copy" and event.predicated:
                found.setdefault((event.kernel, event.enclosing, event.arch), []).append(event)
        context.memo["predicated copies"] = found
    return cast("dict[tuple[str, str, str], list[Event]]", context.memo["predicated copies"])


def _of_one(a: TensorFact, b: TensorFact) -> bool:
    """Parts of the same tensor, tiled in the same way."""
    return (
        a.space == b.space == "gmem"
        and a.buffer is not None
        and (a.buffer, a.dtype, a.tile_layout, a.root_layout) == (b.buffer, b.dtype, b.tile_layout, b.root_layout)
    )


def _alike(a: TensorFact, b: TensorFact) -> bool:
    """The same part of it."""
    return (a.layout, a.offset) == (b.layout, b.offset)
