"""Arithmetic on hierarchical tuples: products, sums, divisions (``cute/int_tuple.hpp``)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, Int, Sym
from cutecheck.model.inttuple.structure import (
    append,
    integer,
    is_static,
    is_zero,
    leaves,
    repeat_like,
    transform_leaf,
    wrap,
)
from cutecheck.model.layout import IntTuple
from cutecheck.model.version import cute_version


def product(t: object) -> Int:
    """The product of the leaves; 1 for an empty tuple."""
    if type(t) is int:
        return t
    if isinstance(t, tuple):
        if not t:
            return 1
        first, *more = t
        result: Int = product(first)
        for x in more:
            result = result * (x if type(x) is int else product(x))
        return result
    return integer(t)


def product_each(t: IntTuple) -> tuple[Int, ...]:
    return tuple(map(product, wrap(t)))


def product_like(t: IntTuple, guide: IntTuple) -> IntTuple:
    """One product for each leaf of ``guide``."""
    return cast(IntTuple, transform_leaf(guide, lambda _g, x: product(x), t))


def sum_leaves(t: IntTuple) -> IntTuple:
    """``sum``: the leaves added up; basis elements give a coordinate."""
    total: IntTuple = 0
    for x in leaves(t):
        total = plus(total, x)
    return total


def as_arithmetic_tuple(t: IntTuple) -> IntTuple:
    """A basis element as a coordinate: ``_3@1`` is ``(_0,_3)``."""
    if not isinstance(t, ScaledBasis):
        return t
    result: IntTuple = t.value
    for i in reversed(t.path):
        result = (*((0,) * i), result)
    return result


def plus(a: IntTuple, b: IntTuple) -> IntTuple:
    """``+`` of integers, basis elements and coordinates (``cute/numeric/arithmetic_tuple.hpp``)."""
    if type(a) is int:
        if type(b) is int:
            return a + b
        if a == 0 and isinstance(b, (ScaledBasis, tuple)):
            return b.value if isinstance(b, ScaledBasis) and not b.path else b
    if type(b) is int and b == 0 and isinstance(a, (ScaledBasis, tuple)):
        return a.value if isinstance(a, ScaledBasis) and not a.path else a
    if isinstance(a, (int, Dyn, Sym)) and isinstance(b, (int, Dyn, Sym)):
        return a + b
    if isinstance(a, ScaledBasis):
        if not a.path and isinstance(b, int):
            return a.value + b
        if isinstance(b, (ScaledBasis, tuple)):
            return plus(as_arithmetic_tuple(a), as_arithmetic_tuple(b))
    if isinstance(b, ScaledBasis):
        if not b.path and isinstance(a, int):
            return a + b.value
        if isinstance(a, tuple):
            return plus(a, as_arithmetic_tuple(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        n = max(len(a), len(b))
        return tuple(plus(x, y) for x, y in zip(append(a, 0, n), append(b, 0, n), strict=True))
    raise CuteError("no sum of an integer and a coordinate", a, b)


def minus(a: IntTuple, b: IntTuple) -> IntTuple:
    """``-`` of integers and coordinates (``cute/numeric/arithmetic_tuple.hpp``)."""
    if isinstance(a, (int, Dyn, Sym)) and isinstance(b, (int, Dyn, Sym)):
        return a - b
    if isinstance(b, int) and b == 0 and isinstance(a, tuple):
        return a
    if isinstance(a, int) and a == 0 and isinstance(b, tuple):
        return tuple(minus(0, x) for x in b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        n = max(len(a), len(b))
        return tuple(minus(x, y) for x, y in zip(append(a, 0, n), append(b, 0, n), strict=True))
    raise CuteError("no difference of an integer and a coordinate", a, b)


def times(a: IntTuple, b: IntTuple) -> Int | ScaledBasis:
    """``*`` of integers and basis elements."""
    if type(a) is int and type(b) is int:
        return a * b
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise CuteError("no product of a tuple", a, b)
    if isinstance(a, ScaledBasis):
        return a * cast(Int, b)
    return b * a if isinstance(b, ScaledBasis) else ints.mul(a, b)


def inner_product(a: IntTuple, b: IntTuple) -> IntTuple:
    """The sum of leafwise products of two congruent tuples."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            raise CuteError("inner_product: Mismatched ranks", a, b)
        total: IntTuple = 0
        for x, y in zip(a, b, strict=True):
            total = plus(total, inner_product(x, y))
        return total
    return times(a, b)


