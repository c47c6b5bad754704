"""Where Python's control goes besides branches and loops: exceptions, ``with``, generators, defaults of parameters."""

from __future__ import annotations

import builtins as python
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Guard, Span, Unknown
from cutecheck.source.dsl import classes
from cutecheck.source.dsl.statements import spelled
from cutecheck.source.dsl.values import BuiltinType, Iterated, Manager, Sink
from cutecheck.source.eval import ir
from cutecheck.source.eval.containers import Lost, changes, lose, unsure
from cutecheck.source.eval.machine import runs
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.statements.assignments import bind_target
from cutecheck.source.eval.statements.done import Done, Raised
from cutecheck.source.eval.statements.exits import Attempts, Exits, finish
from cutecheck.source.eval.statements.loops import iterate
from cutecheck.source.eval.statements.unwinding import leave_by
from cutecheck.source.eval.values import Extern, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ELECTS = ".elect_one(...)"  # one thread of the warp enters
_DEFAULT = "default of "  # never the start of a Python name


# -------------------------------------------------------------------- exceptions


def fails(m: Machine, kind: str, why: str, span: Span) -> Unknown:
    """What Python refuses with an exception: it goes to the ``try`` around it, if there is one."""
    _thrown(m, BuiltinType(kind))
    return Unknown(why, span)


def may_fail(m: Machine, kind: str) -> None:
    """Python may or may not refuse this."""
    if m.attempts is not None:
        m.attempts.raised(m, BuiltinType(kind))


def _thrown(m: Machine, kind: Value) -> None:
    """Go to the handlers of a ``try`` in the same function; beside them, where it is in a caller.

    What a caller's configuration is refused for may be something that is not followed: what comes after is walked, too.
    """
    if m.attempts is None:
        return
    if m.attempts.frame is m.recorder.frame:
        raise Raised(kind)
    m.attempts.raised(m, kind)


def may_miss(m: Machine) -> None:
    """A module that is nowhere may be installed or not."""
    may_fail(m, "ImportError")
    if m.attempts is not None and m.attempts.frame is m.recorder.frame:  # of a caller, the ``try`` is not about it
        m.attempts.missed = True


class Perhaps(Unknown):
    """An attribute that is there, or is not: which is not known."""

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)  # outside of the evaluator it is a reason, no more


def unless_raised(m: Machine, run: Callable[[], Value], why: str, span: Span) -> Value:
    """What a hook of a class or module gives; a reason where it raises an exception instead."""
    outer = m.attempts
    m.attempts = exits = Attempts(m.journal.mark())
    try:
        value = run()
    finally:
        m.attempts = outer
    if not exits.kinds:
        return value
    return Unknown(why, span) if value is None else Perhaps(why, span)


@runs(ir.Raise)
def _raise(m: Machine, node: ir.Raise, env: Env) -> Done:
    kind = m.functions.get("dsl handled") if node.value is None else m.eval(node.value, env)
    if m.dialect.supposing is not None:
        m.dialect.supposing.raised(m, node, env)
    _thrown(m, kind)
    return Done.RETURN


@runs(ir.Attempt)
def _attempt(m: Machine, node: ir.Attempt, env: Env) -> Done:
    """The body; a handler after what is known to be raised, or beside it after what may be."""
    outer = m.attempts
    returns = _returns(env)
    counts = [len(found) for found in returns]
    exits = Attempts(m.journal.mark(), frame=m.recorder.frame)
    raised: list[Raised] = []
    m.attempts = exits if node.handlers else outer
    try:
        with m.recorder.perhaps():
            done: Done = m.run(node.body, env)
    except Raised as error:
        raised.append(error)
        done = Done.RETURN
    finally:
        m.attempts = outer
    try:
        if raised:
            finish(m, exits, node.span)
            done = _handled(m, node, raised[0], env)
        elif node.other is not None and done in (Done.NORMAL, Done.MAYBE):
            after: Done = m.run(node.other, env)
            done = after if done is Done.NORMAL else Done.MAYBE if after is Done.NORMAL else after
        if exits.states and not raised:
            if _falls_back(m, node, exits, env):  # the body has been walked; what follows is walked without the library
                for found, count in zip(returns, counts, strict=True):
                    del found[count:]
                done = _beside(m, node, exits, None, env)
            else:
                done = _beside(m, node, exits, done, env)
    finally:
        ended = Done.NORMAL if node.final is None else m.run(node.final, env)
    return done if ended is Done.NORMAL else ended


