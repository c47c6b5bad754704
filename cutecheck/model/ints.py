"""Integers as CuTe's type system sees them, and the decisions taken over them.

* ``int``  — a static integer: ``Int<8>``, printed ``_8``.
* :class:`Dyn` — a run-time integer: ``8`` or ``lda``; never part of a type.
* :class:`Sym` — a static integer whose value is not bound (an open template parameter).

Arithmetic of the three follows ``cute/numeric/integral_constant.hpp``: static with static
stays static, anything with run-time is run-time, except for the absorbing forms
(``_0 * n``, ``_0 / n``, ``_0 % n``, ``n % _1``, ``n % _-1`` and ``n & _0`` are ``_0``).

Comparisons go through :func:`decide`; code that needs a branch uses :func:`truth`, which
raises :class:`UndecidedError` where the answer depends on an open parameter. What CuTe does
not compile (a static assertion, a missing overload, a static division by zero) is a
:class:`CuteError`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias, Union, cast

from cutecheck.model import expr as ex
from cutecheck.model.conditions import Condition, Rel, Undecided, UndecidedError, assuming, decide, hypotheses_in_force
from cutecheck.model.expr import ANY, Domain, Expr
from cutecheck.records import record


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
        return mul(cast("Int", self), other)

    def __rmul__(self, other: Int) -> Int:
        return mul(other, cast("Int", self))

    def __floordiv__(self, other: Int) -> Int:
        return div(cast("Int", self), other)

    def __rfloordiv__(self, other: Int) -> Int:
        return div(other, cast("Int", self))

    def __mod__(self, other: Int) -> Int:
        return mod(cast("Int", self), other)

    def __rmod__(self, other: Int) -> Int:
        return mod(other, cast("Int", self))

    def __bool__(self) -> bool:
        raise TypeError("a run-time or symbolic integer has no truth value; use decide() or truth()")


@record(frozen=True, slots=True)
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


class Typed(Dyn):
    """A run-time integer of another type than ``int``, as it was put into a tuple or computed; equal to one without."""

    __slots__ = ("ctype",)
    ctype: str

    def __init__(self, expr: Expr, ctype: str) -> None:
        super().__init__(expr)
        object.__setattr__(self, "ctype", ctype)

    def __eq__(self, other: object) -> bool:
        return self.expr == other.expr if isinstance(other, Dyn) else NotImplemented

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[type[Dyn], tuple[Expr]]:
        return Dyn, (self.expr,)  # facts say nothing of it


@record(frozen=True, slots=True)
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
    if isinstance(a, int):
        return ex.const(int(a))
    if not isinstance(a, (Dyn, Sym)) and isinstance(a, Fraction):
        # the stride of a TMA tensor whose elements are wider than the descriptor's
        raise NotModelledError(f"integer arithmetic on the fraction {a}")
    return a.expr


def known_value(a: Int) -> int | None:
    """The number behind a static or run-time integer, None when open."""
    return a if isinstance(a, int) else a.expr.constant


def wrap(e: Expr, dynamic: bool) -> Int:
    if dynamic:
        return Dyn(e)
    number = e.constant
    return Sym(e) if number is None else number


def _combine(function: Callable[[Expr, Expr], Expr], a: Any, b: Any) -> Int:
    made = wrap(function(as_expr(a), as_expr(b)), isinstance(a, Dyn) or isinstance(b, Dyn))
    return _typed(made, (a, b)) if type(a) is Typed or type(b) is Typed else made


def apply_op(kind: ex.OpKind, *args: Int) -> Int:
    """A non-polynomial operation on static or run-time integers (C++ truncation for div and mod)."""
    made = wrap(ex.op(kind, *map(as_expr, args)), any(isinstance(a, Dyn) for a in args))
    return _typed(made, args[:1] if kind in ("shl", "shr") else args) if Typed in map(type, args) else made


def _typed(made: Int, args: tuple[object, ...]) -> Int:
    """A number that is computed of these has the type that they have in common, unless that is ``int``."""
    from cutecheck.model.integers import common_type, wrapped

    if not isinstance(made, Dyn):
        return made
    ctype = "int"
    for a in args:
        ctype = common_type(ctype, a.ctype if isinstance(a, Typed) else "int")
    number = made.value
    if not keeps_type(ctype, made.expr):
        return made
    return Typed(made.expr if number is None else ex.const(wrapped(number, ctype)), ctype)


def keeps_type(ctype: str, expr: Expr) -> bool:
    """Of whose type is kept account; a wide one without sign that is not known is taken for an ``int``."""
    from cutecheck.model.integers import INTEGERS

    if ctype == "int" or ctype not in INTEGERS:
        return False
    bits, signed = INTEGERS[ctype]
    return signed or bits < INTEGERS["int"][0] or expr.constant is not None


class CuteError(Exception):
    """CuTe does not compile this.

    ``condition`` is the gist of its static assertion, ``operands`` the values at fault.
    """

    def __init__(self, condition: str, *operands: object) -> None:
        super().__init__(condition, *operands)
        self.condition = condition
        self.operands = operands

    def __str__(self) -> str:
        from cutecheck.model.layout import text

        # A number stands for itself; everything else is shown as CuTe prints it.
        shown = ", ".join(str(o) if isinstance(o, int) else text(o) for o in self.operands)
        return f"{self.condition}: {shown}" if shown else self.condition


class NotModelledError(Exception):
    """CuTe may well compile this; what it gives is not modelled here, and nothing follows from that.

    Never a refusal of CuTe's: those are :class:`CuteError`.
    """


def _absorbs(a: Int, b: Int) -> bool:
    """CuTe's special case of a static zero against a run-time integer; ``a`` static, ``b`` run-time."""
    return isinstance(b, Dyn) and not isinstance(a, Dyn) and is_constant(0, a)