def constant_equal(a: IntTuple, b: IntTuple) -> bool:
    """``is_constant<true, decltype(a == b)>``: both static, and equal."""
    if type(a) in (int, Fraction) and type(b) in (int, Fraction):  # a fraction: of a coordinate of wide elements
        return a == b
    if isinstance(a, ScaledBasis) or isinstance(b, ScaledBasis):
        return (
            isinstance(a, ScaledBasis)
            and isinstance(b, ScaledBasis)
            and a.path == b.path
            and constant_equal(a.value, b.value)
        )
    if isinstance(a, Dyn) or isinstance(b, Dyn) or isinstance(a, tuple) or isinstance(b, tuple):
        return False
    return ints.equal(a, b)


def ceil_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """Rounded-up division: by a tuple per mode (missing modes are 1), by an integer folded over the modes."""
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            if len(a) < len(b):
                raise CuteError("ceil_div: Mismatched ranks", a, b)
            return tuple(ceil_div(x, y) for x, y in zip(a, append(b, 1, len(a)), strict=True))
        result: list[IntTuple] = []
        rest: IntTuple = b
        for x in a:
            result.append(ceil_div(x, rest))
            rest = ceil_div(rest, x)
        return tuple(result)
    if isinstance(b, tuple):
        return ceil_div(a, product(b))
    if isinstance(a, ScaledBasis):
        return ScaledBasis(ints.ceil_div(a.value, integer(b)), a.path)
    return ints.ceil_div(a, integer(b))


def round_up(a: IntTuple, b: IntTuple) -> IntTuple:
    """``a`` rounded up to a multiple of ``b``, per mode for tuples."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) < len(b):
            raise CuteError("round_up: Mismatched ranks", a, b)
        return tuple(round_up(x, y) for x, y in zip(a, append(b, 1, len(a)), strict=True))
    return ints.ceil_div(integer(a), integer(b)) * integer(b)


def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """Division of shapes; CuteError when two static extents do not divide one another."""
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            if len(a) != len(b):
                raise CuteError("shape_div: Mismatched ranks", a, b)
            return tuple(shape_div(x, y) for x, y in zip(a, b, strict=True))
        result: list[IntTuple] = []
        rest: IntTuple = b
        for x in a:
            result.append(shape_div(x, rest))
            rest = shape_div(rest, x)
        return tuple(result)
    if isinstance(b, tuple):
        return shape_div(a, product(b))
    x, y = integer(a), integer(b)
    if cute_version() < (3, 9):
        from cutecheck.model.algebra.legacy import shape_div as shape_div_before_3_9

        return shape_div_before_3_9(x, y)
    if is_static(x) and is_static(y) and not (ints.equal(ints.mod(x, y), 0) or ints.equal(ints.mod(y, x), 0)):
        raise CuteError("shape_div: Divisibility Condition", x, y)
    return ints.ceil_div(x, y)


def elem_scale(a: IntTuple, b: IntTuple) -> IntTuple:
    """Each leaf of ``a`` times the product of what pairs with it in ``b``."""
    if isinstance(a, tuple):
        if not isinstance(b, tuple) or len(a) != len(b):
            raise CuteError("elem_scale: Mismatched tuple_size", a, b)
        return tuple(elem_scale(x, y) for x, y in zip(a, b, strict=True))
    return times(a, product(b))


def filter_zeros_tuple(a: IntTuple, b: IntTuple) -> IntTuple:
    """``b`` with 1 wherever ``a`` has a static 0."""
    if isinstance(a, tuple):
        if not isinstance(b, tuple) or len(a) != len(b):
            raise CuteError("filter_zeros: Mismatched tuple_size", a, b)
        return tuple([filter_zeros_tuple(x, y) for x, y in zip(a, b, strict=True)])
    return cast(IntTuple, repeat_like(b, 1)) if is_zero(a) else b


def exchange_sort(keys: list[Int], values: list[int]) -> list[int]:
    """The values in CuTe's order by key: an exchange sort, which is not stable."""
    pairs = list(zip(keys, values, strict=True))
    for i in range(len(pairs)):
        for j in range(i + 1, len(pairs)):
            if ints.less(pairs[j][0], pairs[i][0]):
                pairs[i], pairs[j] = pairs[j], pairs[i]
    return [v for _, v in pairs]


def _fold_leaves(f: Callable[[Int, Int], Int], items: tuple[Any, ...]) -> Int:
    values = list(leaves(items))
    if not values:
        raise CuteError("no leaves")
    result = integer(values[-1])
    for x in reversed(values[:-1]):
        result = f(integer(x), result)
    return result


def max_leaf(*items: Any) -> Int:
    """``max`` over integers and the leaves of tuples."""
    return _fold_leaves(ints.maximum, items)


def min_leaf(*items: Any) -> Int:
    """``min`` over integers and the leaves of tuples."""
    return _fold_leaves(ints.minimum, items)


def gcd_leaves(*items: Any) -> Int:
    """``gcd`` over integers and the leaves of tuples."""
    return _fold_leaves(ints.gcd, items)
