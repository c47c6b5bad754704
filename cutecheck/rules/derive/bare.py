"""Copies without predicates of what the same kernel copies under a predicate elsewhere."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, Predicate, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.ints import as_expr
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import block_modes, bounded_mode, guarded, loop_modes, predicates_of
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.predicates import open_end


def bare(event: Event, context: Context) -> tuple[TensorFact, Event] | None:
    """A part of global memory that a copy takes whole, and the copy that compares its coordinates with limits.

    Under no condition that the other is not under, too: where all of the tile is there no predicate is needed.
    """
    conditions = {(g.span, g.negated) for g in inner(event.guards)}
    of_all = {(g.span, g.negated) for g in inner(event.guards) if not same_in_all_blocks(g)}
    for other in _predicated(context).get((event.kernel, event.enclosing, event.arch), ()):
        theirs = {(g.span, g.negated) for g in inner(other.guards)}
        pairs = [(t, u) for t in event.operands[:2] for u in other.operands[:2] if _alike(t, u)]
        asked = [p for predicates in predicates_of(other, context) for p in predicates] if pairs else []
        if not asked or not all(p.bounds for p in asked):
            continue
        found = next((t for t, u in pairs if t.offset == u.offset), None) if conditions <= theirs else None
        if found is None and of_all <= theirs:
            found = next((t for t, u in pairs if _same_rows(event, t, u, asked, context)), None)
        if found is not None:
            return found, other
    return None


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
