"""Calls that are reached again: which are the same, and what is known of one that was met twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from cutecheck.facts import Event, Guard, Hypothesis, Span, TensorFact, Unknown
from cutecheck.source.eval.values import Value

_FRESH = re.compile(r"#\d+")
_NAMES = re.compile(r"~[0-9a-f]{8}")  # of the buffers, in a variant


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
        for o in operands
    ]
    return f"{_digest('|'.join((*texts, str(tiled))))}~{_names(operands)}"


def with_names(variant: str, operands: Sequence[TensorFact]) -> str:
    """A variant whose buffers are called otherwise now; what else distinguishes it is not asked for again."""
    return _NAMES.sub(f"~{_names(operands)}", variant)


def _names(operands: Sequence[TensorFact]) -> str:
    return _digest("|".join(o.buffer or "" if o.space != "rmem" else "" for o in operands))[:8]


def variant_of_bounds(variant: str, first: Event | None, guards: Sequence[Guard]) -> str:
    """Of a call with the operands of one before, under other bounds on coordinates: a variant of its own.

    A helper that copies rows below a limit may be called for one tile with two limits, one of them wrong.
    """
    if first is None or (mine := _bounds(guards)) == _bounds(first.guards):
        return variant
    return f"{variant}<{_digest(mine)}"


def _bounds(guards: Sequence[Guard]) -> str:
    return _renamed("|".join(f"{b.value}<{b.limit}" for g in guards if not g.host for b in g.bounds))


def _digest(text: str) -> str:
    return hashlib.sha256(_renamed(text).encode()).hexdigest()[:12]


def _renamed(text: str) -> str:
    """Without the numbers of fresh variables: by their order alone."""
    order: dict[str, str] = {}
    return _FRESH.sub(lambda hit: order.setdefault(hit.group(), f"#{len(order)}"), text)
