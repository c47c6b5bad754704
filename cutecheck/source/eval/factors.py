"""What is left of numbers that are too long to be told: the open numbers that they are sums of multiples of."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.threads import some, varies

_MOST = 8  # numbers that a value is said to be a sum of multiples of
_LONGEST = 64  # terms of a run-time number; twice what kernels have, and loops in loops multiply them without end
_LARGEST = 256  # with those of the operations in it


def short(m: Machine, number: Int, name: str) -> Int:
    """The number itself, or one of which less is known where its expression is longer than any that proofs can use.

    What divides it and whether threads differ in it is kept, and where a few strides make it what it is, these are.
    """
    if not isinstance(number, (Dyn, Sym)) or not _long(number.expr):
        return number
    split = by_factors(m, name, (number.expr,), False)
    if split is None or _long(split[1][0]):
        step = ex.divisor(number.expr)
        return some(m, name, Domain(step=step) if step > 1 else ex.ANY, varies(number))
    total, (rest,) = split
    return Dyn(ex.add(total, rest))


def by_factors(m: Machine, name: str, values: Sequence[Expr], varying: bool) -> tuple[Expr, tuple[Expr, ...]] | None:
    """A sum ``stride * x + other_stride * y``, ``x`` and ``y`` any integers, and what it leaves of each value.

    An address that one of two conditions gives is the sum of a few strides, each times what is long to tell. That
    strides are multiples of a vector is all that its alignment asks. None where no open number is in the values.
    ``varying``: which value it is may differ from thread to thread.
    """
    left = [dict(e.terms) for e in values]
    total = ex.const(0)
    for _ in range(_MOST):
        counts = Counter(v for terms in left for monomial in terms for v in {*monomial} if _open(v))
        if not counts:
            break
        factor = max(counts, key=lambda v: ("#" not in str(v), counts[v], str(v)))
        taken = [(mono, terms.pop(mono)) for terms in left for mono in tuple(terms) if factor in mono]
        own = varying or any(varies(build({monomial: 1})) for monomial, _ in taken)
        times = some(m, name, Domain(step=math.gcd(*(count for _, count in taken))), own).expr
        total = ex.add(total, ex.mul(ex.atom_expr(factor), times))
    return (total, tuple(map(build, left))) if total.terms else None


def _open(atom: object) -> bool:
    """Whether it is a number of all threads without a lower or upper bound of its own, as a stride or an extent."""
    if not isinstance(atom, Var) or atom.domain.values is not None or None not in (atom.domain.lo, atom.domain.hi):
        return False
    return not varies(ex.atom_expr(atom))


def _long(e: Expr) -> bool:
    return len(e.terms) > _LONGEST or _size(e) > _LARGEST


@lru_cache(maxsize=1 << 16)
def _size(e: Expr) -> int:
    """Terms, with those of the operations in them."""
    inside = (a for monomial, _ in e.terms for atom in monomial if isinstance(atom, Op) for a in atom.args)
    return len(e.terms) + sum(map(_size, inside))
