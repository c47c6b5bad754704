"""Comparisons of shapes (``cute/int_tuple.hpp``). UndecidedError where the answer depends on open values."""

from __future__ import annotations

from typing import Any

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.complement import complement
from cutecheck.model.algebra.structure import rank, shape, size
from cutecheck.model.layout import ComposedLayout, Layout


def congruent(a: Any, b: Any) -> bool:
    """The same nesting."""
    return bool(it.repeat_like(shape(a), 0) == it.repeat_like(shape(b), 0))


def weakly_congruent(a: Any, b: Any) -> bool:
    """The nesting of ``b`` refines that of ``a``."""
    a, b = shape(a), shape(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def compatible(a: Any, b: Any) -> bool:
    """Every coordinate of ``a`` is one of ``b``, and the sizes agree."""
    a, b = shape(a), shape(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(compatible, a, b))
    return ints.equal(it.integer(a), it.product(b))


def weakly_compatible(a: Any, b: Any) -> bool:
    """The nesting of ``b`` refines that of ``a``, and each extent of ``a`` divides the size it meets."""
    a, b = shape(a), shape(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_compatible, a, b))
    return ints.divides(it.integer(a), it.product(b))


def evenly_divides(a: Any, tiler: Any) -> bool:
    """The tiler splits the shape without remainder."""
    if isinstance(tiler, tuple):
        if len(tiler) > rank(a):
            return False
        parts = shape(a) if isinstance(shape(a), tuple) else (shape(a),)
        return all(evenly_divides(x, t) for x, t in zip(parts, tiler, strict=False))
    if isinstance(tiler, (Layout, ComposedLayout)):
        rest: Any = complement(tiler, shape(a)).shape
    else:
        rest = it.ceil_div(shape(a), tiler)
    return ints.equal(size(a), size(tiler) * it.product(rest))


def lex_less(a: Any, b: Any) -> bool:
    """Lexicographic order of coordinates."""
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return ints.less(it.integer(a), it.integer(b))
    for x, y in zip(a, b, strict=False):
        if lex_less(x, y):
            return True
        if not equal(x, y):
            return False
    return len(a) < len(b)


def colex_less(a: Any, b: Any) -> bool:
    """Colexicographic order of coordinates."""
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return ints.less(it.integer(a), it.integer(b))
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if colex_less(x, y):
            return True
        if not equal(x, y):
            return False
    return len(a) < len(b)


def elem_less(a: Any, b: Any) -> bool:
    """Every element of ``a`` is less than its partner in ``b``: a predicate in bounds."""
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return ints.less(it.integer(a), it.integer(b))
    pairs = list(map(elem_less, a, b))  # every pair must compile, whatever the others say
    return len(a) <= len(b) and all(pairs)


def equal(a: Any, b: Any) -> bool:
    """Leafwise equality of tuples."""
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(equal, a, b))
    return ints.equal(it.integer(a), it.integer(b))
