"""Conditions over expressions, and what decides them: ranges, divisors, hypotheses. Never a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from enum import Enum
from typing import TypeVar

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.records import record

_Result = TypeVar("_Result")


class Rel(Enum):
    """Relations a condition can state between two expressions."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    DIVIDES = "divides"  # lhs divides rhs


@record(frozen=True, slots=True)
class Condition:
    rel: Rel
    lhs: Expr
    rhs: Expr

    def __str__(self) -> str:
        if self.rel is Rel.DIVIDES:
            number = f"({self.rhs})" if len(self.rhs.terms) > 1 else f"{self.rhs}"
            return f"{number} % {self.lhs} == 0"
        return f"{self.lhs} {self.rel.value} {self.rhs}"


@record(frozen=True, slots=True)
class Undecided:
    """The answer depends on the open parameters named in the condition."""

    condition: Condition


class UndecidedError(Exception):
    """Raised by :func:`truth`; the evaluator splits a finite domain or reports Unknown(condition)."""

    def __init__(self, condition: Condition) -> None:
        super().__init__(f"depends on {condition}")
        self.condition = condition


_HYPOTHESES: ContextVar[tuple[Condition, ...]] = ContextVar("hypotheses", default=())


def hypotheses_in_force() -> tuple[Condition, ...]:
    """The conditions that decisions take as given here."""
    return _HYPOTHESES.get()


def assuming(conditions: Sequence[Condition], run: Callable[[], _Result]) -> _Result:
    """What ``run`` gives with conditions as hypotheses for every decision in it."""
    if not conditions:
        return run()
    token = _HYPOTHESES.set(_HYPOTHESES.get() + tuple(conditions))
    try:
        return run()
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
        if lo == hi == 0:
            return rel is Rel.EQ
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
