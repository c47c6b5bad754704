"""One of several functions, which of them is not known: each may be called, or launched, with what is given here.

``auto kernel = causal ? &k<true> : &k<false>; kernel<<<grid, block, smem>>>(args);``, and an element of a table of
functions. Everywhere else it is a value that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import FuncSet, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MOST = 64  # of one table that are walked


class OneOf(Unknown):
    """What is one of ``functions``."""

    functions: tuple[FuncSet, ...] = ()

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)


class FunctionType(Unknown):
    """The type of a function, or of a pointer to one: what it takes is not kept."""

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)


def one_of(values: Iterable[Value], why: str, span: Span) -> OneOf | None:
    """The choice between functions, and null pointers, which are not called; None where any may be something else."""
    found: dict[Any, FuncSet] = {}
    for value in values:
        for f in value.functions if isinstance(value, OneOf) else (value,):
            if isinstance(f, Scalar) and f.ctype == "nullptr_t":
                continue
            if not isinstance(f, FuncSet) or f.self_ is not None:
                return None
            found[tuple((id(e.decl), id(e.env)) for e in f.entries), type_key(f.targs or ())] = f
    made = OneOf(why, span)
    object.__setattr__(made, "functions", tuple(found.values()))
    return made if found else None


def walk(m: Machine, choice: OneOf, call: Callable[[FuncSet], object]) -> None:
    """Call each from the same state. What holds in one need not hold after it; what any may write is lost elsewhere."""
    if m.recorder.rehearsal or m.recorder.in_kernel():
        return
    lvalues, watched = m.lvalues, m.journal.watched  # of the arguments, which each takes
    kept = dict(watched)
    for function in islice(choice.functions, _MOST):
        m.lvalues, m.journal.watched = lvalues, dict(watched)
        mark = m.journal.mark()
        with m.recorder.perhaps():
            call(function)
        m.journal.undo(mark)
        kept = {k: v for k, v in kept.items() if m.journal.watched.get(k) == v}
    m.journal.watched = kept
