"""What a loop leaves of the values it changes: where they start, and what the iterations add to them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cutecheck.facts import Span
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.expr.ranges import atom_divisor
from cutecheck.model.expr.terms import Atom, Monomial, Op, Var
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.guesses import Guess, changed_numbers, guess, masked, place
from cutecheck.source.eval.statements.joins import cover, hull
from cutecheck.source.eval.statements.numbers import combine, same, snapshot
from cutecheck.source.eval.threads import short, some, varies
from cutecheck.source.eval.values import Object, Value

_REHEARSALS = 5  # more than the chains of conditions on changed values that code has
_PARTS = 8  # of what iterations add, that are told apart
_NUMBER = re.compile(r"[#~](\d+)")
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
    ``parts``: they may leave the loop after different numbers of iterations.
    """

    since: int
    span: Span
    count: Int | None = None
    told: Key | None = None  # the induction variable: what it is in an iteration its loop says
    cells: dict[Key, Changing] = field(default_factory=dict)
    ways: list[dict[Key, Value]] = field(default_factory=list)  # values at each ``continue``
    exits: list[dict[Key, Value]] = field(default_factory=list)  # and at each ``break``
    left: list[Written] = field(default_factory=list)  # what was written on the way to one of them
    apart: bool = False
    parts: bool = False
    env: Env | None = None  # where the loop stands

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


@contextmanager
def recurring(m: Machine, loop: Recurrence | None) -> Iterator[None]:
    """``continue`` and ``break`` belong to this loop (None: to none yet, in the body of a function)."""
    outer, m.loop, breaks, m.breaks = m.loop, loop, m.breaks, None
    try:
        yield
    finally:
        m.loop, m.breaks = outer, breaks


def settle(m: Machine, body: Callable[[], object], loop: Recurrence) -> Written:
    """Set every cell that the loop changes to what it is before any iteration.

    The body is walked without leaving facts until no more cells are found; each is ``start`` plus anything meanwhile,
    the same in all threads. What an iteration adds to it is then summed: ``start + k * step`` where every one adds the
    same, else ``start`` plus some multiple of it, of each thread its own where the step or the way through the body is.
    Where threads came to differ, the body is walked again, for what else is computed from it. What the last of these
    walks wrote is returned.
    """
    changed, guessed = _first(m, body, loop)
    found: list[tuple[dict[str, Any], str, Value, Value]] = []
    for walks in range(_REHEARSALS):
        if walks:
            changed = _rehearse(m, body, loop)
        before = len(found)
        for key, (where, name, new) in _all_written(loop, changed).items():
            old = where.get(name)
            if key not in loop.cells and key != loop.told and old is not None and not same(old, new):
                loop.cells[key] = Changing(where, name, old)
                m.journal.set(where, name, combine(m, Anything(m), old, old, (new,), name, loop.span))
                found.append((where, name, old, new))
        if len(found) == before:
            break
    if found and loop.env is not None:
        m.guesses[loop.span] = (*guessed, *guess(m, loop.env, found, loop.span))
    for _ in range(_REHEARSALS):
        if not _refine(m, loop, changed):
            return changed
        changed = _rehearse(m, body, loop)
    for c in loop.cells.values():
        value = c.where[c.name]
        m.journal.set(c.where, c.name, combine(m, Anything(m, True), value, value, (value,), c.name, loop.span))
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
    return bool(afters) and numbers <= changed_numbers(m, before, before, afters, c.name, loop.span)


def stay(m: Machine, loop: Recurrence, changed: Written) -> None:
    """What an iteration sets that was not set before, for a loop whose last rehearsal stands for its walk."""
    for key, (where, name, value) in changed.items():
        if key not in loop.cells and key != loop.told and where.get(name) is None:
            m.journal.set(where, name, value)


def walked_once(m: Machine, loop: Recurrence, mark: int) -> None:
    """After one walk of a loop inside a rehearsal: what it changed is anything.

    A value that came to differ from thread to thread may in a later iteration be in all the others.
    """
    changed = _all_written(loop, m.journal.written_since(mark))
    old = m.journal.before(mark)
    spread = any(varies(new) and not varies(old.get(key)) for key, (_, _, new) in changed.items())
    apart = loop.apart or loop.parts or spread
    for where, name, new in changed.values():
        if where.get(name) is not None and (id(where), name) != loop.told:
            now = where[name]
            m.journal.set(where, name, combine(m, Anything(m, apart), now, now, (new,), name, loop.span, whole=True))


