"""Nesting of hierarchical tuples: leaves, profiles, modes (``cute/int_tuple.hpp``, ``cute/algorithm``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, Union

from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, Dyn, Int, Sym, is_constant
from cutecheck.model.layout import IntTuple

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
    """``select<I...>(t)``. A bare run-time integer has modes 1 and 2, both 1: its ``get`` is that of a ``dim3``."""
    if isinstance(t, Dyn):
        return tuple(Dyn.of(1) if i in (1, 2) else get(t, i) for i in modes)
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
    if not 0 <= index <= len(t):  # one past the end appends
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


def basis_like(shape: IntTuple, path: tuple[int, ...] = ()) -> IntTuple:
    """``make_basis_like``: the basis element of every leaf."""
    if isinstance(shape, tuple):
        return tuple(basis_like(s, (*path, i)) for i, s in enumerate(shape))
    return ScaledBasis(1, path)
