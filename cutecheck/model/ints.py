"""Integers as CuTe's type system sees them, and the decisions taken over them.

* ``int``  — a static integer: ``Int<8>``, printed ``_8``.
* :class:`Dyn` — a run-time integer: ``8`` or ``lda``; never part of a type.
* :class:`Sym` — a static integer whose value is not bound (an open template parameter).

Arithmetic of the three follows ``cute/numeric/integral_constant.hpp``: static with static
stays static, anything with run-time is run-time, except for the absorbing forms
(``_0 * n`` is ``_0``, ``_0 / n`` is ``_0``, ``n % _1`` is ``_0``).

Comparisons go through :func:`decide`; code that needs a branch uses :func:`truth`, which
raises :class:`UndecidedError` where the answer depends on an open parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, Union

from cutecheck.model import expr as ex
from cutecheck.model.expr import ANY, Domain, Expr


class _Arithmetic:
    """Operators shared by Dyn and Sym; results fold to ``int`` where they are static numbers."""

    __slots__ = ()

    def __add__(self, other: Int) -> Int:
        return _combine(ex.add, self, other)

    def __radd__(self, other: Int) -> Int:
        return _combine(ex.add, other, self)

    def __sub__(self, other: Int) -> Int:
        return _combine(ex.sub, self, other)

    def __rsub__(self, other: Int) -> Int:
        return _combine(ex.sub, other, self)

    def __neg__(self) -> Int:
        return _combine(ex.sub, 0, self)

    def __mul__(self, other: Int) -> Int:
        return mul(self, other)  # type: ignore[arg-type]

    def __rmul__(self, other: Int) -> Int:
        return mul(other, self)  # type: ignore[arg-type]

    def __floordiv__(self, other: Int) -> Int:
        return div(self, other)  # type: ignore[arg-type]

    def __rfloordiv__(self, other: Int) -> Int:
        return div(other, self)  # type: ignore[arg-type]

    def __mod__(self, other: Int) -> Int:
        return mod(self, other)  # type: ignore[arg-type]

    def __rmod__(self, other: Int) -> Int:
        return mod(other, self)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        raise TypeError("a run-time or symbolic integer has no truth value; use decide() or truth()")


@dataclass(frozen=True, slots=True)
class Dyn(_Arithmetic):
    """A run-time integer. A known value (``8`` in the source) is a constant expression that stays run-time."""

    expr: Expr

    @staticmethod
    def of(value: int) -> Dyn:
        return Dyn(ex.const(value))

    @staticmethod
    def named(name: str, domain: Domain = ANY) -> Dyn:
        return Dyn(ex.var(name, domain))

    @property
    def value(self) -> int | None:
        return self.expr.constant

    def __str__(self) -> str:
        return str(self.expr)


@dataclass(frozen=True, slots=True)
class Sym(_Arithmetic):
    """A static integer that nothing in the tree binds; printed by its expression."""

    expr: Expr

    @staticmethod
    def named(name: str, domain: Domain = ANY) -> Sym:
        return Sym(ex.var(name, domain))

    def __str__(self) -> str:
        return str(self.expr)


Int: TypeAlias = Union[int, Dyn, Sym]


def is_static(a: Int) -> bool:
    """True where CuTe's ``is_static`` holds: the value is part of the type."""
    return not isinstance(a, Dyn)


def as_expr(a: Int) -> Expr:
    return ex.const(a) if isinstance(a, int) else a.expr


def known_value(a: Int) -> int | None:
    """The number behind a static or run-time integer, None when open."""
    return a if isinstance(a, int) else a.expr.constant


def wrap(e: Expr, dynamic: bool) -> Int:
    if dynamic:
        return Dyn(e)
    number = e.constant
    return Sym(e) if number is None else number


def _combine(function: object, *args: object) -> Int:
    exprs = [as_expr(a) for a in args]  # type: ignore[arg-type]
    return wrap(function(*exprs), any(isinstance(a, Dyn) for a in args))  # type: ignore[operator]


def apply_op(kind: ex.OpKind, *args: Int) -> Int:
    """A non-polynomial operation on static or run-time integers (C++ truncation for div and mod)."""
    return wrap(ex.op(kind, *map(as_expr, args)), any(isinstance(a, Dyn) for a in args))


def mul(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0):
        return 0
    return _combine(ex.mul, a, b)


def div(a: Int, b: Int) -> Int:
    if isinstance(a, int) and (a == 0 or isinstance(b, int)):
        return 0 if a == 0 else ex.trunc_div(a, b)  # type: ignore[arg-type]
    return apply_op("div", a, b)


