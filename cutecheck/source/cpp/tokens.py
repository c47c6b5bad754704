"""What a function does with the token that a try to wait gives: a loop asks it, or a wait gets it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.source.eval import ir

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ASSIGNED = re.compile(r"(\w+)\s*=\s*[\w.>()-]*$")


def is_asked_by_a_loop(function: ir.Function, span: Span) -> bool:
    """Whether a call stands in what a loop asks before each pass."""
    return any(_holds(c.span, span) for c, of_loop in _conditions(function) if of_loop)


def is_handed_on(m: Machine, function: object, span: Span) -> bool:
    """Whether the result of a call is kept in a variable that no condition asks: a wait gets it, or nobody does."""
    lines = m.recorder.source(span.path)
    if not isinstance(function, ir.Function) or not 0 < span.line <= len(lines):
        return False
    found = _ASSIGNED.search(lines[span.line - 1][: span.column - 1])
    return found is not None and found[1] not in _asked(function)


@once
def _asked(function: ir.Function) -> frozenset[str]:
    """Names that conditions of a function have."""
    return frozenset(x.ident for c, _ in _conditions(function) for x in _parts(c) if isinstance(x, ir.Name))


@once
def _conditions(function: ir.Function) -> tuple[tuple[ir.Expr, bool], ...]:
    """What a function asks, and whether a loop does before each pass."""
    body = function.body.get() if function.body is not None else None
    asking = (x for x in _parts(body) if isinstance(x, (ir.If, ir.Loop)))
    return tuple((x.cond, isinstance(x, ir.Loop)) for x in asking if x.cond is not None)


def _parts(of: Any) -> Iterator[Any]:
    stack = [of]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Lazy):
            stack.append(at.get())
        elif isinstance(at, (tuple, list)):
            stack += at
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            yield at
            stack += [getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span")]


def _holds(outer: Span, inner: Span) -> bool:
    begin, end = (outer.line, outer.column), (outer.end_line, outer.end_column)
    return outer.path == inner.path and begin <= (inner.line, inner.column) < end


__all__ = ["is_asked_by_a_loop", "is_handed_on"]
