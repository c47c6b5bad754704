"""Divisors and lower bounds of expressions, for the normal-form engine."""

from __future__ import annotations

import math

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr


def natural(e: Expr) -> bool:
    low, _ = ex.bounds(e)
    return low is not None and low >= 0


def lowered(e: Expr) -> Expr:
    """A lower bound without quotients: ``n * (a / n) >= a - (n - 1)``, in products of naturals."""
    total = ex.const(0)
    for monomial, factor in e.terms:
        product, left = ex.const(1), factor
        for atom in monomial:
            n = atom.args[1].constant if isinstance(atom, ex.Op) and atom.kind == "div" else None
            bound = ex.sub(atom.args[0], ex.const(n - 1)) if isinstance(atom, ex.Op) and n is not None else None
            if n is None or bound is None or n <= 0 or left % n or not natural(bound):
                product = ex.mul(product, ex.atom_expr(atom))
            else:
                product, left = ex.mul(product, bound), left // n
        whole = factor > 0 and all(natural(ex.atom_expr(a)) for a in monomial)
        total = ex.add(total, ex.mul(product, ex.const(left)) if whole else Expr(((monomial, factor),)))
    return total


def grain(e: Expr) -> int:
    """A number that divides every value (0 for 0): like ``expr.divisor``, and through bit operations."""
    return math.gcd(*(c * math.prod(map(_atom_grain, m)) for m, c in e.terms))


def _atom_grain(atom: ex.Atom) -> int:
    if isinstance(atom, ex.Var):
        return atom.domain.divisor()
    parts = [grain(a) for a in atom.args]
    low = [p & -p for p in parts]  # largest power of two in each; 0 for 0
    if atom.kind == "and":
        return 0 if 0 in low else max(low)
    if atom.kind in ("or", "xor"):
        return min((x for x in low if x), default=0)
    if atom.kind in ("min", "max", "mod"):
        return math.gcd(*parts)
    n = atom.args[1].constant if len(atom.args) > 1 else None
    if atom.kind == "div" and n is not None and n > 0 and parts[0] % n == 0:
        return parts[0] // n
    return 1


def short(e: Expr) -> str:
    text = str(e)
    return text if len(text) <= 100 else f"an offset of {len(e.terms)} terms"
