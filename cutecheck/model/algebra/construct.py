"""Making layouts: compact strides, orders, concatenation (``cute/layout.hpp``, ``cute/stride.hpp``)."""

from __future__ import annotations

from typing import Any, TypeAlias, Union, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.composed import compose3
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Major, Swizzle

LayoutLeft = GenColMajor = Major.LEFT
LayoutRight = GenRowMajor = Major.RIGHT

Order: TypeAlias = Union[IntTuple, Major]


def stack(layouts: list[Layout]) -> Layout:
    """``make_layout(l0, l1, ...)``: one mode for each layout."""
    return Layout(tuple([x.shape for x in layouts]), tuple([x.stride for x in layouts]))


def _compact_left(shape: IntTuple, current: Int) -> tuple[IntTuple, Int]:
    if isinstance(shape, tuple):
        strides = []
        for s in shape:
            stride, current = _compact_left(s, current)
            strides.append(stride)
        return tuple(strides), current
    if it.is_one(shape):
        return 0, current
    return current, current * cast(Int, shape)


def _compact_right(shape: IntTuple, current: Int) -> tuple[IntTuple, Int]:
    if isinstance(shape, tuple):
        strides = []
        for s in reversed(shape):
            stride, current = _compact_right(s, current)
            strides.append(stride)
        return tuple(reversed(strides)), current
    if it.is_one(shape):
        return 0, current
    return current, current * cast(Int, shape)


def compact_major(shape: IntTuple, current: IntTuple = 1, major: Major = Major.LEFT) -> IntTuple:
    """Strides of a compact layout; static extents 1 get stride 0.

    ``current`` is the first stride (a tuple: one for each mode).
    """
    if isinstance(current, tuple):
        if not isinstance(shape, tuple) or len(shape) != len(current):
            raise CuteError("compact_major: Mismatched Ranks", shape, current)
        return tuple(compact_major(s, c, major) for s, c in zip(shape, current, strict=True))
    compact = _compact_left if major is Major.LEFT else _compact_right
    return compact(shape, it.integer(current))[0]


def compact_col_major(shape: IntTuple, current: IntTuple = 1) -> IntTuple:
    return compact_major(shape, current, Major.LEFT)


def compact_row_major(shape: IntTuple, current: IntTuple = 1) -> IntTuple:
    return compact_major(shape, current, Major.RIGHT)


def compact_order(shape: IntTuple, order: Order) -> IntTuple:
    """Compact strides in the order of ``order``'s static values; run-time ones come last, from left to right."""
    if isinstance(order, Major):
        return compact_major(shape, 1, order)
    extents = it.flatten_to_tuple(it.product_like(shape, order))
    flat_order = it.flatten_to_tuple(order)
    largest: Int = 0
    for o in flat_order:
        static = it.integer(o)
        if not isinstance(static, Dyn) and ints.less(largest, static):
            largest = static
    keys = [largest + 1 + i if isinstance(o, Dyn) else o for i, o in enumerate(flat_order)]

    def strides(s: IntTuple, o: IntTuple) -> IntTuple:
        if isinstance(o, tuple):
            if not isinstance(s, tuple) or len(s) != len(o):
                raise CuteError("compact_order: Need equal rank of shape and order", s, o)
            return tuple(strides(x, y) for x, y in zip(s, o, strict=True))
        start: Int = 1
        for extent, key in zip(extents, keys, strict=True):
            if ints.less(key, it.integer(o)):
                start = start * extent
        return compact_major(s, start)

    return strides(shape, it.unflatten(tuple(keys), order) if isinstance(order, tuple) else keys[0])


def make_layout(*args: Any) -> AnyLayout:
    """``make_layout``: a shape (column major), shape and stride, shape and ``LayoutLeft/Right``, layouts, a swizzle."""
    first = args[0]
    if isinstance(first, Layout):
        for other in args:
            if not isinstance(other, Layout):
                raise CuteError("make_layout: no overload for these arguments", *args)
        return stack(list(args))
    if isinstance(first, Swizzle) and len(args) == 1:
        return compose3(first, 0, Layout(first.base + first.bits + abs(first.shift), 1))
    if isinstance(first, (ComposedLayout, Swizzle)) or len(args) > 2:
        raise CuteError("make_layout: no overload for these arguments", *args)
    if len(args) == 1:
        return Layout(first, compact_major(first))
    if isinstance(args[1], Major):
        return Layout(first, compact_major(first, 1, args[1]))
    return Layout(first, args[1])


def make_ordered_layout(shape: IntTuple, order: Order) -> Layout:
    """A compact layout whose strides follow ``order``."""
    return Layout(shape, compact_order(shape, order))


def make_layout_like(layout: Layout) -> Layout:
    """Compact, same shape, strides in the order of the layout's; static stride 0 stays 0."""
    if not isinstance(layout, Layout):
        raise CuteError("make_layout_like: no overload for this argument", layout)
    return Layout(layout.shape, compact_order(it.filter_zeros_tuple(layout.stride, layout.shape), layout.stride))


def make_fragment_like(layout: AnyLayout | IntTuple) -> Layout:
    """A register layout: mode 0 column major with stride 1, the others in the order of their strides."""
    from cutecheck.model.algebra.product import tiled_product

    if isinstance(layout, ComposedLayout):
        if not isinstance(layout.a, Swizzle):
            raise CuteError("make_fragment_like: no overload for this argument", layout)
        return make_fragment_like(cast(AnyLayout, layout.b))
    if not isinstance(layout, Layout):
        return Layout(layout, compact_major(layout))
    shape, stride = layout.shape, layout.stride
    if not isinstance(shape, tuple) or len(shape) < 2 or not it.is_static(shape):
        return Layout(shape, compact_major(shape))
    stride = it.wrap(stride)
    first = Layout(shape[0], compact_major(it.filter_zeros_tuple(stride[0], shape[0])))
    return cast(Layout, tiled_product(first, make_ordered_layout(shape[1:], stride[1:])))


def make_identity_layout(shape: IntTuple) -> Layout:
    """The layout that maps a coordinate to itself."""
    return Layout(shape, it.basis_like(shape))