def mul(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if _absorbs(a, b) or _absorbs(b, a):
        return 0
    return _combine(ex.mul, a, b)


def div(a: Int, b: Int) -> Int:
    """C++ ``a / b``; CuteError on a static division by zero."""
    if isinstance(b, int):
        if isinstance(a, int):
            if a >= 0 < b:
                return a // b
            if b == 0:
                raise CuteError("static division by zero", a)
            return ex.trunc_div(a, b)
    elif _absorbs(a, b):
        return 0
    return apply_op("div", a, b)


def mod(a: Int, b: Int) -> Int:
    """C++ ``a % b``; CuteError on a static division by zero."""
    if isinstance(b, int):
        if isinstance(a, int):
            if a >= 0 < b:
                return a % b
            if b == 0:
                raise CuteError("static division by zero", a)
            return ex.trunc_mod(a, b)
        if b in (1, -1):
            return 0
    elif isinstance(b, Sym) and isinstance(a, Dyn):
        if is_constant(1, b) or is_constant(-1, b):
            return 0
    elif _absorbs(a, b):
        return 0
    return apply_op("mod", a, b)


def minimum(a: Int, b: Int) -> Int:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else apply_op("min", a, b)


def maximum(a: Int, b: Int) -> Int:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else apply_op("max", a, b)


def ceil_div(a: Int, b: Int) -> Int:
    """CuTe's ``(a + b - 1) / b``, which rounds up for non-negative operands only."""
    if isinstance(a, int) and isinstance(b, int) and a >= 0 < b:
        return -(-a // b)
    return div(a + b - 1, b)


def absolute(a: Int) -> Int:
    return abs(a) if isinstance(a, int) else apply_op("abs", a)


def signum(a: Int) -> Int:
    """-1, 0 or 1; static exactly when ``a`` is."""
    if isinstance(a, int):
        return (a > 0) - (a < 0)
    return apply_op("max", apply_op("min", a, 1), -1)


def gcd(a: Int, b: Int) -> Int:
    """CuTe's Euclid with truncating remainders: the sign of a negative operand can survive."""
    x, y = known_value(a), known_value(b)
    if x is None or y is None:
        return wrap(ex.op("opaque", as_expr(a), as_expr(b), label="gcd"), isinstance(a, Dyn) or isinstance(b, Dyn))
    while True:
        if x == 0:
            result = y
            break
        y = ex.trunc_mod(y, x)
        if y == 0:
            result = x
            break
        x = ex.trunc_mod(x, y)
    return Dyn.of(result) if isinstance(a, Dyn) or isinstance(b, Dyn) else result


def bit_and(a: Int, b: Int) -> Int:
    if isinstance(a, int) and isinstance(b, int):
        return a & b
    return 0 if _absorbs(a, b) or _absorbs(b, a) else apply_op("and", a, b)


def bit_or(a: Int, b: Int) -> Int:
    return a | b if isinstance(a, int) and isinstance(b, int) else apply_op("or", a, b)


def bit_xor(a: Int, b: Int) -> Int:
    return a ^ b if isinstance(a, int) and isinstance(b, int) else apply_op("xor", a, b)


def shift_right(a: Int, count: int) -> Int:
    """``a >> count``; a negative count shifts left, as CuTe's ``shiftr`` does."""
    if isinstance(a, int):
        return a >> count if count >= 0 else a << -count
    return apply_op("shr", a, count) if count >= 0 else apply_op("shl", a, -count)


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


__all__ = [
    "Condition",
    "CuteError",
    "Dyn",
    "Int",
    "NotModelledError",
    "Rel",
    "Sym",
    "Undecided",
    "UndecidedError",
    "absolute",
    "apply_op",
    "as_expr",
    "assuming",
    "bit_and",
    "bit_or",
    "bit_xor",
    "ceil_div",
    "decide",
    "div",
    "divides",
    "equal",
    "gcd",
    "hypotheses_in_force",
    "is_constant",
    "is_static",
    "keeps_type",
    "known_value",
    "less",
    "less_equal",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "shift_right",
    "signum",
    "truth",
    "wrap",
]
