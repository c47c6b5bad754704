"""Hierarchical tuples of integers (``cute/int_tuple.hpp``, ``cute/algorithm/tuple_algorithms.hpp``).

Names and results are CuTe's; a tuple is a Python tuple, an integer stands for itself. Template arguments come
after the value: ``get<1,0>(t)`` is ``get(t, 1, 0)``, ``take<1,3>(t)`` is ``take(t, 1, 3)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Union, cast

from cutecheck.model import ints
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, Int, Sym, is_constant
from cutecheck.model.layout import IntTuple
from cutecheck.model.version import cute_version

T = TypeVar("T")
Tree = Union[T, tuple["Tree[T]", ...]]


def is_one(a: object) -> bool:
    """CuTe's ``is_constant<1, A>`` (fast for plain integers)."""
    return a == 1 if type(a) is int else is_constant(1, a)


def is_zero(a: object) -> bool:
    """CuTe's ``is_constant<0, A>`` (fast for plain integers)."""
    return a == 0 if type(a) is int else is_constant(0, a)


def is_static(t: object) -> bool:
    """CuTe's ``is_static``: the value is part of the type, for tuples in every leaf."""
    if isinstance(t, tuple):
        return all(map(is_static, t))
    if isinstance(t, ScaledBasis):
        return not isinstance(t.value, Dyn)
    return not isinstance(t, Dyn)


def integer(a: object) -> Int:
    """``a`` as an integer; CuteError for tuples and basis elements."""
    if isinstance(a, (int, Dyn, Sym)):
        return a
    raise CuteError("an integer is needed here", a)


def wrap(t: IntTuple) -> tuple[IntTuple, ...]:
    """A rank-1 tuple around a non-tuple."""
    return t if isinstance(t, tuple) else (t,)


def unwrap(t: IntTuple) -> IntTuple:
    """Peel rank-1 tuples."""
    while isinstance(t, tuple) and len(t) == 1:
        t = t[0]
    return t


def leaves(t: Any) -> Iterator[Any]:
    """The leaves from left to right."""
    if isinstance(t, tuple):
        for x in t:
            yield from leaves(x)
    else:
        yield t


def flatten_to_tuple(t: Any) -> tuple[Any, ...]:
    if not isinstance(t, tuple):
        return (t,)
    for x in t:
        if type(x) is tuple:
            break
    else:
        return t
    flat: list[Any] = []
    _collect(t, flat)
    return tuple(flat)


def _collect(t: tuple[Any, ...], into: list[Any]) -> None:
    for x in t:
        if type(x) is tuple:
            _collect(x, into)
        else:
            into.append(x)


def flatten(t: Any) -> Any:
    """A tuple of depth one; a non-tuple is left alone."""
    return flatten_to_tuple(t) if isinstance(t, tuple) else t


def unflatten(flat: IntTuple, profile: IntTuple) -> IntTuple:
    """Give a flat tuple the nesting of ``profile``; CuteError when the number of leaves differs."""
    items = list(wrap(flat))
    position = 0

    def build(p: IntTuple) -> IntTuple:
        nonlocal position
        if isinstance(p, tuple):
            return tuple(map(build, p))
        if position >= len(items):
            raise CuteError("unflatten: too few elements for the profile", flat, profile)
        position += 1
        return items[position - 1]

    result = build(profile)
    if position != len(items):
        raise CuteError("unflatten: too many elements for the profile", flat, profile)
    return result


def transform_leaf(t: Any, f: Callable[..., Any], *others: Any) -> Any:
    """Apply ``f`` leaf by leaf; the other tuples must have at least the nesting of the first."""
    if isinstance(t, tuple):
        for o in others:
            if not isinstance(o, tuple) or len(o) != len(t):
                raise CuteError("Mismatched tuple_size", t, o)
        return tuple(transform_leaf(x, f, *(o[i] for o in others)) for i, x in enumerate(t))
    return f(t, *others)


def repeat_like(t: object, x: T) -> Tree[T]:
    """A tuple of ``x`` with the nesting of ``t``."""
    return tuple(repeat_like(a, x) for a in t) if isinstance(t, tuple) else x


def repeat(x: T, n: int) -> T | tuple[T, ...]:
    """``repeat<N>(x)``: N copies, bare for N = 1."""
    return x if n == 1 else (x,) * n


def get(t: Any, *modes: int) -> Any:
    """``get<modes...>(t)``; CuteError out of range."""
    for i in modes:
        if isinstance(t, tuple):
            if not 0 <= i < len(t):
                raise CuteError("Index out of range", i, t)
            t = t[i]
        elif i != 0:
            raise CuteError("Index out of range", i, t)
    return t


