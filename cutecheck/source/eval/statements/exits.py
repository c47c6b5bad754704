"""Where control leaves a function or a switch before its end: what it wrote until then holds after it, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cutecheck.facts import Span
from cutecheck.source.eval.dialect import MISSING
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Frame
from cutecheck.source.eval.statements.done import Raised
from cutecheck.source.eval.statements.joins import join
from cutecheck.source.eval.statements.numbers import same
from cutecheck.source.eval.statements.recurrences import Key, Written, written
from cutecheck.source.eval.values import Value


@dataclass(slots=True)
class Exits:
    """States at the places that leave something early, by what was written since ``mark``.

    Each with whether threads may part on the way to it.
    """

    mark: int
    states: list[tuple[Written, bool]] = field(default_factory=list)

    def leave(self, m: Machine, varying: bool) -> None:
        self.states.append((written(m, self.mark), varying))


@dataclass(slots=True)
class Attempts(Exits):
    """States at the places where a ``try`` may be left by an exception, and what each raises."""

    kinds: list[Value] = field(default_factory=list)
    frame: Frame | None = None  # of the function that the ``try`` stands in
    missed: bool = False  # whether a module is imported in it that is nowhere

    def raised(self, m: Machine, kind: Value) -> None:
        self.leave(m, False)
        self.kinds.append(kind)


def unless_left(m: Machine, run: Callable[[], object], *exits: Exits) -> bool:
    """Run what ``exits`` lead out of; whether it ends with an exception on all other ways.

    An exception that nothing passes by goes on to the ``try`` around it.
    """
    try:
        run()
    except Raised as error:
        if not any(e.states for e in exits) or m.attempts is None:
            raise
        m.attempts.raised(m, error.kind)
        return True
    return False


def finish(m: Machine, exits: Exits, span: Span, goes_on: bool = True) -> None:
    """The state after all: the one at hand, if the end is reached (``goes_on``), joined with those of the exits."""
    states: Sequence[tuple[Written, bool]] = exits.states
    if not states:
        return
    before = {key: where.get(name, MISSING) for wrote, _ in states for key, (where, name, _) in wrote.items()}
    before |= m.journal.before(exits.mark, MISSING)
    if not goes_on:
        (first, _), *states = states
        for key, (where, name, _) in m.journal.written_since(exits.mark).items():
            if key not in first and not m.dialect.missing(before[key]):
                m.journal.set(where, name, before[key])
        for where, name, value in first.values():
            m.journal.set(where, name, value)
    now = {key: (where, name) for key, (where, name, _) in m.journal.written_since(exits.mark).items()}
    held: dict[Key, list[tuple[Value, bool]]] = {}  # what each cell was joined with: once is enough
    for wrote, varying in states:
        now |= {key: (where, name) for key, (where, name, _) in wrote.items()}
        for key, (where, name) in now.items():
            here: Value = where.get(name, MISSING)
            there = wrote[key][2] if key in wrote else before.get(key, here)
            known = held.get(key)
            if known is None:
                held[key] = [(there, varying)]
            elif _among(there, varying, known):
                continue
            else:
                known.append((there, varying))
            if m.dialect.missing(here) or m.dialect.missing(there):
                m.journal.set(where, name, there if m.dialect.missing(here) else here)
            else:
                m.journal.set(where, name, join(m, here, there, f"`{name}`", span, None, varying))


def _among(value: Value, varying: bool, known: list[tuple[Value, bool]]) -> bool:
    """Whether a cell was joined with this value before, of threads that part if these do."""
    return any((apart or not varying) and (other is value or same(other, value)) for other, apart in known)