def _handled(m: Machine, node: ir.Attempt, raised: Raised, env: Env) -> Done:
    handler = next((h for h in node.handlers if _catches(m, h, raised.kind, env)), None)
    if handler is None:
        _thrown(m, raised.kind)
        return Done.RETURN
    return _run(m, handler, raised.kind, env)


def _run(m: Machine, handler: ir.Handler, kind: Value, env: Env) -> Done:
    before = m.functions.get("dsl handled")
    m.functions["dsl handled"] = kind
    try:
        if handler.name is not None:
            error = kind if isinstance(kind, Object) else Extern("an exception", handler.body.span)
            bind_target(m, ir.Name(handler.name, None, handler.body.span), error, env, handler.body.span)
        return m.run(handler.body, env)  # type: ignore[no-any-return]
    finally:
        m.functions["dsl handled"] = before


def _beside(m: Machine, node: ir.Attempt, exits: Attempts, done: Done | None, env: Env) -> Done:
    """After a body that may have been left by exceptions: its own end, if it has one, joined with the handlers'."""
    mark = exits.mark
    ends = Exits(mark)
    dones = [] if done is None else [done]
    if done is not None:
        leave_by(m, ends, done)
    m.journal.undo(mark)
    for handler in node.handlers:
        taken = [i for i, kind in enumerate(exits.kinds) if _catches(m, handler, kind, env)]
        states, exits.states = exits.states, [exits.states[i] for i in taken]
        kinds = [exits.kinds[i] for i in taken]
        if taken:
            finish(m, exits, node.span, False)
            with m.recorder.guarded(Guard("an exception", node.span)):
                try:
                    dones.append(_run(m, handler, kinds[0], env))
                    leave_by(m, ends, dones[-1])
                except Raised as error:
                    if m.attempts is not None:
                        m.attempts.raised(m, error.kind)
            m.journal.undo(mark)
        exits.states = [s for i, s in enumerate(states) if i not in taken]
        exits.kinds = [k for i, k in enumerate(exits.kinds) if i not in taken]
    if not ends.states:
        return dones[0]
    finish(m, ends, node.span, False)
    return Done.NORMAL if all(d is Done.NORMAL for d in dones) else Done.MAYBE


def _returns(env: Env) -> list[list[Any]]:
    """What has been noted of a function's returns so far."""
    if env.frame is None:
        return []
    exits = None if env.frame.exits is None else env.frame.exits.states
    ways = None if env.frame.ways is None else env.frame.ways.found
    return [found for found in (exits, ways, env.frame.returns) if found is not None]


def _falls_back(m: Machine, node: ir.Attempt, exits: Attempts, env: Env) -> bool:
    """Whether a function goes on in its own way without a library that is not installed, instead of giving up."""
    if not exits.missed or env.frame is None:
        return False
    absent = BuiltinType("ImportError")
    handler = next((h for h in node.handlers if _catches(m, h, absent, env)), None)
    return handler is not None and not any(map(_gives_up, handler.body.body))


def _gives_up(node: ir.Stmt) -> bool:
    if isinstance(node, ir.ExprStmt) and isinstance(node.expr, ir.Call):
        return spelled(node.expr).rpartition(".")[2] in ("exit", "_exit", "skip", "fail", "skipTest", "xfail")
    return isinstance(node, (ir.Raise, ir.Jump)) or (isinstance(node, ir.Return) and node.value is None)


def _catches(m: Machine, handler: ir.Handler, kind: Value, env: Env) -> bool:
    """Whether a handler may be meant for an exception."""
    if handler.type is None:
        return True
    wanted = m.eval(handler.type, env)
    return any(_is(kind, w) for w in (wanted if isinstance(wanted, tuple) else (wanted,)))


