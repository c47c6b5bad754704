"""Functions that are not walked: why, and what they may have changed."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import NOT_WALKED, Span, Unknown
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import callbacks, ir, leaks, losses, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env, Frame
from cutecheck.source.eval.statements.havoc import assigned
from cutecheck.source.eval.statements.recurrences import Recurrence, recurring, settle
from cutecheck.source.eval.types import spell
from cutecheck.source.eval.values import (
    Address,
    Closure,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    Scalar,
    Value,
    constant,
)

_OPEN_RECURSION = 4  # activations of a function on numbers that are no constants: its end may never be met
_BLIND_RECURSION = 3  # activations of a function on unknown arguments: each may double the work


def refusal(m: Machine, fn: ir.Function, args: list[Value], env: Env, current: Frame | None, depth: int) -> str:
    """Why a function is not walked here; empty where it is."""
    if depth > m.budget.limits.call_depth:
        return f"calls nested deeper than {m.budget.limits.call_depth}"
    if depth >= _BLIND_RECURSION and any(isinstance(a, Unknown) for a in args) and _blind(current, fn):
        return f"`{fn.name}` calls itself with values that are not known"
    if depth >= _OPEN_RECURSION and any(_open(a) for a in args) and _active(current, fn, env) >= _OPEN_RECURSION:
        return f"`{fn.name}` calls itself, how often is not known"
    return ""


def leap(m: Machine, fn: ir.Function | ir.Lambda, args: list[Value], env: Env, span: Span) -> Unknown | None:
    """Of a function with a ``goto``, which is not walked: why, after all that it may change is forgotten.

    None for any other. Its parameters are not bound yet.
    """
    if not m.dialect.by_value or fn.body is None or not jumps(fn.body.get()):
        return None
    if isinstance(fn, ir.Lambda):
        what = "a lambda"
        for name in names_in(fn.body.get()):
            at = env.find_var(name)
            if at is not None and not isinstance(at.vars[name], (FuncSet, Closure)):
                losses.forget_cells(m, places.cells_of(at.vars, name), span)
    else:
        what = f"`{fn.name}`"
    may_write(m, fn, args, span, env.self_)
    m.recorder.escape_all(span)
    return Unknown(f"{what} has a goto, so it is not walked: nothing is said of what it does", fn.span)


def leapt(m: Machine, fn: ir.Function | ir.Lambda, env: Env, why: Unknown) -> None:
    """The facts of a function with a ``goto``, a line; its copies and gemms without operands; a barrier."""
    assert fn.body is not None
    if not m.recorder.rehearsal:
        m.recorder.unread[fn.span] = why.reason
        m.recorder.cut.setdefault(getattr(fn, "full_span", fn.span), why.reason)
    m.recorder.synchronises(m, "barrier", [], fn.span)
    m.recorder.synchronises(m, "goto", [], fn.span, NOT_WALKED)
    from cutecheck.source.eval.intrinsics.events import not_walked

    not_walked(m, fn.body.get(), env, why)


def may_write(
    m: Machine, fn: ir.Function | ir.Lambda, args: list[Value], span: Span, self_: Object | None = None
) -> None:
    """What a function that is not walked may have changed: shared memory that it got, variables it got by reference."""
    m.recorder.escape(m, args, span)
    m.recorder.loses_sight(span)
    m.returned = None
    if not m.dialect.by_value:
        return
    m.unseen = True
    cells = places.of_arguments(m, args)
    kept = [v for p, v in zip(fn.params, args, strict=False) if not _to_const(p.type)]
    leaks.leak(m, *kept, *args[len(fn.params) :], self_)
    for p, value, where in zip(fn.params, args, [*cells, *[None] * len(args)], strict=False):
        if writes(p.type):
            leaks.leak_place(m, value, where)
    losses.lost_leaked(m, span)
    if any(isinstance(v, Unknown) and _to_other(p.type) for p, v in zip(fn.params, args, strict=False)):
        losses.lost_pointed(m, span)
    for i, (p, value) in enumerate(zip(fn.params, args, strict=False)):
        if isinstance(value, Address) and not _to_const(p.type):
            losses.forget_cells(m, value.cells, span)
        elif isinstance(value, ObjectPointer) and not _to_const(p.type):
            losses.lose(m, value.to, p.name or "argument", span)
        elif isinstance(value, Closure):
            may_run(m, value, span)
        elif isinstance(value, Pointer) and not _to_const(p.type):
            losses.lost_under(m, value, span)
        elif isinstance(value, Object) and (writes(p.type) or _to_other(p.type)):
            losses.lose(m, value, p.name or "argument", span)
        elif writes(p.type) and i < len(cells) and (where := cells[i]) is not None:
            losses.forget_cells(m, where, span)
    if self_ is not None and "const" not in getattr(fn, "flags", ()):
        losses.lose(m, self_, self_.cls.name, span)


def may_run(m: Machine, fn: Closure, span: Span, arguments: list[Value] | None = None) -> None:
    """A closure is given to a function that is not walked: it may be called any number of times.

    ``arguments``: of one type each that it may be called with; for others it may write other names of its body.
    """
    if m.recorder.rehearsal > 1 or arguments is not None:
        names = [n for n in assigned(fn.node.body.get()) if fn.env.find_var(n) is not None]
        for name in names:
            at = fn.env.find_var(name)
            assert at is not None
            losses.forget_cells(m, places.cells_of(at.vars, name), span)
        if m.recorder.rehearsal > 1:
            return
    from cutecheck.source.eval.calls import call_closure

    loop = Recurrence(m.number(), span)
    given: list[Value] = [Unknown("given by a function that is not walked", span)] * len(fn.node.params)
    given = given if arguments is None else arguments

    def run() -> None:
        call_closure(m, fn, list(given), {}, span)

    with recurring(m, loop):
        settle(m, run, loop, rough=True)
    walked = m.recorder.rehearsal or m.recorder.in_kernel() or arguments is not None
    typed = None if walked else callbacks.arguments(m, fn, span)
    if typed is not None:
        mark = m.journal.mark()
        call_closure(m, fn, typed, {}, span)
        m.journal.undo(mark)


def forget_captured(m: Machine, fn: Closure, span: Span) -> None:
    """Variables around a closure that its body names: it may write them, and objects by their methods."""
    for name in names_in(fn.node.body.get()):
        at = fn.env.find_var(name)
        if at is None or at.kind not in ("block", "function"):
            continue
        if isinstance(places.held(m, at.vars, name), (Scalar, Object, Address, ObjectPointer, tuple)):
            losses.forget_cells(m, places.cells_of(at.vars, name), span)
    losses.lost_leaked(m, span)


def _to_const(t: ir.Expr | None) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind == "ptr" and _is_const(t.inner)


def _to_other(t: ir.Expr | None) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind == "ptr" and not _is_const(t.inner)


def _open(value: Value) -> bool:
    """A number that is not a constant, which may be what a recursion counts."""
    return isinstance(value, (Scalar, Dyn)) and constant(value) is None


def _active(frame: Frame | None, fn: ir.Function, env: Env) -> int:
    """How many activations of functions that are not over are of one that was active before, if this is such a one.

    A function under other template arguments is another.
    """
    bound = {p.name for p in fn.tparams or () if p.name}
    own = {n: v for n, v in env.parent.vars.items() if n in bound} if env.parent is not None else {}
    this = (id(fn), frozenset((n, spell(v)) for n, v in own.items()))
    seen: list[tuple[int, frozenset[tuple[str, str]]]] = []
    while frame is not None:
        if frame.function is not None:
            seen.append((id(frame.function), frozenset(frame.bindings)))
        frame = frame.caller
    return len(seen) - len(set(seen)) + 1 if this in seen else 0


def _blind(frame: Frame | None, fn: ir.Function) -> bool:
    """Whether a function is active so often that what ends its recursion must be among the values not known."""
    count = 0
    while frame is not None:
        count += frame.function is fn
        if count >= _BLIND_RECURSION:
            return True
        frame = frame.caller
    return False


@once
def jumps(node: Any) -> bool:
    """Whether a body has a ``goto``."""
    stack = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Jump):
            if at.kind == "goto":
                return True
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif isinstance(at, (ir.Block, ir.If, ir.Loop, ir.Switch, ir.Case, ir.Try)):
            parts = ("body", "then", "other", "cases", "handlers")
            stack.extend(getattr(at, f) for f in parts if hasattr(at, f))
    return False


def writable(p: ir.Param) -> bool:
    """True for a parameter through which the caller's variable can be written."""
    return writes(p.type)


def writes(t: ir.Expr | None) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind == "ref" and not _is_const(t.inner)


def _is_const(t: ir.Expr) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind == "const"
