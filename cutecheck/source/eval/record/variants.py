"""Calls that are reached again: which are the same, and what is known of one that was met twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from cutecheck.facts import Event, Hypothesis, Span, TensorFact, Unknown
from cutecheck.source.eval.values import Value

_FRESH = re.compile(r"#\d+")


def without_numbers(text: str) -> str:
    """A text without the numbers of fresh variables."""
    return _FRESH.sub("#", text)


def of_both(first: Event, again: Event) -> Event:
    """An event that is met twice: of what held the first time only what holds again."""
    if not first.otherwise and (again.otherwise or _asked(first) != _asked(again)):
        first = replace(first, otherwise=True)
    if first.hypotheses == again.hypotheses:
        return first
    held = {_stated(h) for h in again.hypotheses}
    return replace(first, hypotheses=tuple(h for h in first.hypotheses if _stated(h) in held))


def _asked(event: Event) -> frozenset[tuple[Span, bool]]:
    return frozenset((g.span, g.negated) for g in event.guards if not g.host)


def _stated(h: Hypothesis) -> str:
    return without_numbers(f"{h.condition}")


def variant_of(operands: Sequence[TensorFact], tiled: Value) -> str:
    """What distinguishes a call from others at its place; the numbers of fresh variables do not."""
    texts = [
        repr((o.space, o.layout if not isinstance(o.layout, Unknown) else "?", o.dtype, o.offset, o.tile_layout))
        + (o.buffer or "" if o.space != "rmem" else "")
        for o in operands
    ]
    order: dict[str, str] = {}
    text = _FRESH.sub(lambda hit: order.setdefault(hit.group(), f"#{len(order)}"), "|".join((*texts, str(tiled))))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
