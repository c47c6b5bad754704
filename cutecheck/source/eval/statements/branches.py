"""``if`` and ``switch``: one branch when the condition is known, else both and a join."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Guard
from cutecheck.source.eval import ir, predicates
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.joins import join
from cutecheck.source.eval.statements.recurrences import written
from cutecheck.source.eval.threads import differs, turns
from cutecheck.source.eval.values import Scalar, Value, constant


@runs(ir.If)
def _if(m: Machine, node: ir.If, env: Env) -> Done:
    inner = Env(env, "block") if m.dialect.block_scope else env
    if node.init is not None:
        m.run(node.init, inner)
    cond = m.eval(node.cond, inner)
    known = m.dialect.truth(cond)
    if known is not None:
        taken = node.then if known else node.other
        done = m.run(taken, inner) if taken is not None else Done.NORMAL
        return done if isinstance(done, Done) else Done.NORMAL
    text = m.recorder.text(node.cond)
    bounds, complete = predicates.conjunction(m, node.cond, inner)
    parts = differs(m, node.cond, cond, inner)
    changing = not parts and turns(m, node.cond, cond, inner)
    guard = Guard(text, getattr(node.cond, "span", node.span), False, tuple(bounds), complete, changing)
    return _both(m, node.then, node.other, inner, guard, cond, parts, node.cond)


def _both(
    m: Machine,
    then: ir.Block,
    other: ir.Block | None,
    env: Env,
    guard: Guard,
    cond: Value,
    varying: bool,
    node: ir.Expr | None = None,
) -> Done:
    """Walk both branches from the same state, then join what they wrote. ``varying``: threads may part here."""
    mark = m.journal.mark()
    with m.recorder.guarded(guard, cond, True), m.recorder.passed(m, node, env, True):
        first = m.run(then, env)
    after_then = written(m, mark)
    m.journal.undo(mark)
    bounds, complete = predicates.conjunction(m, node, env, holds=False) if node is not None else ([], False)
    opposite = replace(guard, negated=True, bounds=tuple(bounds), complete=complete)
    with m.recorder.guarded(opposite, cond, False), m.recorder.passed(m, node, env, False):
        second = m.run(other, env) if other is not None else Done.NORMAL
    after_else = written(m, mark)
    m.journal.undo(mark)
    gone = (Done.RETURN, Done.BREAK, Done.CONTINUE)
    for end, wrote in ((first, after_then), (second, after_else)):
        if m.loop is not None and end in (Done.BREAK, Done.CONTINUE):
            m.loop.leave(wrote, end is Done.CONTINUE, varying)
        elif m.loop is not None and end in (Done.RETURN, Done.MAYBE):
            m.loop.parts = m.loop.parts or varying
        if varying and end in (Done.RETURN, Done.MAYBE) and env.frame is not None:
            env.frame.apart = True
    if first in gone and second in gone:
        return first if first is second else Done.RETURN
    if first in gone or second in gone:
        for where, name, value in (after_else if first in gone else after_then).values():
            m.journal.set(where, name, value)
        return Done.MAYBE
    for key in {**after_then, **after_else}:
        where, name, _ = after_then.get(key) or after_else[key]
        base = where.get(name)
        a = after_then[key][2] if key in after_then else base
        b = after_else[key][2] if key in after_else else base
        if a is None or b is None:
            m.journal.set(where, name, a if b is None else b)
        else:
            m.journal.set(where, name, join(m, a, b, f"`{name}`", guard.span, cond, varying))
    return Done.NORMAL


@runs(ir.Switch)
def _switch(m: Machine, node: ir.Switch, env: Env) -> Done:
    subject = m.eval(node.subject, env)
    number = constant(subject)
    if number is not None:
        default = None
        for position, case in enumerate(node.cases):
            if not case.values:
                default = position
            elif any(constant(m.eval(v, env)) == number for v in case.values):
                return _fall(m, node, position, env)
        return _fall(m, node, default, env) if default is not None else Done.NORMAL
    for case in node.cases:
        guard = Guard(m.recorder.text(node.subject), node.span)
        inside = Env(env, "block")
        _both(m, case.body, None, inside, guard, Scalar(None, "bool"), differs(m, node.subject, subject, env))
    return Done.NORMAL


def _fall(m: Machine, node: ir.Switch, start: int, env: Env) -> Done:
    for case in node.cases[start:]:
        done = m.run(case.body, env)
        if done is Done.BREAK:
            return Done.NORMAL
        if done in (Done.RETURN, Done.CONTINUE):
            return done  # type: ignore[no-any-return]
    return Done.NORMAL
