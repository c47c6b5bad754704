"""Functions of numbers: CuTe's and the standard library's."""

from __future__ import annotations

import math

from cutecheck.facts import Unknown
from cutecheck.model import ints
from cutecheck.model.constants import constant_of, is_foreign, truth_constant, type_of_constant
from cutecheck.model.integers import common_type
from cutecheck.model.ints import CuteError, Dyn, Sym
from cutecheck.model.inttuple import leaves
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.values import Closure, Object, Scalar, ScalarType, Value, constant


@function("min", "max")
def _min_max(c: Call) -> Value:
    """Of numbers, of all in CuTe's tuples, or of a braced list."""
    if any(isinstance(v, (Closure, Object)) for given in c.raw for v in leaves(given)):
        return _by_comparison(c)
    f = ints.minimum if c.name == "min" else ints.maximum
    value, *more = (c.m.dialect.from_model(v) for given in c.raw for v in leaves(given))
    for given in more:
        value, other = c.m.dialect.alike(value, given)
        a, b = (v.value if isinstance(v, Scalar) else v for v in (value, other))
        if not isinstance(a, (int, Dyn, Sym)) or not isinstance(b, (int, Dyn, Sym)):
            return Scalar(None, "float")
        found = f(a, b)
        scalar = next((v for v in (value, other) if isinstance(v, Scalar)), None)
        value = found if scalar is None else Scalar(found, scalar.ctype)
    return c.m.dialect.cast(c.targs[0], value, c.span) if c.targs and isinstance(c.targs[0], ScalarType) else value


def _by_comparison(c: Call) -> Value:
    """Of objects, or by a function that compares: ``std::max(a, b, less)``."""
    from cutecheck.source.eval import calls

    *given, less = c.raw
    if not given or not isinstance(less, Closure):
        return Unknown(f"{c.name} of objects by their own comparison", c.span)
    best, *more = leaves(tuple(given))
    for other in more:
        pair = [other, best] if c.name == "min" else [best, other]
        known = c.m.dialect.truth(calls.apply(c.m, less, pair, {}, c.span))
        if known is None:
            return Unknown(f"which the {c.name} is", c.span)
        best = other if known else best
    return best


@function("abs")
def _abs(c: Call) -> Value:
    v = c.arg(0)
    return ints.absolute(v) if isinstance(v, (int, Dyn, Sym)) else Scalar(None, "float")


@function("log_2", "log2_up", "log2_down", "bit_width", "find_log2")
def _log2(c: Call) -> Value:
    n = constant(c.arg(0))
    if n == 0 and c.name == "bit_width":
        return Scalar(0, "int")
    if n is None or n <= 0:
        return Unknown(f"{c.name} of a number that is not known", c.span)
    value = {"bit_width": n.bit_length(), "log2_up": (n - 1).bit_length()}.get(c.name, n.bit_length() - 1)
    return value if isinstance(c.raw[0], int) else Scalar(value, "int")


@function("gcd", "lcm")
def _gcd(c: Call) -> Value:
    a, b = constant(c.arg(0)), constant(c.arg(1))
    if a is None or b is None:
        return c.m.fresh(c.name)
    value = math.gcd(a, b) if c.name == "gcd" else math.lcm(a, b)
    one, other = (v.ctype if isinstance(v, Scalar) else type_of_constant(v) for v in c.raw[:2])
    if isinstance(c.raw[0], int) and isinstance(c.raw[1], int):
        return constant_of(value, common_type(one, other))
    return Scalar(value, common_type(one, other))


@function("safe_div", "shiftl", "shiftr")
def _by_operator(c: Call) -> Value:
    """CuTe's names for operators; a shift by a negative number goes the other way."""
    a, b = c.raw[:2]
    if c.name == "safe_div":
        rest = c.m.dialect.binary("%", a, b, c.span)
        if isinstance(a, int) and isinstance(b, int) and c.m.dialect.truth(rest):
            raise CuteError("Static safe_div requires t % u == 0", a, b)
        return c.m.dialect.binary("/", a, b, c.span)
    count = constant(b)
    if count is None or count < 0:
        raise Unsupported("a shift by this number")
    return c.m.dialect.binary("<<" if c.name == "shiftl" else ">>", a, b, c.span)


@function("has_single_bit", "is_pow2", "ispow2")
def _single_bit(c: Call) -> Value:
    n = constant(c.arg(0))
    known = None if n is None else int(n > 0 and n & (n - 1) == 0)
    static = known is not None and isinstance(c.raw[0], int) and not is_foreign(c.raw[0])
    return truth_constant(known) if static else Scalar(known, "bool")
