"""What is known of every value of an expression: a common divisor, a range."""

from __future__ import annotations

import math
from functools import lru_cache, reduce

from cutecheck.model.expr.terms import Atom, Expr, Var


@lru_cache(maxsize=1 << 16)
def divisor(a: Expr) -> int:
    """A number that divides every value of the expression (0 for the constant 0)."""
    return reduce(math.gcd, (c * math.prod(map(atom_divisor, m)) for m, c in a.terms), 0)


def atom_divisor(atom: Atom) -> int:
    if isinstance(atom, Var):
        return atom.domain.divisor()
    if atom.kind in ("min", "max", "mod"):
        return math.gcd(*(divisor(a) for a in atom.args)) or 1
    if atom.kind in ("and", "or", "xor"):  # low zero bits: of either side, or of both
        low = [d & -d if (d := divisor(a)) else 1 << 62 for a in atom.args]
        return max(low) if atom.kind == "and" else min(low)
    if atom.kind == "div" and (n := atom.args[1].constant):
        d = divisor(atom.args[0])
        return max(1, d // abs(n)) if d % n == 0 else 1
    return 1


Interval = tuple[int | None, int | None]


@lru_cache(maxsize=1 << 16)
def bounds(a: Expr) -> Interval:
    """A range that holds every value of the expression; None is unbounded."""
    lo: int | None = 0
    hi: int | None = 0
    for monomial, factor in a.terms:
        part: Interval = (factor, factor)
        for atom in monomial:
            part = _times(part, _atom_bounds(atom))
        lo = None if lo is None or part[0] is None else lo + part[0]
        hi = None if hi is None or part[1] is None else hi + part[1]
    return lo, hi


def _times(x: Interval, y: Interval) -> Interval:
    inf = math.inf
    xs = (-inf if x[0] is None else x[0], inf if x[1] is None else x[1])
    ys = (-inf if y[0] is None else y[0], inf if y[1] is None else y[1])
    products = [0 if p == 0 or q == 0 else p * q for p in xs for q in ys]
    lo, hi = min(products), max(products)
    return (None if lo == -inf else int(lo), None if hi == inf else int(hi))


def _atom_bounds(atom: Atom) -> Interval:
    if isinstance(atom, Var):
        return atom.domain.bounds()
    ranges = [bounds(a) for a in atom.args]
    first_nonneg = bool(ranges) and ranges[0][0] is not None and ranges[0][0] >= 0
    if atom.kind == "abs":
        return 0, None
    if atom.kind in ("min", "max"):
        pick = min if atom.kind == "min" else max
        los, his = [r[0] for r in ranges], [r[1] for r in ranges]
        known_lo = [v for v in los if v is not None]
        known_hi = [v for v in his if v is not None]
        if atom.kind == "min":
            return (pick(known_lo) if len(known_lo) == len(los) else None), (pick(known_hi) if known_hi else None)
        return (pick(known_lo) if known_lo else None), (pick(known_hi) if len(known_hi) == len(his) else None)
    if atom.kind in ("div", "mod") and first_nonneg:
        n_lo, n_hi = ranges[1]
        if n_lo is not None and n_lo > 0:
            top = ranges[0][1]
            if atom.kind == "div":
                bottom = 0 if n_hi is None else (ranges[0][0] or 0) // n_hi
                return bottom, None if top is None else top // n_lo
            limits = [v for v in (top, None if n_hi is None else n_hi - 1) if v is not None]
            return 0, min(limits) if limits else None
    if atom.kind == "and":  # one argument of no sign clears the sign of the other
        tops = [r[1] for r in ranges if r[0] is not None and r[0] >= 0]
        known = [t for t in tops if t is not None]
        return (0 if tops else None), (min(known) if known else None)
    if atom.kind in ("or", "xor", "shr") and all(r[0] is not None and r[0] >= 0 for r in ranges):
        tops = [r[1] for r in ranges]
        if atom.kind in ("or", "xor") and tops[0] is not None and tops[1] is not None:
            return 0, ((1 << max(tops[0].bit_length(), tops[1].bit_length())) - 1) & -atom_divisor(atom)
        return 0, tops[0] if atom.kind == "shr" else None
    return None, None


def at_least(a: Expr, limit: int) -> bool:
    lo, _ = bounds(a)
    return lo is not None and lo >= limit
