"""How often the loops of a kernel run that is run pass by pass, and by which numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd, lcm

from cutecheck.model.expr import Expr, Var, atom_expr
from cutecheck.source.eval.record.past import GRID, INDEX

Numbers = dict[str, int]

MEMORY = "*"  # starts the name of a number that was read from global memory
EACH = "[]"  # behind the name of a buffer there: by how much each of its numbers is more than the one before
OUTER = 5  # tiles of a block
_SEEN = 3  # passes after which a loop is taken to go on so
_RELATIONS = ("lt", "le", "gt", "ge", "ne")


@dataclass(slots=True)
class Loop:
    """``asked``: of the longest time that the loop ran, what was asked of run-time numbers before each pass."""

    eventful: bool
    asked: list[list[Expr]] = field(default_factory=list)
    around: bool = False  # another loop whose passes run-time numbers say lies in it
    long: bool = False  # more passes than are run
    scheduled: bool = False  # what its body asks of the grid says whether there is another pass

    def names(self) -> set[str]:
        return {n for one in self.asked for e in one for n in run_time(e)}


class Rounds:
    """The loops of one run, by their nodes' ids."""

    def __init__(self) -> None:
        self.loops: dict[int, Loop] = {}
        self._open: list[tuple[int, list[list[Expr]]]] = []
        self._asking = False
        self._before: list[Expr] = []  # answered in the body, which may say whether there is another pass
        self._in_body = False  # the pass that is asked for has some of these so far, and nothing else
        self.divisors: dict[Var, int] = {}  # what run-time numbers are divided by in conditions

    @contextmanager
    def inside(self, node: int, eventful: bool, scheduled: bool = False) -> Iterator[None]:
        """A loop runs; one that a condition of another has is a part of this."""
        if self._asking and not eventful:
            yield
            return
        loop = self.loops.setdefault(node, Loop(eventful, scheduled=scheduled))
        kept, self._asking = self._asking, False
        before, self._before = self._before, [] if self._in_scheduled() else self._before
        passes: list[list[Expr]] = []
        self._open.append((node, passes))
        try:
            yield
        finally:
            self._open.pop()
            self._asking = kept
            if self._in_scheduled():
                self._before = before
            if len(passes) > len(loop.asked):
                loop.asked = passes
            if eventful and any(run_time(e) for one in passes for e in one):
                for outer, _ in self._open:
                    self.loops[outer].around = True

    @contextmanager
    def asking(self, body: bool = False, node: int = 0) -> Iterator[None]:
        """Whether there is another pass is asked; ``body``: by what the body of this loop has, too."""
        again = body and bool(self._open) and self._open[-1][0] == node  # what the last pass has asked is over
        if self._asking and not again:
            yield
            return
        if self._open:
            self._open[-1][1].append(self._before)
            self._in_body = bool(self._before)
            self._before = []
        kept, self._asking = self._asking, True
        try:
            yield
        finally:
            self._asking = kept or body

    def _in_scheduled(self) -> bool:
        return bool(self._open) and self.loops[self._open[-1][0]].scheduled

    def decided(self, condition: Expr) -> None:
        """A condition of a branch: in a loop over what a scheduler gives it may be whether there is another pass."""
        if not self._asking and self._in_scheduled() and any(v.name.startswith(GRID) for v in condition.variables()):
            self._before.append(condition)

    def asked(self, condition: Expr, divides: bool = True) -> None:
        """``divides``: what its numbers are divided by may say how often a role goes round, as others have to."""
        for v, by in divided(condition) if divides else ():
            self.divisors[v] = lcm(self.divisors.get(v, 1), by)
        if self._asking and self._open:
            passes = self._open[-1][1]
            if passes:
                if self._in_body and any(v.name.startswith(GRID) for v in condition.variables()):
                    passes[-1].clear()  # the loop asks for it itself: what its body compares says nothing of it
                    self._in_body = False
                passes[-1].append(condition)

    def compared(self, condition: Expr) -> None:
        """A comparison that is answered at once, of which a flag may be made that a loop asks for."""
        if self._asking:
            self.asked(condition)
        elif self._open and any(v.name.startswith(GRID) for v in condition.variables()):
            self._before.append(condition)
            self.divisors.update({v: lcm(self.divisors.get(v, 1), by) for v, by in divided(condition)})

    def counted(self, node: int, *conditions: Expr) -> None:
        """A loop that is told how often it runs; the conditions are those before its passes, as far as they differ."""
        loop = self.loops.setdefault(node, Loop(True))
        loop.asked = loop.asked or [[c] for c in conditions]
        if run_time(conditions[0]):
            for outer, _ in self._open:
                self.loops[outer].around = True
            for v, by in divided(conditions[0]):
                self.divisors[v] = lcm(self.divisors.get(v, 1), by)

    def constant(self) -> bool:
        """No number of the run says how often the innermost loop has run so far: each run of it is as long."""
        passes = self._open[-1][1] if self._open else []
        return not any(run_time(e) for one in passes for e in one)

    def coming(self, number: Callable[[Expr], int | None]) -> int:
        """How many passes the innermost loop has yet if it goes on as in the last three; 0 where that is not seen."""
        passes = self._open[-1][1][-_SEEN:] if self._open else []
        if len(passes) < _SEEN or any(len(one) != 1 or not run_time(one[0]) for one in passes):
            return 0
        left = [_left(one[0], number) for one in passes]
        steps = {a - b for a, b in itertools.pairwise(left) if a is not None and b is not None}
        step = steps.pop() if len(steps) == 1 and None not in left else 0
        return (left[-1] or 0) // step if step > 0 else 0

    def enough(self, node: int, passes: int) -> bool:
        """More tiles tell nothing new, each of them having steps of its own."""
        return passes > OUTER + 1 and node in self.loops and self.loops[node].around

    def too_long(self, node: int) -> None:
        at = node if node in self.loops else self._open[-1][0] if self._open else None
        if at is not None:
            self.loops[at].long = True

    def tiles(self) -> int:
        """The most passes of a loop that may go from tile to tile."""
        return max(
            (len(x.asked) - 1 for x in self.loops.values() if x.eventful and (x.around or of_grid(x))), default=0
        )

    def in_turn(self) -> int:
        """The most passes of a loop in which a block goes on by the size of the grid."""
        return max((len(x.asked) - 1 for x in self.loops.values() if x.eventful and of_grid(x)), default=0)

    def names(self) -> frozenset[str]:
        """The numbers that say how often loops with steps run; of memory the buffers."""
        found = {n for x in self.loops.values() if x.eventful for n in x.names() if not n.startswith(GRID)}
        return frozenset(n.partition("[")[0] if n.startswith(MEMORY) else n for n in found)


