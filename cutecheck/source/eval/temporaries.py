"""Objects whose destructors run at the end of a statement or later, not at the end of a block that declares them.

Such a destructor is not run: what the object leads to is lost where the statement ends that made it, and again at the
end of every block of the function until it returns, since what holds it (a reference, an array, a container) may live
on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.eval import losses, references
from cutecheck.source.eval.values import Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval import ir
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env


def made(m: Machine, value: Value) -> None:
    """An object is made by an expression."""
    from cutecheck.source.eval.statements.unwinding import destructs

    if isinstance(value, Object) and m.dialect.by_value and value.pointer is None and destructs(m, value.cls):
        m.temporaries.append(value)


def owned(m: Machine, value: Value) -> Value:
    """The object is a variable, a member, or what a function returns: its destructor runs with those."""
    if m.temporaries and isinstance(value, Object):
        m.temporaries[:] = [t for t in m.temporaries if t is not value]
    return value


def end_of_statement(m: Machine, span: Span) -> None:
    ended = [*m.temporaries]
    m.temporaries.clear()
    m.lingering += ended
    _lose(m, ended, span)


def end_of_block(m: Machine, span: Span) -> None:
    if m.lingering:
        _lose(m, m.lingering, span)


@contextmanager
def activation(m: Machine, fn: ir.Function | ir.Lambda, env: Env, span: Span) -> Iterator[None]:
    """A function has temporaries and parameters of its own."""
    from cutecheck.source.eval.statements.unwinding import destructs

    outer = m.temporaries, m.lingering
    m.temporaries, m.lingering = [], []
    try:
        yield
        given = [(p.type, env.vars.get(p.name)) for p in fn.params if not p.pack]
        objects = [(t, v) for t, v in given if isinstance(v, Object) and v.pointer is None]
        _lose(m, [v for t, v in objects if not references.stands(m, t, env) and destructs(m, v.cls)], span)
    finally:
        m.temporaries, m.lingering = outer


def _lose(m: Machine, objects: list[Object], span: Span) -> None:
    """What destructors of these objects may write."""
    for obj in objects:
        m.unseen = True
        losses.lost_through(m, obj, span)
    if objects:
        losses.lost_leaked(m, span)
