"""right_inverse and left_inverse (``cute/layout.hpp``, ``cute/swizzle_layout.hpp``)."""

from __future__ import annotations

from typing import Any

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import legacy
from cutecheck.model.algebra.complement import complement
from cutecheck.model.algebra.compose import composition
from cutecheck.model.algebra.construct import stack
from cutecheck.model.algebra.simplify import coalesce_layout
from cutecheck.model.basis import Underscore
from cutecheck.model.composed import compose3, is_static_zero
from cutecheck.model.ints import CuteError, Dyn, Int, Sym
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.version import cute_version


def _sortable(stride: Any) -> int | Sym:
    """A static stride as a sort key."""
    if not isinstance(stride, (int, Sym)):
        raise CuteError("an inverse sorts static integral strides", stride)
    return stride


def _prefix_products(shapes: tuple[Any, ...]) -> list[Int]:
    result: list[Int] = [1]
    for s in shapes:
        result.append(s * result[-1])
    return result


def right_inverse(layout: Any) -> Any:
    """``R`` with ``layout(R(i)) == i`` for every ``i < size(R)``; run-time strides end it."""
    if isinstance(layout, (Underscore, Swizzle)):
        return layout
    if isinstance(layout, ComposedLayout):
        return _invert_composed(layout, right_inverse)
    if not isinstance(layout, Layout):
        return _negative(layout)
    if cute_version() < (3, 9):
        return legacy.right_inverse(layout)
    plain = coalesce_layout(layout)
    shapes, strides = it.wrap(plain.shape), it.wrap(plain.stride)
    before = _prefix_products(shapes)
    static = [i for i, d in enumerate(strides) if it.is_static(d)]
    order = static if len(static) < 2 else it.exchange_sort([_sortable(strides[i]) for i in static], static)
    new_shape: list[Any] = [1]
    new_stride: list[Any] = [0]
    current: Any = 1
    for i in order:
        if it.constant_equal(strides[i], current):
            new_shape.append(shapes[i])
            new_stride.append(before[i])
            current = it.times(shapes[i], strides[i])
    return coalesce_layout(Layout(tuple(new_shape), tuple(new_stride)))


def left_inverse(layout: Any) -> Any:
    """``L`` with ``layout(L(layout(i))) == layout(i)``.

    CuteError for run-time strides and for strides that do not divide.
    """
    if isinstance(layout, (Underscore, Swizzle)):
        return layout
    if isinstance(layout, ComposedLayout):
        return _invert_composed(layout, left_inverse)
    if not isinstance(layout, Layout):
        return _negative(layout)
    if cute_version() < (3, 9):
        return legacy.right_inverse(stack([layout, complement(layout)]))
    plain = coalesce_layout(layout)
    shapes, strides = it.wrap(plain.shape), it.wrap(plain.stride)
    before = _prefix_products(shapes)
    if not it.is_static(strides):
        raise CuteError("Left inverse requires static strides", layout)
    keys: list[Int] = [_sortable(d) for d in strides] if len(strides) > 1 else [0]
    order = it.exchange_sort(keys, list(range(len(strides))))
    new_shape: list[Any] = []
    new_stride: list[Any] = [0]
    for i in order:
        d = strides[i]
        if it.is_zero(d):
            continue
        reached = it.product(tuple(new_shape))
        d = it.integer(d)
        if not ints.equal(ints.mod(d, reached), 0):
            raise CuteError("Left inverse divisibility condition", d, reached)
        new_shape.append(ints.div(d, reached))
        new_stride.append(before[i])
    return coalesce_layout(Layout((*new_shape, shapes[order[-1]]), tuple(new_stride)))


def _invert_composed(layout: ComposedLayout, invert: Any) -> Any:
    if isinstance(layout.a, Swizzle) and is_static_zero(layout.offset):
        return composition(invert(layout.b), layout.a)
    if isinstance(layout.offset, Dyn):
        raise CuteError("no inverse of a run-time offset is found where CuTe looks for it", layout)
    return compose3(invert(layout.b), invert(layout.offset), invert(layout.a))


def _negative(offset: Any) -> Int:
    if isinstance(offset, (int, Dyn, Sym)):
        return -offset
    kind = (
        "a pointer flag"
        if isinstance(offset, SmemPtrFlag)
        else "mixed bits"
        if isinstance(offset, MixedBits)
        else offset
    )
    raise CuteError("no inverse of this offset", kind)
