"""After how many passes of a loop an offset is what it was: that of a stage, ``i % stages``, whatever ends the loop."""

from __future__ import annotations

import math
from collections.abc import Iterable

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.expr.terms import Op, Var

MOST = 1024  # more is no stage


def period(expressions: Iterable[Expr], v: Var) -> int | None:
    """The least number that every ``n`` may grow by, ``n`` a value of ``v``, with all the expressions what they were.

    None where the variable is used otherwise than under remainders by constants, of what is not negative: those of C++
    turn there.
    """
    found = [_of(e, v, whole=False) for e in expressions]
    total = math.lcm(v.domain.divisor(), *(f for f in found if f is not None))
    return None if None in found or total > MOST else total


def _of(e: Expr, v: Var, *, whole: bool) -> int | None:
    """That of one expression; ``whole``: it stands under a remainder, so that the variable itself may."""
    total = 1
    for atom in {atom for monomial, _ in e.terms for atom in monomial}:
        one = _atom(atom, v, whole=whole)
        if one is None:
            return None
        total = math.lcm(total, one)
    return total


def _atom(atom: Var | Op, v: Var, *, whole: bool) -> int | None:
    if isinstance(atom, Var):
        return 1 if atom.name != v.name or whole else None
    if not any(v.name == other.name for a in atom.args for other in a.variables()):
        return 1
    if atom.kind == "mod" and (by := atom.args[1].constant) is not None and by > 0:
        inner = _of(atom.args[0], v, whole=True) if ex.at_least(atom.args[0], 0) else None
        return None if inner is None else math.lcm(inner, by)
    found = [_of(a, v, whole=False) for a in atom.args]
    return None if None in found else math.lcm(*(f for f in found if f is not None))