def _is(kind: Value, wanted: Value) -> bool:
    if isinstance(kind, Object):
        kind = kind.cls
    if isinstance(kind, ClassInst):
        if isinstance(wanted, ClassInst):
            return classes.derives(kind, wanted)
        own = [b for c in classes.mro(kind) for b in c.memo["foreign"]]
        return any(_is(b, wanted) for b in own) or not own
    given = kind.name if isinstance(kind, BuiltinType) else kind.what if isinstance(kind, Extern) else ""
    a = getattr(python, given.removesuffix("(...)"), None)
    b = getattr(python, wanted.name, None) if isinstance(wanted, BuiltinType) else None
    if isinstance(a, type) and isinstance(b, type):
        return issubclass(a, b)
    return not isinstance(wanted, ClassInst) or not isinstance(a, type)


# -------------------------------------------------------------------- with


def within(m: Machine, item: Value, body: Callable[[Value], Done], span: Span) -> Done:
    """``with item as name``: what is entered, the body, what is left."""
    from cutecheck.source.dsl.functions import run
    from cutecheck.source.eval.calls import apply

    if isinstance(item, Manager):
        ended: list[Done] = []
        frame = m.recorder.frame

        def entered(value: Value) -> None:
            inner, m.recorder.frame = m.recorder.frame, frame
            try:
                ended.append(body(value))
            finally:
                m.recorder.frame = inner

        run(m, item.fn, item.fn.entries[-1], list(item.args), dict(item.kwargs), span, Sink(entered))
        return ended[-1] if ended else body(Unknown("what this context manager gives is not known", span))
    if isinstance(item, Extern) and item.what.endswith(_ELECTS):
        replay = m.dialect.replaying
        if replay is not None and replay.thread is not None:
            return body(item) if replay.elected else Done.NORMAL
        with m.recorder.guarded(Guard("elect_one()", item.span or span, parts=True)):
            return body(item)
    if not isinstance(item, Object) or classes.find(item.cls, "__enter__") is None:
        return body(item)
    value = apply(m, classes.attribute(m, item, "__enter__", span), [], {}, span)
    try:
        return body(value)
    finally:
        if classes.find(item.cls, "__exit__") is not None:
            apply(m, classes.attribute(m, item, "__exit__", span), [None, None, None], {}, span)


# -------------------------------------------------------------------- generators


@dataclass(slots=True)
class _Collector:
    """Puts what a generator yields into a list, as if all of it were asked for at once."""

    m: Machine
    items: list[Value]

    def __call__(self, value: Value) -> None:
        if isinstance(value, Lost):
            lose(self.m, self.items, value)
        elif unsure(self.items) is None:
            changes(self.m, self.items)
            self.items.append(value)
            if len(self.items) > self.m.budget.limits.loop_iterations:
                lose(self.m, self.items, Unknown("a generator of very many items"))


def collected(m: Machine, run: Callable[[Sink], Value]) -> list[Value]:
    """What a generator yields."""
    items = Iterated()
    items.result = run(Sink(_Collector(m, items)))
    return items


def yielded(m: Machine, sink: Sink, value: Value, every: bool, span: Span) -> Value:
    """``yield value``, or ``yield from value``; what the expression gives back."""
    if not every:
        sink.put(value)
        return None
    result = value.result if isinstance(value, Iterated) else value if isinstance(value, Unknown) else None
    items = value if isinstance(value, Unknown) else iterate(m, value, span)
    if isinstance(items, Unknown):
        sink.put(Lost(items.reason, span))
        return Unknown("what an iterator that is not followed returns", span)
    for item in items:
        sink.put(item)
    return result


# -------------------------------------------------------------------- defaults


def closed(m: Machine, params: tuple[ir.Param, ...], env: Env) -> Env:
    """``env`` with the defaults of parameters, which Python computes once, where the function is defined."""
    open_ = [p for p in params if p.default is not None and not isinstance(p.default, ir.Lit)]
    if not open_:
        return env
    inner = Env(env, "template")
    for p in open_:
        assert p.default is not None
        inner.vars[f"{_DEFAULT}{p.name} {p.span.line}:{p.span.column}"] = m.eval(p.default, env)
    return inner


def default(m: Machine, p: ir.Param, env: Env) -> Value:
    name = f"{_DEFAULT}{p.name} {p.span.line}:{p.span.column}"
    at = env.find_var(name)
    assert p.default is not None
    return m.eval(p.default, env) if at is None else at.vars[name]


def plain(v: Value) -> bool:
    """Whether a value is Python's own, and all that it is made of."""
    if isinstance(v, tuple):
        return all(map(plain, v))
    return v is None or isinstance(v, (int, float, str))
