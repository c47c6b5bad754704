"""What the iterations of a loop add to one integer."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.expr.ranges import atom_divisor
from cutecheck.model.expr.terms import Atom, Monomial, Op, Var
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.source.eval.factors import short
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.statements.joins import cover, hull
from cutecheck.source.eval.threads import is_lost, is_shared, lost, some, untracked, varies, within
from cutecheck.source.eval.values import Scalar

if TYPE_CHECKING:
    from cutecheck.source.eval.statements.recurrences import Recurrence

_PARTS = 8  # of what iterations add, that are told apart
_NUMBER = re.compile(r"[#~](\d+)")


@dataclass(slots=True)
class _Part:
    """What steps have in common: one loop-invariant factor, and what it is multiplied with in each."""

    factors: list[int]
    rest: bool = False  # in some step with a factor that is no constant
    divisor: int = 0
    varying: bool = False


class Sum:
    """The value before an iteration, of one integer. ``spread``: the distance of one from its start varies."""

    def __init__(self, m: Machine, loop: Recurrence, count: Int) -> None:
        self.m, self.loop, self.count = m, loop, count
        self.spread = False

    def __call__(self, start: Int, before: Int, afters: Sequence[Int], name: str) -> Int:
        first, old = as_expr(start), as_expr(before)
        news = [as_expr(a) for a in afters]
        if all(new == old for new in news):
            return before
        placeholders = [v for v in map(self._placeholder, news) if v is not None]
        if is_lost(self.m, first) or any(self.m.is_lost(v.name) for v in placeholders):
            # any number of its type, from the start or the next iteration on
            apart = self.loop.apart or any(map(varies, (first, old, *news)))
            self.spread = self.spread or (apart and not (varies(old) and is_lost(self.m, old)))
            return lost(self.m, name, hull(first, *news), apart)
        if any(map(self._anything, placeholders)):
            apart = self.loop.apart or any(map(varies, (old, *news)))
            if apart or not varies(first):  # any number in some iteration, so before any other as well
                self.spread = self.spread or apart
                return lost(self.m, name, ex.ANY, apart)
        found = self._total(first, old, news, name, self.loop.apart)
        if varies(ex.sub(as_expr(found), first)):
            self.spread = True
            found = self._total(first, old, news, name, True)
        return short(self.m, found, name)

    def untracked(self, start: Scalar, before: Scalar, afters: Sequence[Scalar], name: str) -> Scalar:
        """Of a float or flag that is not tracked: whether it is one for all threads."""
        shared = not self.loop.apart and all(map(is_shared, (start, before, *afters)))
        self.spread = self.spread or (is_shared(before) and not shared)
        return untracked(self.m, start.ctype, name, shared)

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
            found = hull(first, *others)
            most = math.gcd(*(math.gcd(p.divisor, *p.factors) for p in parts.values()))
            if all(not shared for shared in parts) and (most <= found.step or None not in (found.lo, found.hi)):
                return self.m.fresh(within(name, first, *others), found)
        if len(parts) > _PARTS:
            return self._some_multiple(first, parts, name, apart)
        alike = not varies(first) and not any(p.varying or _vary(shared) for shared, p in parts.items())
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
                by = math.gcd(part.divisor, *part.factors)
                if not shared and by == 1 and not grows and (apart or part.varying or alike):
                    return unit  # with any number that is added it is any number
                times = ex.mul(ex.const(by), unit.expr)
            for monomial, factor in ex.mul(inside, times).terms:
                total[monomial] = total.get(monomial, 0) + factor
        return Dyn(build(total))

    def _some_multiple(self, first: Expr, parts: dict[Monomial, _Part], name: str, apart: bool) -> Int:
        """From the start by a multiple of what divides all parts of the steps."""
        step = 0
        for shared, part in parts.items():
            each = math.gcd(part.divisor, *part.factors) * math.prod(map(atom_divisor, shared))
            step = math.gcd(step, each)
            apart = apart or part.varying or _vary(shared)
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


def _vary(shared: Monomial) -> bool:
    return any(varies(ex.atom_expr(a)) for a in shared)


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
