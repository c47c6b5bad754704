"""What a loop leaves of the values it changes: where they start, and what the iterations add to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from cutecheck.facts import Span
from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.source.eval import ages
from cutecheck.source.eval.containers import Contents, Holding
from cutecheck.source.eval.held_fields import Fields, serials
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.guesses import (
    Guess,
    changed_numbers,
    changes_just,
    guess,
    masked,
    place,
    share_a_name,
)
from cutecheck.source.eval.statements.numbers import combine, same, snapshot
from cutecheck.source.eval.statements.sums import Sum
from cutecheck.source.eval.threads import is_lost, is_shared, lost, some, untracked, varies
from cutecheck.source.eval.values import Object, Scalar, Shared, Value

_REHEARSALS = 5  # more than the chains of conditions on changed values that code has
Key = tuple[int, str]
Written = dict[Key, tuple[dict[str, Any], str, Any]]


@dataclass(slots=True)
class Changing:
    """A cell that a loop changes: where it is, its value before the loop, and its values in and after an iteration."""

    where: dict[str, Any]
    name: str
    start: Value
    before: Value = None
    afters: tuple[Value, ...] = ()
    summed: bool = False
    spread: bool = False  # what iterations add differs from thread to thread


@dataclass(slots=True)
class Recurrence:
    """The cells of one loop.

    ``since``: variables with this number or a greater one were made in the loop. ``count``: iterations before this one
    where an induction variable tells. ``apart``: threads of a warp may go on from different places of an iteration;
    ``parts``: they may leave the loop after different numbers of iterations. ``turning``: as ``since``, of the loop
    around one whose passes are written out: what changes there changes.
    """

    since: int
    span: Span
    turning: int | None = None
    count: Int | None = None
    told: Key | None = None  # the induction variable: what it is in an iteration its loop says
    cells: dict[Key, Changing] = field(default_factory=dict)
    ways: list[dict[Key, Value]] = field(default_factory=list)  # values at each ``continue``
    exits: list[dict[Key, Value]] = field(default_factory=list)  # and at each ``break``
    left: list[Written] = field(default_factory=list)  # what was written on the way to one of them
    apart: bool = False
    parts: bool = False
    env: Env | None = None  # where the loop stands
    serial: int = 0  # objects made by the last rehearsal have a greater one
    own: frozenset[int] = frozenset()  # containers that it made, by identity
    ends: bool = False  # after any iteration: the last rehearsal showed that there is no other
    whole: bool = False  # all threads that come to the loop come to its first iteration
    step: int = 0  # what an iteration adds to its induction variable; 0: it has none
    item: str = ""  # the variable that is the same in all threads, which make as many iterations

    def leave(self, wrote: Written, goes_on: bool, varying: bool) -> None:
        """One branch of a condition ends the iteration (``goes_on``) or the loop."""
        self.apart = self.apart or (varying and goes_on)
        self.parts = self.parts or (varying and not goes_on)
        now = {key: snapshot(c.where.get(c.name)) for key, c in self.cells.items()}
        now.update({key: value for key, (_, _, value) in wrote.items()})
        (self.ways if goes_on else self.exits).append(now)
        self.left.append(wrote)


class NotCountedError(Exception):
    """The body writes the induction variable, or what it is compared with, in a way that its text does not show."""


class RunsOnceError(Exception):
    """No iteration leads to another: the body is no loop's."""


@contextmanager
def recurring(m: Machine, loop: Recurrence | None) -> Iterator[None]:
    """``continue`` and ``break`` belong to this loop (None: to none yet, in the body of a function)."""
    outer = m.loop, m.breaks, m.continues
    m.loop, m.breaks, m.continues = loop, None, None
    try:
        yield
    finally:
        m.loop, m.breaks, m.continues = outer