def take(t: Any, begin: int, end: int) -> tuple[Any, ...]:
    """``take<B,E>(t)``; -1 as the end means all."""
    items = t if isinstance(t, tuple) else (t,)
    if end == -1:
        end = len(items)
    if not 0 <= begin <= end <= len(items):
        raise CuteError("take: range out of bounds", begin, end, t)
    return items[begin:end]


def select(t: Any, *modes: int) -> tuple[Any, ...]:
    return tuple(get(t, i) for i in modes)


def group(t: Any, begin: int, end: int) -> tuple[Any, ...]:
    """``group<B,E>(t)``: the elements [B, E) become one."""
    items = t if isinstance(t, tuple) else (t,)
    if end == -1:
        end = len(items)
    if not 0 <= begin <= end <= len(items):
        raise CuteError("group: range out of bounds", begin, end, t)
    middle = (items[begin:end],) if begin < end else ()
    return items[:begin] + middle + items[end:]


def append(t: Any, x: Any, rank: int | None = None) -> Any:
    """``append(t, x)``, or ``append<rank>(t, x)``: pad with ``x`` up to that rank."""
    items = t if isinstance(t, tuple) else (t,)
    if rank is None:
        return (*items, x)
    if rank < len(items):
        raise CuteError("append: rank is larger than requested", t, rank)
    return t if rank == len(items) else items + (x,) * (rank - len(items))


def prepend(t: Any, x: Any, rank: int | None = None) -> Any:
    """``prepend(t, x)``, or ``prepend<rank>(t, x)``: pad with ``x`` in front up to that rank."""
    items = t if isinstance(t, tuple) else (t,)
    if rank is None:
        return (x, *items)
    if rank < len(items):
        raise CuteError("prepend: rank is larger than requested", t, rank)
    return t if rank == len(items) else (x,) * (rank - len(items)) + items


def replace(t: Any, index: int, x: Any) -> Any:
    """``replace<N>(t, x)``."""
    if not isinstance(t, tuple):
        if index != 0:
            raise CuteError("replace: index out of range", index, t)
        return x
    if not 0 <= index < len(t):
        raise CuteError("replace: index out of range", index, t)
    return (*t[:index], x, *t[index + 1 :])


def remove(t: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return t[:index] + t[index + 1 :]


def insert(t: tuple[Any, ...], index: int, x: Any) -> tuple[Any, ...]:
    return (*t[:index], x, *t[index:])


def front(t: Any) -> Any:
    """The first leaf."""
    while isinstance(t, tuple):
        t = t[0]
    return t


def back(t: Any) -> Any:
    """The last leaf."""
    while isinstance(t, tuple):
        t = t[-1]
    return t


def reverse(t: Any) -> Any:
    return t[::-1] if isinstance(t, tuple) else t


def zip_tuples(*rows: Any) -> Any:
    """``zip``: ``((a,b),(x,y))`` becomes ``((a,x),(b,y))``; one row of non-tuples is wrapped."""
    t = rows[0] if len(rows) == 1 else rows
    if not isinstance(t, tuple):
        return t
    if not isinstance(t[0], tuple):
        return (t,)
    for row in t:
        if not isinstance(row, tuple) or len(row) != len(t[0]):
            raise CuteError("zip: Mismatched Ranks", t)
    return tuple(zip(*t, strict=True))


def zip2_by(t: Any, guide: Any) -> Any:
    """Gather the pairs at the terminals of ``guide``: ``((A,a),(B,b),c)`` by ``(X,X)`` is ``((A,B),(a,b,c))``."""
    if isinstance(guide, tuple):
        if not isinstance(t, tuple) or len(t) < len(guide):
            raise CuteError("zip2_by: Mismatched ranks", t, guide)
        split = [zip2_by(x, g) for x, g in zip(t, guide, strict=False)]
        return tuple(s[0] for s in split), tuple(s[1] for s in split) + t[len(guide) :]
    if not isinstance(t, tuple) or len(t) != 2:
        raise CuteError("zip2_by: Mismatched ranks", t, guide)
    return t


def tuple_rank(t: object) -> int:
    return len(t) if isinstance(t, tuple) else 1


def tuple_depth(t: object) -> int:
    """0 for an integer; CuteError for an empty tuple, as in CuTe."""
    if not isinstance(t, tuple):
        return 0
    if not t:
        raise CuteError("depth of an empty tuple")
    return 1 + max(map(tuple_depth, t))


def product(t: object) -> Int:
    """The product of the leaves; 1 for an empty tuple."""
    if type(t) is int:
        return t
    if isinstance(t, tuple):
        result: Int = 1
        for x in t:
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
    if type(a) is int and type(b) is int:
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


def basis_like(shape: IntTuple, path: tuple[int, ...] = ()) -> IntTuple:
    """``make_basis_like``: the basis element of every leaf."""
    if isinstance(shape, tuple):
        return tuple(basis_like(s, (*path, i)) for i, s in enumerate(shape))
    return ScaledBasis(1, path)


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