def leave(m: Machine, loop: Recurrence) -> None:
    """After the loop each cell has been changed any number of times, none included."""
    count = some(m, "iterations", ex.NATURAL, loop.parts)
    loop.apart = loop.apart or loop.parts
    for key, c in loop.cells.items():
        if c.before is None:
            continue
        exits = tuple(e[key] for e in loop.exits if key in e)
        total = _Sum(m, loop, count)
        value = combine(m, total, c.start, c.before, (*c.afters, *exits), c.name, loop.span)
        m.journal.set(c.where, c.name, value)


def _rehearse(m: Machine, body: Callable[[], object], loop: Recurrence) -> Written:
    mark = m.journal.mark()
    for ways in (loop.ways, loop.exits, loop.left):
        ways.clear()
    # on the host, steps that leave no facts are what is limited
    with m.recorder.rehearsing(), m.budget.aside() if m.recorder.in_kernel() else nullcontext():
        body()
    changed = written(m, mark)
    m.journal.undo(mark)
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
        total = _Sum(m, loop, count)
        new = combine(m, total, c.start, before, afters, c.name, loop.span)
        if c.summed and not total.spread:
            continue  # what was said of it holds for whatever the others are
        c.before, c.afters, c.summed, c.spread = before, afters, True, total.spread
        again = again or c.spread
        m.journal.set(c.where, c.name, new)
    return again


class Anything:
    """``start`` plus any integer, the same in all threads; ``apart``: any integer, of each thread its own."""

    def __init__(self, m: Machine, apart: bool = False) -> None:
        self.m, self.apart = m, apart

    def __call__(self, start: Int, before: Int, afters: Sequence[Int], name: str) -> Int:
        unknown = some(self.m, name, ex.ANY, self.apart)
        self.m.supposed.update(v.name for v in unknown.expr.variables())
        return Dyn(ex.add(as_expr(start), unknown.expr)) if varies(start) and not self.apart else unknown


@dataclass(slots=True)
class _Part:
    """What steps have in common: one loop-invariant factor, and what it is multiplied with in each."""

    factors: list[int]
    rest: bool = False  # in some step with a factor that is no constant
    divisor: int = 0
    varying: bool = False


