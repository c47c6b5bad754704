"""Copies without predicates of what the same kernel copies under a predicate elsewhere."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Event, TensorFact
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import predicates_of
from cutecheck.rules.derive.guards import inner


def bare(event: Event, context: Context) -> tuple[TensorFact, Event] | None:
    """A part of global memory that a copy takes whole, and the copy that compares its coordinates with limits.

    Under no condition that the other is not under, too: where all of the tile is there no predicate is needed.
    """
    conditions = {(g.span, g.negated) for g in inner(event.guards)}
    for other in _predicated(context).get((event.kernel, event.enclosing, event.arch), ()):
        found = next((t for t in event.operands[:2] for u in other.operands[:2] if _same(t, u)), None)
        if found is None or not conditions <= {(g.span, g.negated) for g in inner(other.guards)}:
            continue
        asked = [p for predicates in predicates_of(other, context) for p in predicates]
        if asked and all(p.bounds for p in asked):
            return found, other
    return None


def _predicated(context: Context) -> dict[tuple[str, str, str], list[Event]]:
    if "predicated copies" not in context.memo:
        found: dict[tuple[str, str, str], list[Event]] = {}
        for event in context.facts.events:
            if event.kind == "copy" and event.predicated:
                found.setdefault((event.kernel, event.enclosing, event.arch), []).append(event)
        context.memo["predicated copies"] = found
    return cast("dict[tuple[str, str, str], list[Event]]", context.memo["predicated copies"])


def _same(a: TensorFact, b: TensorFact) -> bool:
    """The same elements of the same tensor."""
    return (
        a.space == b.space == "gmem"
        and a.buffer is not None
        and (a.buffer, a.dtype, a.offset, a.layout, a.root_layout)
        == (b.buffer, b.dtype, b.offset, b.layout, b.root_layout)
    )
