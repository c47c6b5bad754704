"""Loops whose iterations are walked one by one: what a ``break`` or ``continue`` that may be met leaves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cutecheck.facts import Span
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.branches import left
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.exits import Exits, finish, unless_left


class Enumerated:
    """The iterations of one loop, each from the state that the one before leaves."""

    def __init__(self, m: Machine, span: Span, env: Env) -> None:
        self.m = m
        self.span = span
        self.env = env
        self.exits = Exits(m.journal.mark())  # at each ``break``
        self.returned = self._returns()

    def _returns(self) -> int:
        frame = self.env.frame
        return len(frame.exits.states) if frame is not None and frame.exits is not None else 0

    def walk(self, body: ir.Block) -> Done:
        """One iteration: NORMAL where another may follow, RETURN or BREAK where none does."""
        m = self.m
        ways = Exits(m.journal.mark())  # at each ``continue``
        with m.recorder.perhaps(), _belonging(m, self.exits, ways):
            ended: list[Done] = []
            if unless_left(m, lambda: ended.append(m.run(body, self.env)), ways, self.exits):
                if not ways.states:
                    return Done.RETURN
                finish(m, ways, self.span, False)
                return Done.NORMAL
            done = ended[0]
            goes_on = done not in (Done.RETURN, Done.BREAK)
            if not goes_on and not ways.states:
                return done
            if not goes_on:
                left(m, done, self.env, False)
        finish(m, ways, self.span, goes_on)
        return Done.NORMAL

    def end(self, done: Done) -> Done:
        """How the loop ended, by how its last iteration did; after it the state is that of any of its ends."""
        if done is Done.RETURN:
            if not self.exits.states:
                return done
            left(self.m, done, self.env, False)
        finish(self.m, self.exits, self.span, done is not Done.RETURN)
        return Done.MAYBE if self._returns() > self.returned else Done.NORMAL


@contextmanager
def _belonging(m: Machine, breaks: Exits, ways: Exits) -> Iterator[None]:
    """``break`` and ``continue`` are those of this iteration."""
    outer = m.breaks, m.continues
    m.breaks, m.continues = breaks, ways
    try:
        yield
    finally:
        m.breaks, m.continues = outer
