"""Lambdas of host code that nothing which is walked calls: threads, registries and members get them.

Such a lambda is walked where the function that made it ends, on values of its parameters' types. The variables
that it captured by reference may be anything of their types when it runs, but for constants; what it writes is undone,
as a function that it was given to has lost that before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.source.eval import losses, places, qualifiers
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env, Frame, self_of
from cutecheck.source.eval.symbolic import symbolic_parameter
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import Closure, FuncSet, Object, Reference, TemplateRef, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.state import Standing


@dataclass(frozen=True, slots=True)
class Made:
    """A lambda, the variables of functions that it names with where they are kept, and what held where it was made."""

    fn: Closure
    captured: dict[str, Env]
    standing: Standing


def made(m: Machine, fn: Closure) -> None:
    """A lambda was met on the host."""
    if m.dialect.by_value and not m.recorder.rehearsal and not m.recorder.in_kernel():
        frame = m.recorder.frame
        known = m.history.lambdas if frame is None else frame.lambdas
        known.append(Made(fn, _captured(fn), m.recorder.standing()))


def walk_rest(m: Machine, frame: Frame) -> None:
    """The lambdas of a function that ends, as far as nothing called them."""
    if m.recorder.rehearsal:
        return
    for each in frame.lambdas:
        walk(m, each)


def walk(m: Machine, each: Made) -> None:
    """Walk a lambda that nothing called, if the variables that it captured are still there.

    What is asserted after it was made may be so after it ran.
    """
    fn, captured = each.fn, each.captured
    if fn.called or not all(fn.env.find_var(n) is env for n, env in captured.items()):
        return
    given = arguments(m, fn, fn.node.span)
    if given is None:
        return
    from cutecheck.source.eval.calls import call_closure

    mark = m.journal.mark()
    for name, env in captured.items():
        held = env.vars[name]
        if fn.own and env is fn.env and not isinstance(held, Reference) and name not in (env.refs or ()):
            continue  # a copy
        fixed = env.fixed is not None and name in env.fixed
        if isinstance(held, Object):
            losses.lose(m, held, name, fn.node.span)
        elif not fixed and not isinstance(held, (Closure, FuncSet, TemplateRef)) and not is_type(held):
            losses.forget_cells(m, places.cells_of(env.vars, name), fn.node.span)
    this = self_of(fn.env)
    if isinstance(this, Object):
        losses.lose(m, this, this.cls.name, fn.node.span)
    with m.recorder.as_of(each.standing):
        call_closure(m, fn, given, {}, fn.node.span)
    m.journal.undo(mark)


def arguments(m: Machine, fn: Closure, span: Span) -> list[Value] | None:
    """A value of its type for each parameter of a lambda; None where a parameter has none of its own."""
    if fn.node.tparams or any(p.pack or p.type is None or qualifiers.is_auto(p.type) for p in fn.node.params):
        return None
    return [symbolic_parameter(m, p, fn.env, span) for p in fn.node.params]


def _captured(fn: Closure) -> dict[str, Env]:
    found = {}
    for name in names_in(fn.node.body.get()):
        at = fn.env.find_var(name)
        if at is not None and at.kind in ("block", "function"):
            found[name] = at
    return found
