"""Copies without predicates of what the same kernel copies under a predicate elsewhere."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import block_modes, bounded_mode, guarded, left_of, loop_modes, predicates_of
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.predicates import open_end
from cutecheck.rules.derive.vectors import Mode, leaves


def bare(event: Event, context: Context) -> tuple[TensorFact, Event] | None:
    """A part of global memory that a copy takes whole, and the copy that compares its coordinates with limits.

    Under no condition that the other is not under, too: where all of the tile is there no predicate is needed.
    """
    conditions = {(g.span, g.negated) for g in inner(event.guards)}
    of_all = {(g.span, g.negated) for g in inner(event.guards) if not same_in_all_blocks(g)}
    for other in _predicated(context).get((event.kernel, event.enclosing, event.arch), ()):
        theirs = {(g.span, g.negated) for g in inner(other.guards)}
        pairs = [(t, u) for t in event.operands[:2] for u in other.operands[:2] if _alike(t, u)]
        twins = [u for u in other.operands[:2] if _same_tile(event, u)] if conditions <= theirs else []
        if conditions <= theirs and any(_asks_of(event, ps, context) for ps in predicates_of(other, context)):
            return event.operands[1], other
        asked = [p for predicates in predicates_of(other, context) for p in predicates] if pairs or twins else []
        if not asked or not all(p.bounds for p in asked):
            continue
        found = next((t for t, u in pairs if t.offset == u.offset), None) if conditions <= theirs else None
        if found is None and of_all <= theirs:
            found = next((t for t, u in pairs if _same_rows(event, t, u, asked, context)), None)
        if found is not None:
            return found, other
        if any(_ends(event, u, predicates, context) for u in twins for predicates in predicates_of(other, context)):
            return event.operands[1], other
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


def _same_tile(event: Event, other: TensorFact) -> bool:
    """What is stored is the same tile, of a matrix with the same extents, as the other is of its own."""
    stored = event.operands[1] if len(event.operands) > 1 else None
    if stored is None or stored.buffer in (None, other.buffer):
        return False
    part, its = guarded(stored), guarded(other)
    if part is None or its is None or (part.extents, part.tile) != (its.extents, its.tile):
        return False
    named = dict(zip(map(as_expr, part.strides), map(as_expr, its.strides), strict=True))
    strides = {only.name: its for mine, its in named.items() if (only := _alone(mine)) is not None}
    mine, theirs = _modes(stored.layout), _modes(other.layout)
    alike = [(size, as_expr(step).substitute(strides)) for size, step in mine or ()]
    same = bool(mine) and alike == [(size, as_expr(step)) for size, step in theirs or ()]
    return same and part.offset.substitute(strides) == its.offset


def _alone(e: ex.Expr) -> ex.Var | None:
    only = next(iter(e.variables()), None)
    return only if only is not None and e == ex.atom_expr(only) else None


def _modes(layout: object) -> list[Mode] | None:
    return leaves(layout.shape, layout.stride) if isinstance(layout, Layout) else None


def _ends(event: Event, tensor: TensorFact, asked: list[Predicate], context: Context) -> bool:
    """A predicate leaves out what lies past the end of a mode that need not be a whole number of tiles."""
    part = guarded(tensor)
    if part is None or not asked or not all(p.bounds for p in asked):
        return False
    for bound in (b for p in asked for b in p.bounds):
        mode = bounded_mode(bound.value, bound.coordinates)
        if mode is None or mode >= len(part.extents) or as_expr(bound.value) != as_expr(bound.coordinates[mode]):
            return False
        if left_of(bound.limit, part.extents[mode]) != 0 or not open_end(
            event, part.extents[mode], part.tile[mode], context
        ):
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
    return _ends(event, stored, asked, context)


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
    walked = {name: mode for p in (part, other) for mode, name in loop_modes(p).items()}
    apart = {v.name for v in ex.sub(part.offset, other.offset).variables()} - {
        v.name for s in part.strides for v in as_expr(s).variables()
    }
    if not apart or not all(walked.get(name, -1) not in (-1, *compared) for name in apart):
        return False
    of_blocks = compared <= block_modes(part).keys() and block_modes(part) == block_modes(other)
    return of_blocks and all(open_end(event, part.extents[m], part.tile[m], context) for m in compared)


def _predicated(context: Context) -> dict[tuple[str, str, str], list[Event]]:
    if "predicated copies" not in context.memo:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in context.facts.events:
            if event.kind == "copy" and event.predicated:
                found.setdefault((event.kernel, event.enclosing, event.arch), []).append(event)
        context.memo["predicated copies"] = found
    return cast("dict[tuple[str, str, str], list[Event]]", context.memo["predicated copies"])


def _alike(a: TensorFact, b: TensorFact) -> bool:
    """Equal parts of the same tensor, wherever they start."""
    return (
        a.space == b.space == "gmem"
        and a.buffer is not None
        and (a.buffer, a.dtype, a.layout, a.root_layout) == (b.buffer, b.dtype, b.layout, b.root_layout)
    )