def settle(m: Machine, body: Callable[[], object], loop: Recurrence, rough: bool = False) -> Written:
    """Set every cell that the loop changes to what it is before any iteration.

    The body is walked without leaving facts until no more cells are found; each is ``start`` plus anything meanwhile,
    the same in all threads. What an iteration adds to it is then summed: ``start + k * step`` where every one adds the
    same, else ``start`` plus some multiple of it, of each thread its own where the step or the way through the body is.
    Where threads came to differ, the body is walked again, for what else is computed from it. What the last of these
    walks wrote is returned. ``rough``: what the body changes is anything, of each thread its own; nothing is summed.
    """
    changed, guessed = _first(m, body, loop)
    found: list[tuple[dict[str, Any], str, Value, Value]] = []
    for walks in range(_REHEARSALS):
        if walks:
            changed = _rehearse(m, body, loop)
        before = len(found)
        for key, (where, name, new) in _all_written(loop, changed).items():
            old = where.get(name)
            if ages.made_since(where, max(loop.serial, m.kept)) or _made_by(loop, where):
                continue  # of an object of its own, which no other iteration sees
            if key not in loop.cells and key != loop.told and old is not None and not same(old, new):
                loop.cells[key] = Changing(where, name, old)
                m.journal.set(where, name, combine(m, Anything(m), old, old, (new,), name, loop.span))
                found.append((where, name, old, new))
        if len(found) == before:
            break
    if found and loop.env is not None:
        m.guesses[loop.span] = (*guessed, *guess(m, loop.env, found, loop.span))
    for _ in range(0 if rough else _REHEARSALS):
        if not _refine(m, loop, changed):
            return changed
        changed = _rehearse(m, body, loop)
    for c in loop.cells.values():
        value = c.where[c.name]
        anything = combine(m, Anything(m, True), value, value, (value,), c.name, loop.span, whole=True)
        m.journal.set(c.where, c.name, anything)
    return changed


def _first(m: Machine, body: Callable[[], object], loop: Recurrence) -> tuple[Written, tuple[Guess, ...]]:
    """The first rehearsal: under what is guessed, if the loop changes just that and more, with the guesses."""
    guessed = _suppose(m, loop)
    if guessed:
        mark = m.journal.mark()
        try:
            changed = _rehearse(m, body, loop)
            if all(_changes(m, loop, key, g.numbers, changed) for key, g in guessed.items()):
                return changed, tuple(guessed.values())
        except NotCountedError:
            m.journal.undo(mark)
        for key in guessed:
            c = loop.cells.pop(key)
            m.journal.set(c.where, c.name, c.start)
    return _rehearse(m, body, loop), ()


def _suppose(m: Machine, loop: Recurrence) -> dict[Key, Guess]:
    """Set the cells that the loop is guessed to change to anything."""
    guessed: dict[Key, Guess] = {}
    for g in m.guesses.get(loop.span, ()):
        found = None if loop.env is None else place(loop.env, g.path)
        if found is None:
            continue
        where, name = found
        key, old = (id(where), name), where.get(name)
        if key in loop.cells or key == loop.told or old is None:
            continue
        new = masked(m, Anything(m), old, g.numbers, name, loop.span)
        if not same(old, new):
            loop.cells[key] = Changing(where, name, old)
            m.journal.set(where, name, new)
            guessed[key] = g
    return guessed


def _changes(m: Machine, loop: Recurrence, key: Key, numbers: frozenset[str], changed: Written) -> bool:
    """Whether an iteration changes all these integers of a cell."""
    c = loop.cells[key]
    before = c.where[c.name]
    afters = [wrote[key][2] for wrote in (changed, *loop.left) if key in wrote]
    if not afters or not numbers <= changed_numbers(m, before, before, afters, c.name, loop.span):
        return False
    alone = not share_a_name(m, before, c.name, loop.span)
    return alone or changes_just(m, before, afters, numbers, c.name, loop.span)


def stay(m: Machine, loop: Recurrence, changed: Written) -> None:
    """What an iteration sets that was not set before, for a loop whose last rehearsal stands for its walk."""
    for key, (where, name, value) in changed.items():
        if key not in loop.cells and key != loop.told and where.get(name) is None:
            m.journal.set(where, name, value)


def walked_once(m: Machine, loop: Recurrence, mark: int, serial: int) -> None:
    """After one walk of a loop inside a rehearsal: what it changed is anything.

    A value that came to differ from thread to thread may in a later iteration be in all the others, unless it is gone
    by then: a variable of the iteration's own, or of a function that it calls, or of an object made in it, after
    ``serial``.
    """
    changed = _all_written(loop, m.journal.written_since(mark))
    old = m.journal.before(mark)
    own = m.journal.made(mark) if m.dialect.block_scope else ()
    kept = [
        (old.get(key), new)
        for key, (where, _, new) in changed.items()
        if not ages.made_since(where, max(serial, m.kept)) and (key not in own or isinstance(where, Fields))
    ]
    spread = any(varies(new) and not varies(was) for was, new in kept)
    if any(isinstance(v, Shared) for pair in kept for v in pair):
        spread = spread or any(is_shared(was) and _untold(new) for was, new in kept)
    apart = loop.apart or loop.parts or spread
    for key, (where, name, new) in changed.items():
        now = where.get(name)
        if m.dialect.by_value and old.get(key, now) is None and not isinstance(where, Fields):
            continue  # a variable of the iteration's own
        if now is not None and key != loop.told:
            was = old.get(key, now) if isinstance(now, Holding) else now  # of another length it is lost
            m.journal.set(where, name, combine(m, Anything(m, apart), was, now, (new,), name, loop.span, whole=True))