def mod(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return ex.trunc_mod(a, b)
    if isinstance(b, int) and b in (1, -1):
        return 0
    return apply_op("mod", a, b)


def minimum(a: Int, b: Int) -> Int:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else apply_op("min", a, b)


def maximum(a: Int, b: Int) -> Int:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else apply_op("max", a, b)


def ceil_div(a: Int, b: Int) -> Int:
    return div(a + b - 1, b)


def absolute(a: Int) -> Int:
    return abs(a) if isinstance(a, int) else apply_op("abs", a)


class Rel(Enum):
    """Relations a condition can state between two expressions."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    DIVIDES = "divides"  # lhs divides rhs


@dataclass(frozen=True, slots=True)
class Condition:
    rel: Rel
    lhs: Expr
    rhs: Expr

    def __str__(self) -> str:
        if self.rel is Rel.DIVIDES:
            return f"{self.rhs} % {self.lhs} == 0"
        return f"{self.lhs} {self.rel.value} {self.rhs}"


@dataclass(frozen=True, slots=True)
class Undecided:
    """The answer depends on the open parameters named in the condition."""

    condition: Condition


class UndecidedError(Exception):
    """Raised by :func:`truth`; the evaluator splits a finite domain or reports Unknown(condition)."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(f"depends on {condition}")
        self.condition = condition


_HYPOTHESES: ContextVar[tuple[Condition, ...]] = ContextVar("hypotheses", default=())


@contextmanager
def assuming(conditions: Sequence[Condition]) -> Iterator[None]:
    """Take conditions as hypotheses for every decision inside the block."""
    token = _HYPOTHESES.set(_HYPOTHESES.get() + tuple(conditions))
    try:
        yield
    finally:
        _HYPOTHESES.reset(token)


def decide(condition: Condition, hypotheses: Sequence[Condition] = ()) -> bool | Undecided:
    """Decide a condition from ranges, divisors and the hypotheses; never guesses."""
    known = (*hypotheses, *_HYPOTHESES.get())
    if condition in known:
        return True
    difference = ex.sub(condition.rhs, condition.lhs)
    lo, hi = ex.bounds(difference)
    number = difference.constant
    rel = condition.rel
    if rel in (Rel.EQ, Rel.NE):
        opposite = Condition(Rel.NE if rel is Rel.EQ else Rel.EQ, condition.lhs, condition.rhs)
        if opposite in known:
            return False
        if number is not None:
            return (number == 0) == (rel is Rel.EQ)
        if (lo is not None and lo > 0) or (hi is not None and hi < 0):
            return rel is Rel.NE
        constant_term = next((c for m, c in difference.terms if not m), 0)
        rest = ex.divisor(ex.sub(difference, ex.const(constant_term)))
        if rest > 1 and constant_term % rest:
            return rel is Rel.NE
    elif rel in (Rel.LT, Rel.LE):
        need = 1 if rel is Rel.LT else 0
        if lo is not None and lo >= need:
            return True
        if hi is not None and hi < need:
            return False
    else:
        n = condition.lhs.constant
        if n is not None and n != 0:
            value = condition.rhs.constant
            if value is not None:
                return value % n == 0
            if ex.divisor(condition.rhs) % n == 0:
                return True
            if ex.op("mod", condition.rhs, ex.const(n)).constant == 0:
                return True
            for fact in known:
                if fact.rel is Rel.DIVIDES and fact.rhs == condition.rhs:
                    m = fact.lhs.constant
                    if m is not None and m % n == 0:
                        return True
    return Undecided(condition)


def truth(rel: Rel, a: Int, b: Int) -> bool:
    """The answer of ``a rel b``; UndecidedError where it depends on open parameters."""
    if isinstance(a, int) and isinstance(b, int):
        if rel is Rel.EQ:
            return a == b
        if rel is Rel.NE:
            return a != b
        if rel is Rel.LT:
            return a < b
        if rel is Rel.LE:
            return a <= b
        return a != 0 and b % a == 0
    answer = decide(Condition(rel, as_expr(a), as_expr(b)))
    if isinstance(answer, Undecided):
        raise UndecidedError(answer.condition)
    return answer


def equal(a: Int, b: Int) -> bool:
    return truth(Rel.EQ, a, b)


def less(a: Int, b: Int) -> bool:
    return truth(Rel.LT, a, b)


def less_equal(a: Int, b: Int) -> bool:
    return truth(Rel.LE, a, b)


def divides(a: Int, b: Int) -> bool:
    """True when a divides b."""
    return truth(Rel.DIVIDES, a, b)


def is_constant(number: int, a: object) -> bool:
    """CuTe's ``is_constant<number, A>``: a static integer of that value; run-time integers never are."""
    if isinstance(a, int):
        return a == number
    return isinstance(a, Sym) and equal(a, number)
