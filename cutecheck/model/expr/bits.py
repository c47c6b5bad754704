"""Which bits a value may have: sums of parts that share none carry nowhere, so that a swizzle sees each part alone."""

from __future__ import annotations

from functools import reduce

from cutecheck.model.expr.ranges import bounds, divisor
from cutecheck.model.expr.terms import Atom, Expr, Monomial, Op, Var


def possible_bits(e: Expr) -> int:
    """A mask, in two's complement, with every bit that some value of the expression has."""
    found = 0
    for monomial, factor in e.terms:
        found = joined(found, _term(monomial, factor))
    return found


def joined(a: int, b: int) -> int:
    """The mask of a sum of two values: of both where they share no bit, else all from the lowest on."""
    return a | b if not a & b else _from_lowest(a | b)


def _from_lowest(mask: int) -> int:
    return -(mask & -mask)


def _term(monomial: Monomial, factor: int) -> int:
    if not monomial:
        return factor
    if len(monomial) == 1 and factor > 0 and not factor & (factor - 1):
        return _atom(monomial[0]) * factor
    return _range(Expr(((monomial, factor),)))


def _range(e: Expr) -> int:
    """By the bounds and divisor alone."""
    lo, hi = bounds(e)
    step = divisor(e)
    low = _from_lowest(step) if step else 0
    return low if lo is None or lo < 0 or hi is None else low & ((1 << hi.bit_length()) - 1)


def _atom(atom: Atom) -> int:
    whole = Expr((((atom,), 1),))
    if isinstance(atom, Var):
        if atom.domain.values is not None:
            return reduce(int.__or__, atom.domain.values, 0)
        return _range(whole)
    assert isinstance(atom, Op)
    if atom.kind in ("and", "or", "xor"):
        a, b = (possible_bits(x) for x in atom.args)
        return a & b if atom.kind == "and" else a | b
    n = atom.args[1].constant if len(atom.args) == 2 else None
    low = bounds(atom.args[0])[0] if atom.args else None
    if n is not None and n > 0 and not n & (n - 1) and low is not None and low >= 0:
        if atom.kind == "mod":
            return possible_bits(atom.args[0]) & (n - 1)
        if atom.kind == "div":
            return possible_bits(atom.args[0]) // n
    return _range(whole)
