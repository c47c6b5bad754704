"""Lambdas of host code that nothing which is walked calls: threads, registries and members get them.

Such a lambda is walked where the function that made it ends, on values of its parameters' types. The variables
that it captured by reference may be anything of their types when it runs, but for constants; what it writes is undone,
as a function that it was given to has lost that before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.eval import classes, ir, losses, places, qualifiers
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env, Frame, self_of
from cutecheck.source.eval.values import Closure, FuncSet, Object, Reference, TemplateRef, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def made(m: Machine, fn: Closure) -> None:
    """A lambda was met on the host."""
    if m.dialect.by_value and not m.recorder.rehearsal and not m.recorder.in_kernel():
        frame = m.recorder.frame
        (m.history.lambdas if frame is None else frame.lambdas).append((fn, _captured(fn)))


def walk_rest(m: Machine, frame: Frame) -> None:
    """The lambdas of a function that ends, as far as nothing called them."""
    if m.recorder.rehearsal:
        return
    for fn, captured in frame.lambdas:
        walk(m, fn, captured)


def walk(m: Machine, fn: Closure, captured: dict[str, Env]) -> bool:
    """Walk a lambda that nothing called, if the variables that it captured are still there; whether it was."""
    body = fn.node.body
    if fn.called or body is None or not all(fn.env.find_var(n) is env for n, env in captured.items()):
        return False
    given = arguments(m, fn, fn.node.span)
    if given is None:
        return False
    from cutecheck.source.eval.calls import call_closure

    mark = m.journal.mark()
    for name, env in captured.items():
        held = env.vars[name]
        if fn.own and env is fn.env and not isinstance(held, Reference) and name not in (env.refs or ()):
            continue  # a copy
        fixed = env.fixed is not None and name in env.fixed
        if isinstance(held, Object):
            losses.lose(m, held, name, fn.node.span)
        elif not fixed and not isinstance(held, (Closure, FuncSet, TemplateRef)):
            losses.forget_cells(m, places.cells_of(env.vars, name), fn.node.span)
    this = self_of(fn.env)
    if isinstance(this, Object):
        losses.lose(m, this, this.cls.name, fn.node.span)
    call_closure(m, fn, given, {}, fn.node.span)
    m.journal.undo(mark)
    return True


def arguments(m: Machine, fn: Closure, span: Span) -> list[Value] | None:
    """A value of its type for each parameter of a lambda; None where a parameter has none of its own."""
    if fn.node.tparams or any(p.pack or p.type is None or qualifiers.is_auto(p.type) for p in fn.node.params):
        return None
    return [classes.symbolic_parameter(m, p, fn.env, span) for p in fn.node.params]


def _captured(fn: Closure) -> dict[str, Env]:
    """The variables of functions that a lambda names, and where they are kept."""
    found = {}
    for name in names_in(fn.node.body.get()) if isinstance(fn.node, ir.Lambda) else ():
        at = fn.env.find_var(name)
        if at is not None and at.kind in ("block", "function"):
            found[name] = at
    return found