class _Sum:
    """The value before an iteration, of one integer. ``spread``: the distance of one from its start varies."""

    def __init__(self, m: Machine, loop: Recurrence, count: Int) -> None:
        self.m, self.loop, self.count = m, loop, count
        self.spread = False

    def __call__(self, start: Int, before: Int, afters: Sequence[Int], name: str) -> Int:
        first, old = as_expr(start), as_expr(before)
        news = [as_expr(a) for a in afters]
        if all(new == old for new in news):
            return before
        lost = next((v for v in map(self._placeholder, news) if v is not None and self._anything(v)), None)
        if lost is not None:
            apart = self.loop.apart or varies(ex.atom_expr(lost))
            if apart or not varies(first):  # any number in some iteration, so before any other as well
                self.spread = self.spread or apart
                return some(self.m, name, ex.ANY, apart)
        found = self._total(first, old, news, name, self.loop.apart)
        if varies(ex.sub(as_expr(found), first)):
            self.spread = True
            found = self._total(first, old, news, name, True)
        return short(self.m, found, name)

    def _total(self, first: Expr, old: Expr, news: list[Expr], name: str, apart: bool) -> Int:
        known = self._placeholder(old)
        if known is not None and known.name not in {v.name for v in first.variables()}:  # from its start on
            old = ex.add(first, ex.var(known.name))
            news = [new.substitute({known.name: old}) for new in news]
        anything = self._placeholder(ex.sub(old, first))
        others = {n for n in news if n not in (first, old)}
        if anything is not None and old not in news and len(others) <= 1 and all(map(self._all_old, others)):
            return self._either(first, others, name)
        steps = [ex.sub(new, old) for new in news]
        each = anything is None or not any(_mentions(s, anything) for s in steps)
        if anything is not None:
            taken = [_without(ex.sub(new, first), anything) for new in news]
            steps = [t[0] for t in taken]
            apart = apart or any(varies(t[1]) for t in taken)
            rising = all(t[1] in (ex.const(0), ex.const(1)) for t in taken)
        else:
            rising = True
        parts = self._parts(steps)
        linear = {k for k, p in parts.items() if each and not p.rest and len(set(p.factors)) == 1}
        if len(linear) < len(parts) and not (apart or varies(first) or any(map(varies, news))):
            within = hull(first, *(o for o in others))
            most = math.gcd(*(math.gcd(p.divisor, *p.factors) for p in parts.values()))
            if all(not shared for shared in parts) and (most <= within.step or None not in (within.lo, within.hi)):
                return self.m.fresh(name, within)
        if len(parts) > _PARTS:
            return self._some_multiple(first, parts, name, apart)
        total: dict[Monomial, int] = dict(first.terms)  # in one piece: sums of many parts are not made part by part
        for shared, part in parts.items():
            inside = ex.const(1)
            for atom in shared:
                inside = ex.mul(inside, ex.atom_expr(atom))
            if shared in linear:
                times = ex.mul(ex.const(part.factors[0]), as_expr(self.count))
            else:
                grows = rising and not part.rest and min(part.factors) >= 0
                unit = some(self.m, name, ex.NATURAL if grows else ex.ANY, apart or part.varying)
                times = ex.mul(ex.const(math.gcd(part.divisor, *part.factors)), unit.expr)
            for monomial, factor in ex.mul(inside, times).terms:
                total[monomial] = total.get(monomial, 0) + factor
        return Dyn(build(total))

    def _some_multiple(self, first: Expr, parts: dict[Monomial, _Part], name: str, apart: bool) -> Int:
        """From the start by a multiple of what divides all parts of the steps."""
        step = 0
        for shared, part in parts.items():
            each = math.gcd(part.divisor, *part.factors) * math.prod(map(atom_divisor, shared))
            step = math.gcd(step, each)
            apart = apart or part.varying or any(varies(ex.atom_expr(a)) for a in shared)
        return Dyn(ex.add(first, ex.mul(ex.const(step), some(self.m, name, ex.ANY, apart).expr)))

    def _anything(self, v: Var) -> bool:
        """Not known at all, and not only until the loop is settled."""
        return v.domain == ex.ANY and v.name not in self.m.supposed

    def _placeholder(self, distance: Expr) -> Var | None:
        """The variable that stands for what is not known yet of the distance from the start."""
        atom = distance.terms[0][0][0] if len(distance.terms) == 1 and distance.terms[0][0] else None
        alone = isinstance(atom, Var) and distance == ex.atom_expr(atom)
        return atom if alone and isinstance(atom, Var) and not self._invariant(atom) else None

    def _either(self, first: Expr, others: set[Expr], name: str) -> Int:
        """Every iteration sets the same value: it is that, or in the first iteration the start."""
        for other in others:
            return cover(self.m, _number(first), _number(other), name, self.loop.span, False, self.loop.apart)
        return _number(first)

    def _parts(self, steps: list[Expr]) -> dict[Monomial, _Part]:
        parts: dict[Monomial, _Part] = {}
        for i, step in enumerate(steps):
            for monomial, factor in step.terms:
                kept = [self._invariant(a) for a in monomial]
                shared = tuple(a for a, old in zip(monomial, kept, strict=True) if old)
                part = parts.setdefault(shared, _Part([0] * len(steps)))
                rest = tuple(a for a, old in zip(monomial, kept, strict=True) if not old)
                if not rest:
                    part.factors[i] += factor
                    continue
                part.rest = True
                alone = build({rest: factor})
                part.divisor = math.gcd(part.divisor, ex.divisor(alone))
                part.varying = part.varying or varies(alone)
        return parts

    def _invariant(self, atom: Atom) -> bool:
        """Made before the loop."""
        if isinstance(atom, Var):
            return self._old(atom.name)
        assert isinstance(atom, Op)
        return self._old(atom.label) and all(self._invariant(v) for a in atom.args for v in a.variables())

    def _all_old(self, e: Expr) -> bool:
        return all(self._invariant(v) for v in e.variables())

    def _old(self, name: str) -> bool:
        return _newest(name) < self.loop.since


@lru_cache(maxsize=1 << 14)
def _newest(name: str) -> float:
    """The number of the last variable that one is named after, -1 if it has none; without end if it stands for any."""
    return math.inf if "~?" in name else max((int(n) for n in _NUMBER.findall(name)), default=-1)


def _mentions(e: Expr, v: Var) -> bool:
    return any(v.name == other.name for other in e.variables())


def _number(e: Expr) -> Int:
    return Dyn(e) if e.constant is None else e.constant


def _without(e: Expr, v: Var) -> tuple[Expr, Expr]:
    """The terms that the variable is no factor of, and the others divided by it."""
    rest: dict[Monomial, int] = {}
    taken: dict[Monomial, int] = {}
    for monomial, factor in e.terms:
        if v in monomial:
            at = monomial.index(v)
            taken[monomial[:at] + monomial[at + 1 :]] = factor
        else:
            rest[monomial] = factor
    return build(rest), build(taken)