def _left(condition: Expr, number: Callable[[Expr], int | None]) -> int | None:
    """How far the sides of a comparison are apart."""
    if len(condition.terms) != 1 or len(condition.terms[0][0]) != 1 or condition.terms[0][1] != 1:
        return None
    atom = condition.terms[0][0][0]
    if isinstance(atom, Var) or atom.kind != "opaque" or atom.label not in _RELATIONS or len(atom.args) != 2:
        return None
    sides = [number(e) for e in atom.args]
    return None if sides[0] is None or sides[1] is None else abs(sides[1] - sides[0])


@lru_cache(maxsize=1 << 12)
def divided(e: Expr, by: int = 1) -> tuple[tuple[Var, int], ...]:
    """The run-time numbers of an expression, each with what it is divided by: of ``K / 64 / 2`` it is 128, of
    ``K / 64 * 64 / 64`` it is 64."""
    found: list[tuple[Var, int]] = []
    for monomial, times in e.terms:
        left = by // gcd(by, times)
        for atom in monomial:
            if isinstance(atom, Var):
                if left > 1 and not atom.name.startswith(INDEX):
                    found.append((atom, left))
                continue
            last = constant(atom.args[-1]) if atom.kind in ("div", "shr") else None
            within = left if last is None or last <= 0 else left * (last if atom.kind == "div" else 1 << min(last, 30))
            for a in atom.args:
                found += divided(a, within)
    return tuple(found)


def shares(loops: Iterable[Loop]) -> frozenset[str]:
    """The run-time numbers that others are divided by where loops with steps ask for another pass: of splits, say."""
    return frozenset(n for x in loops if x.eventful for one in x.asked for e in one for n in _alone(e))


def _alone(e: Expr) -> Iterator[str]:
    """Those that stand alone behind a division of a run-time number."""
    for atom in (a for monomial, _ in e.terms for a in monomial if not isinstance(a, Var)):
        by = atom.args[-1].variables() if atom.kind == "div" else ()
        alone = len(by) == 1 and atom.args[-1] == atom_expr(by[0])
        if alone and not by[0].name.startswith((*INDEX, GRID, MEMORY)) and run_time(atom.args[0]) - {by[0].name}:
            yield by[0].name
        for part in atom.args:
            yield from _alone(part)


def constant(e: Expr) -> int | None:
    return None if e.variables() else e.evaluate({})


def run_time(e: Expr) -> set[str]:
    """What an expression is made of that is no index of a thread or block."""
    return {v.name for v in e.variables() if not v.name.startswith(INDEX)}


def of_grid(loop: Loop) -> bool:
    return any(n.startswith(GRID) for n in loop.names())


def agree(runs: Iterable[Rounds]) -> bool:
    """Whether roles cannot run apart: of any two, one asks for no number that the other does not ask for.

    Two numbers that a host passes may go together, the steps of a tile and the extent that they are made of, say.
    """
    sets = sorted({r.names() for r in runs}, key=len)
    return all(a <= b for a, b in itertools.pairwise(sets))
