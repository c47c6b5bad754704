"""Loops that a run of all threads of a kernel cannot follow pass by pass: not all threads go through them alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cutecheck.facts.touch import each
from cutecheck.source.eval import conversions, ir, leaks
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.touching import answered, answering, block_of
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.enumerated import Enumerated
from cutecheck.source.eval.statements.recurrences import written
from cutecheck.source.eval.values import Value


@contextmanager
def partly(replay: Replaying) -> Iterator[None]:
    """Inside, what single elements are read or stored is not known pass by pass."""
    replay.partial += 1
    try:
        yield
    finally:
        replay.partial -= 1


def first_pass(m: Machine, node: ir.Loop, env: Env) -> None:
    """The first pass of a loop that does no more than access elements of shared memory, for the elements in it."""
    replay = m.recorder.acts()
    if replay is None or not replay.follows_elements() or id(node) not in m.recorder.elementary:
        return
    if node.kind == "foreach" or not m.dialect.block_scope:
        return
    mark = m.journal.mark()
    inner = Env(env, "block")
    if node.init is not None:
        m.run(node.init, inner)
    condition: Value = 1
    if node.cond is not None and node.kind != "do":
        condition = conversions.tested(m, node.cond, inner)
    known = m.dialect.truth(condition)
    outer, replay.partial = replay.partial, 0
    if known:
        Enumerated(m, node.span, inner).walk(node.body)
    elif known is None and answered(replay, condition) is not None:
        with m.recorder.undecided(True), answering(m, condition, True):
            Enumerated(m, node.span, inner).walk(node.body)
    replay.partial = outer
    leaks.gone(m, inner)
    m.journal.undo(mark)


def parted(m: Machine, node: ir.Loop, env: Env, loop: Enumerated) -> bool | None:
    """Go through a pass of a loop with those threads that do by their index: whether there are any; None: not known.

    They come out of it as the others do: all that it writes is the loop's own.
    """
    replay = m.recorder.acts()
    if replay is None or replay.thread is not None or replay.by_source or node.cond is None:
        return None
    condition = conversions.tested(m, node.cond, env)
    block, answers = block_of(replay), answered(replay, condition)
    if block is None or answers is None:
        return None
    if not any(each(answers, block) or ()):
        return False
    mark = m.journal.mark()
    with m.recorder.undecided(True), answering(m, condition, True):
        done = loop.walk(node.body)
    if done is not Done.NORMAL or any(_around(env, where) for where, _, _ in written(m, mark).values()):
        replay.end()
    return True


def _around(env: Env, where: object) -> bool:
    """Whether these are variables of a scope around the loop."""
    at = env.parent
    while at is not None:
        if at.vars is where:
            return True
        at = at.parent
    return False
