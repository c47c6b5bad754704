"""``if`` and ``switch``: one branch when the condition is known, else both and a join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from cutecheck.facts import Guard, Span, Unknown
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.eval import conversions, ir, leaks, own_elements, predicates
from cutecheck.source.eval.dialect import MISSING
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.record.touching import answering
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements import both_ways, flags, shared_elements
from cutecheck.source.eval.statements.done import Done, Raised
from cutecheck.source.eval.statements.exits import Exits, finish
from cutecheck.source.eval.statements.joins import OF_CONDITIONAL, join
from cutecheck.source.eval.statements.numbers import snapshot
from cutecheck.source.eval.statements.recurrences import Written, written
from cutecheck.source.eval.threads import answered, by_thread, differs, turns
from cutecheck.source.eval.values import Scalar, Value, constant


@runs(ir.If)
def _if(m: Machine, node: ir.If, env: Env) -> Done:
    if node.init is None or not m.dialect.block_scope:
        return _one_or_both(m, node, env)
    inner = Env(env, "block")
    done = _one_or_both(m, node, inner)
    leaks.gone(m, inner)
    return done


def _one_or_both(m: Machine, node: ir.If, inner: Env) -> Done:
    if node.init is not None:
        m.run(node.init, inner)
    replay = m.dialect.replaying
    around = replay is not None and _goes_around(node) and not any(x.kind in ("copy", "gemm") for x in replay.steps)
    decided = None if replay is None or not (_leaves(node) or around) else replay.slices.so_far()
    shared_elements.reads(m, node.cond, inner)
    cond, known = own_elements.decided(m, node, inner)
    m.tested[id(node)] = cond
    if known is None and replay is not None and node.other is not None:
        known = replay.another(cond, m.recorder.text(node.cond))
    if replay is not None and decided is not None and known is False:
        replay.slices.decided, replay.slices.of_blocks = decided  # a block that goes on decides nothing by it
    if known is not None:
        if node.constexpr and m.history.handing:
            m.history.left.add((id(node), "other" if known else "then"))
        taken = node.then if known else node.other
        done = m.run(taken, inner) if taken is not None else Done.NORMAL
        return done if isinstance(done, Done) else Done.NORMAL
    if replay is not None and _leaves(node) and replay.goes_on(cond):
        return Done.NORMAL
    parts = differs(m, node.cond, cond, inner)
    guard = guard_of(m, node.cond, cond, inner, parts)
    return _both(m, node.then, node.other, inner, guard, cond, parts, node.cond)


def guard_of(m: Machine, node: ir.Expr, cond: Value, env: Env, parts: bool) -> Guard:
    """A condition over what is run where it holds; ``parts``: threads may answer it differently."""
    bounds, complete = predicates.conjunction(m, node, env)
    changing = not parts and turns(m, node, cond, env)
    says = predicates.told(m, node, env, cond)
    unsure, asks, alike = answered(m, node, cond, env)
    guard = Guard(m.recorder.text(node), node.span, False, tuple(bounds), complete, changing, False, says)
    alone = () if bounds else predicates.plain(m, node, env)
    return replace(guard, parts=unsure, asks=asks, alike=alike, plain=alone)


def _opposite(m: Machine, guard: Guard, node: ir.Expr | None, cond: Value, env: Env) -> Guard:
    bounds, complete = predicates.conjunction(m, node, env, holds=False) if node is not None else ([], False)
    says = predicates.told(m, node, env, cond, holds=False) if node is not None else ()
    return replace(guard, negated=True, bounds=tuple(bounds), complete=complete, holds=says)


def _leaves(node: ir.If) -> bool:
    """``if (row >= end) return;``"""
    inner = node.then.body
    return node.other is None and len(inner) == 1 and isinstance(inner[0], ir.Return) and inner[0].value is None


def _goes_around(node: ir.If) -> bool:
    """``if row >= end: pass``, and all that the kernel does in ``else``: kernels of Python have no ``return`` there."""
    return node.other is not None and not node.then.body


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
    mark, standing = m.journal.mark(), len(m.recorder.hypotheses)
    before = flags.start(m, env)
    own = by_thread(m, node, cond, env)
    with m.recorder.guarded(guard, own), answering(m, cond, True), m.recorder.passed(m, node, env, True, cond):
        first = arm(m, then, env)
        left(m, first, env, varying)
        known = m.recorder.hypotheses[standing:]
    after_then = written(m, mark)
    m.journal.undo(mark)
    if other is not None and flags.same_way(m, before, then, other, env):
        second, after_else, known_else = first, after_then, []
    else:
        opposite = _opposite(m, guard, node, cond, env)
        with m.recorder.guarded(opposite, own), answering(m, cond, False), m.recorder.passed(m, node, env, False, cond):
            second = arm(m, other, env) if other is not None else Done.NORMAL
            left(m, second, env, varying)
            known_else = m.recorder.hypotheses[standing:]
        after_else = written(m, mark)
        m.journal.undo(mark)
    gone = (Done.RETURN, Done.BREAK, Done.CONTINUE)
    for end, wrote in ((first, after_then), (second, after_else)):
        if (end is Done.BREAK and m.breaks is not None) or (end is Done.CONTINUE and m.continues is not None):
            continue
        if m.loop is not None and end in (Done.BREAK, Done.CONTINUE):
            m.loop.leave(wrote, end is Done.CONTINUE, varying)
        elif m.loop is not None and end in (Done.RETURN, Done.MAYBE):
            m.loop.parts = m.loop.parts or varying
        if varying and end in (Done.RETURN, Done.MAYBE) and env.frame is not None:
            env.frame.apart = True
    if first in gone and second in gone:
        _joined(m, after_then, after_else, guard.span, cond, varying)
        return first if first is second else Done.RETURN
    if first in gone or second in gone:
        for where, name, value in (after_else if first in gone else after_then).values():
            m.journal.set(where, name, value)
        return Done.MAYBE
    ends = _joined(m, after_then, after_else, guard.span, cond, varying, node)
    both_ways.checked(m, known, known_else)
    both_ways.of_joined(m, ends, known, known_else)
    if own and m.recorder.acts() is not None:
        _one_for_all(m, after_then, after_else)
    return Done.NORMAL


def _one_for_all(m: Machine, first: Written, second: Written) -> None:
    """``if (threadIdx.x == 0) next = ...;``: what threads store in a variable that all share is there for all."""
    for key, (where, name, value) in first.items():
        shared = m.recorder.singles.get((id(where), name))
        if shared is not None and shared[0] is where and key not in second:
            m.journal.set(where, name, value)


def arm(m: Machine, body: ir.Block, env: Env) -> Done:
    """Run what may or may not be run: an exception that it raises may or may not be raised."""
    if m.attempts is None:
        return m.run(body, env)  # type: ignore[no-any-return]
    try:
        return m.run(body, env)  # type: ignore[no-any-return]
    except Raised as raised:
        m.attempts.raised(m, raised.kind)
        return Done.RETURN


def _under(m: Machine, guard: Guard | None, own: bool) -> AbstractContextManager[None]:
    return m.recorder.undecided(own) if guard is None else m.recorder.guarded(guard, own)


def _perhaps_raised(m: Machine, run: Callable[[], Value], span: Span) -> Value:
    try:
        return run()
    except Raised as raised:
        if m.attempts is not None:
            m.attempts.raised(m, raised.kind)
        return Unknown("an exception is raised here", span)


def alternatives(
    m: Machine, node: Any, cond: Value, env: Env, first: Callable[[], Value], second: Callable[[], Value]
) -> Value:
    """The value of one of two expressions, which of them is not known: what they write is joined, too."""
    varying = differs(m, node.cond if isinstance(node, ir.Select) else node.left, cond, env)
    mark = m.journal.mark()
    asked = node.cond if isinstance(node, ir.Select) else None
    own = by_thread(m, asked, cond, env)
    guard = None if asked is None else guard_of(m, asked, cond, env, varying)
    with m.recorder.passed(m, asked, env, True, cond), _under(m, guard, own):
        a = _perhaps_raised(m, first, node.span)
    after_first = written(m, mark) if m.journal.mark() != mark else {}
    a = snapshot(a) if after_first else a
    m.journal.undo(mark)
    opposite = None if guard is None else _opposite(m, guard, asked, cond, env)
    with m.recorder.passed(m, asked, env, False, cond), _under(m, opposite, own):
        b = _perhaps_raised(m, second, node.span)
    if after_first or m.journal.mark() != mark:
        after_second = written(m, mark)
        b = snapshot(b)
        m.journal.undo(mark)
        _joined(m, after_first, after_second, node.span, cond, varying)
    a, b = m.dialect.alike(a, b)
    return join(m, a, b, OF_CONDITIONAL, node.span, cond, varying)


def perhaps(
    m: Machine, node: Any, cond: Value, env: Env, run: Callable[[], Value], asked: ir.Expr | None = None
) -> Value:
    """The value of an expression that is evaluated or not: so is what it writes.

    ``asked``: what is true where it is evaluated behind ``&&``, false behind ``||``.
    """
    mark = m.journal.mark()
    own = by_thread(m, asked, cond, env)
    holds = node.op in ("&&", "and")
    guard = None if asked is None else guard_of(m, asked, cond, env, differs(m, asked, cond, env))
    guard = guard if guard is None or holds else _opposite(m, guard, asked, cond, env)
    with m.recorder.passed(m, asked, env, holds, cond), _under(m, guard, own):
        value = _perhaps_raised(m, run, node.span)
    if m.journal.mark() == mark:
        return value
    after, value = written(m, mark), snapshot(value)
    m.journal.undo(mark)
    _joined(m, after, {}, node.span, cond, differs(m, node.left, cond, env))
    return value


def perhaps_run(m: Machine, run: Callable[[], Value], span: Span) -> None:
    """What is run or not, nothing tells which: so is what it writes."""
    mark = m.journal.mark()
    with m.recorder.perhaps():
        _perhaps_raised(m, run, span)
    if m.journal.mark() == mark:
        return
    after = written(m, mark)
    m.journal.undo(mark)
    _joined(m, after, {}, span, Unknown("whether this is run", span), False)


def _joined(
    m: Machine, first: Written, second: Written, span: Span, cond: Value, varying: bool, asked: ir.Expr | None = None
) -> list[tuple[Value, Value, Value]]:
    """Join what two ways wrote: the values of both, and what they are joined to, where they differ."""
    joined: list[tuple[Value, Value, Value]] = []
    ends: list[tuple[dict[str, Value], str, Value, Value]] = []
    for key in {**first, **second}:
        where, name, _ = first.get(key) or second[key]
        base = where.get(name, MISSING)
        a = first[key][2] if key in first else base
        b = second[key][2] if key in second else base
        ends.append((where, name, a, b))
    taken = None if asked is None else m.dialect.taken(m, asked, cond, [(a, b) for _, _, a, b in ends])
    for where, name, a, b in ends:
        if taken is not None:
            if not m.dialect.missing((a, b)[taken]):
                m.journal.set(where, name, (a, b)[taken])
        elif m.dialect.missing(a) or m.dialect.missing(b):
            m.journal.set(where, name, a if m.dialect.missing(b) else b)
        else:
            either = join(m, a, b, f"`{name}`", span, cond, varying)
            m.journal.set(where, name, either)
            joined.append((a, b, either))
    return joined


@runs(ir.Switch)
def _switch(m: Machine, node: ir.Switch, env: Env) -> Done:
    subject = m.eval(node.subject, env)
    subject = conversions.number(m, subject, node.span)
    number = constant(subject)
    asked = number is not None or m.dialect.replaying is not None
    labels = [[constant(m.eval(v, env)) for v in case.values] for case in node.cases] if asked else []
    taken = next((at for at, found in enumerate(labels) if number in found), None) if number is not None else None
    if taken is None and asked and not any(None in found for found in labels):
        default = next((at for at, case in enumerate(node.cases) if not case.values), len(labels))
        taken = default if number is not None else _answered(m, subject, labels, default, node.span)
    if taken is not None:
        return broken_off(m, node.cases[taken].body, node.span, env) if taken < len(labels) else Done.NORMAL
    varying = differs(m, node.subject, subject, env)
    exits = Exits(m.journal.mark())
    ends: list[Done] = []
    guard = Guard(m.recorder.text(node.subject), node.span)
    for case in node.cases:
        with m.recorder.guarded(guard), m.recorder.perhaps(), breaking(m, exits):
            done = m.run(case.body, Env(env, "block"))
        ends.append(done)
        if done is Done.CONTINUE and m.loop is not None and m.continues is None:
            m.loop.leave(written(m, exits.mark), True, varying)
        elif done in (Done.RETURN, Done.CONTINUE):
            left(m, done, env, varying)
        else:
            exits.leave(m, varying)
        if m.loop is not None and done in (Done.RETURN, Done.MAYBE):
            m.loop.parts = m.loop.parts or varying
        if varying and done in (Done.RETURN, Done.MAYBE) and env.frame is not None:
            env.frame.apart = True
        m.journal.undo(exits.mark)
    missed = all(case.values for case in node.cases)  # there is no default
    finish(m, exits, node.span, missed)
    if exits.states or missed:
        return Done.MAYBE if any(d in (Done.RETURN, Done.MAYBE) for d in ends) else Done.NORMAL
    return Done.RETURN


def _answered(m: Machine, subject: Value, labels: list[list[Any]], default: int, span: Span) -> int | None:
    """The case that the thread which is run takes: ``switch (warp)`` is asked as a chain of ``if`` is."""
    from cutecheck.source.eval.expressions.operators import binary

    held = subject.value if isinstance(subject, Scalar) else subject
    if not isinstance(held, (Dyn, Sym)):
        return None
    for at, found in enumerate(labels):
        for label in found:
            answer = m.dialect.truth(binary(m, "==", Scalar(held, "long"), Scalar(label, "long"), span))
            if answer is not False:
                return at if answer else None
    return default


def left(m: Machine, end: Done, env: Env, varying: bool) -> None:
    """One of several ways ends here: what it wrote holds where the function, the switch or an iteration is left."""
    if end is Done.RETURN and env.frame is not None and env.frame.exits is not None:
        env.frame.exits.leave(m, varying)
    elif end is Done.BREAK and m.breaks is not None:
        m.breaks.leave(m, varying)
    elif end is Done.CONTINUE and m.continues is not None:
        m.continues.leave(m, varying)


@contextmanager
def breaking(m: Machine, exits: Exits) -> Iterator[None]:
    """``break`` leaves a switch."""
    outer, m.breaks = m.breaks, exits
    try:
        yield
    finally:
        m.breaks = outer


def broken_off(m: Machine, body: ir.Block, span: Span, env: Env) -> Done:
    """Run what a ``break`` leaves: the body of a case, with what it falls through to, or of a loop that runs once."""
    exits = Exits(m.journal.mark())
    before = len(m.recorder.hypotheses)
    with breaking(m, exits):
        done: Done = m.run(body, env)
    if exits.states:  # what holds at the end need not where it is broken off
        del m.recorder.hypotheses[before:]
    if done in (Done.RETURN, Done.CONTINUE):
        if not exits.states:
            return done
        if done is Done.CONTINUE and m.loop is not None and m.continues is None:
            m.loop.leave(written(m, exits.mark), True, False)
        left(m, done, env, False)
    finish(m, exits, span, done not in (Done.RETURN, Done.CONTINUE))
    return Done.NORMAL if done is Done.BREAK else done if done is Done.NORMAL else Done.MAYBE