def leave(m: Machine, loop: Recurrence) -> None:
    """After the loop each cell has been changed any number of times, none included."""
    count = some(m, "iterations", ex.NATURAL, loop.parts)
    loop.apart = loop.apart or loop.parts
    for key, c in loop.cells.items():
        if c.before is None:
            continue
        exits = tuple(e[key] for e in loop.exits if key in e)
        total = Sum(m, loop, count)
        value = combine(m, total, c.start, c.before, (*c.afters, *exits), c.name, loop.span)
        m.journal.set(c.where, c.name, value)


def _rehearse(m: Machine, body: Callable[[], object], loop: Recurrence) -> Written:
    mark, loop.serial = m.journal.mark(), next(serials)
    for ways in (loop.ways, loop.exits, loop.left):
        ways.clear()
    m.rehearsals.append((m.made, loop.serial))
    before = len(m.containers)
    try:
        # on the host, steps that leave no facts are what is limited
        with m.recorder.rehearsing(), m.budget.aside() if m.recorder.in_kernel() else nullcontext():
            body()
    finally:
        m.rehearsals.pop()
        loop.own = frozenset(map(id, m.containers[before:]))
        if not m.rehearsals:
            m.containers.clear()
    changed = written(m, mark)
    m.journal.undo(mark)
    ages.drop_gone(m, max(loop.serial, m.kept))
    return changed


def written(m: Machine, mark: int) -> Written:
    """Cells written since the mark, with values that outlive an undo."""
    copies: dict[int, Object] = {}
    return {key: (at, name, snapshot(v, copies)) for key, (at, name, v) in m.journal.written_since(mark).items()}


def _all_written(loop: Recurrence, changed: Written) -> Written:
    """What an iteration wrote, on its way to a ``continue`` or ``break``, too."""
    found = dict(changed)
    for wrote in loop.left:
        for key, cell in wrote.items():
            found.setdefault(key, cell)
    return found


def _made_by(loop: Recurrence, where: dict[Any, Any]) -> bool:
    return isinstance(where, Contents) and id(where.owner) in loop.own


def _refine(m: Machine, loop: Recurrence, changed: Written) -> bool:
    """Sum what the iterations add; True where threads came to differ, so that others may that are computed from it."""
    again = False
    count = loop.count
    for key, c in loop.cells.items():
        if c.spread:
            continue
        before = c.where[c.name]
        after = changed[key][2] if key in changed else before
        afters = (after, *(w[key] for w in loop.ways if key in w))
        if count is None:
            count = loop.count = m.fresh("iteration", ex.NATURAL)
        total = Sum(m, loop, count)
        new = combine(m, total, c.start, before, afters, c.name, loop.span)
        if c.summed and not total.spread:
            continue  # what was said of it holds for whatever the others are
        c.before, c.afters, c.summed, c.spread = before, afters, True, total.spread
        again = again or c.spread
        m.journal.set(c.where, c.name, new)
    return again


def _untold(value: Value) -> bool:
    """A float or flag that is not tracked, of each thread its own."""
    return isinstance(value, Scalar) and value.value is None and not isinstance(value, Shared)


class Anything:
    """``start`` plus any integer, the same in all threads; ``apart``: any integer, of each thread its own."""

    def __init__(self, m: Machine, apart: bool = False) -> None:
        self.m, self.apart = m, apart

    def __call__(self, start: Int, before: Int, afters: Sequence[Int], name: str) -> Int:
        own = self.apart or varies(start)
        if self.apart or is_lost(self.m, as_expr(start)):
            unknown = lost(self.m, name, ex.ANY, own)
        else:
            unknown = self.m.fresh(name)
        self.m.supposed.update(v.name for v in unknown.expr.variables())
        return Dyn(ex.add(as_expr(start), unknown.expr)) if own and not is_lost(self.m, unknown.expr) else unknown

    def untracked(self, start: Scalar, before: Scalar, afters: Sequence[Scalar], name: str) -> Scalar:
        """Of a float or flag that is not tracked."""
        return untracked(self.m, start.ctype, name, not self.apart and all(map(is_shared, (start, before, *afters))))
