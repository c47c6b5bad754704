"""Looking at layouts and rearranging their modes.

Template arguments follow the value: ``size<0>(l)`` is ``size(l, 0)``.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.construct import stack
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.composed import compose3, on_domain
from cutecheck.model.ints import CuteError, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Swizzle

L = TypeVar("L", bound="AnyLayout | IntTuple")


def shape(x: Any, *modes: int) -> Any:
    """The shape of a layout or of one of its modes; a shape is its own shape, a tiler of layouts has theirs."""
    if isinstance(x, (Layout, ComposedLayout)):
        return it.get(x.shape, *modes)
    return _extents(it.get(x, *modes))


def _extents(x: Any) -> Any:
    if isinstance(x, (Layout, ComposedLayout)):
        return x.shape
    if type(x) is tuple and any(isinstance(v, (tuple, Layout, ComposedLayout)) for v in x):
        return tuple(map(_extents, x))
    return x


def stride(layout: Layout, *modes: int) -> Any:
    if not isinstance(layout, Layout):
        raise CuteError("a composed layout has no strides", layout)
    return it.get(layout.stride, *modes)


def size(x: Any, *modes: int) -> Int:
    """The number of elements of a layout, a shape, or one of its modes."""
    part = it.get(x.shape if isinstance(x, (Layout, ComposedLayout)) else x, *modes)
    return it.product(part.shape if isinstance(part, (Layout, ComposedLayout)) else part)


def rank(x: Any, *modes: int) -> int:
    """The number of modes."""
    return it.tuple_rank(shape(x, *modes))


def depth(x: Any, *modes: int) -> int:
    """The nesting depth; CuteError for an empty tuple."""
    return it.tuple_depth(shape(x, *modes))


def coshape(layout: AnyLayout, *modes: int) -> IntTuple:
    """The smallest shape that holds every value of the layout (with the strides' absolute values)."""
    if not isinstance(layout, Layout):
        raise CuteError("coshape: no overload for this argument", layout)
    less_one = it.transform_leaf(it.get(layout.shape, *modes), lambda s: s - 1)
    distances = it.transform_leaf(it.get(layout.stride, *modes), _absolute)
    last = it.as_arithmetic_tuple(it.inner_product(less_one, distances))
    return cast(IntTuple, it.transform_leaf(last, lambda c: c + 1))


def _absolute(d: Int | ScaledBasis) -> Int | ScaledBasis:
    return ScaledBasis(ints.absolute(d.value), d.path) if isinstance(d, ScaledBasis) else ints.absolute(d)


def cosize(layout: AnyLayout, *modes: int) -> Int:
    """The size of the codomain: one more than the last offset (of ``b`` for a composed layout)."""
    if isinstance(layout, ComposedLayout):
        return cosize(_layout_b(layout), *modes)
    return it.product(coshape(layout, *modes))


def coprofile(layout: Layout, *modes: int) -> Any:
    """Zeros with the nesting of the layout's values."""
    if not isinstance(layout, Layout):
        raise CuteError("coprofile: no overload for this argument", layout)
    return it.repeat_like(it.as_arithmetic_tuple(it.sum_leaves(it.get(layout.stride, *modes))), 0)


def _layout_b(layout: ComposedLayout) -> AnyLayout:
    if isinstance(layout.b, Swizzle):
        raise CuteError("a composed layout that ends in a swizzle has no shape", layout)
    return layout.b


def get(x: Any, *modes: int) -> Any:
    """``get<modes...>``: the sublayout of a mode, or the element of a tuple."""
    if isinstance(x, Layout):
        return Layout(it.get(x.shape, *modes), it.get(x.stride, *modes))
    if isinstance(x, ComposedLayout):
        return compose3(x.a, x.offset, get(_layout_b(x), *modes))
    return it.get(x, *modes)


def layout(x: Any, *modes: int) -> Any:
    """``layout<modes...>``: the layout of a layout, TiledCopy or tensor, or of one mode."""
    if isinstance(x, ComposedLayout):
        return compose3(x.a, x.offset, layout(_layout_b(x), *modes))
    if not isinstance(x, Layout):
        raise CuteError("layout: no overload for this argument", x)
    return get(x, *modes) if modes else x


def flatten(x: Any) -> Any:
    """A layout of depth at most 1; likewise for tuples."""
    if isinstance(x, Layout):
        return Layout(it.flatten(x.shape), it.flatten(x.stride))
    if isinstance(x, ComposedLayout):
        return on_domain(x, flatten)
    return it.flatten(x)


def unflatten(x: Any, profile: IntTuple) -> Any:
    if isinstance(x, Layout):
        return Layout(it.unflatten(x.shape, profile), it.unflatten(x.stride, profile))
    if isinstance(x, ComposedLayout):
        raise CuteError("unflatten: no overload for this argument", x)
    return it.unflatten(x, profile)


def take(x: Any, begin: int, end: int) -> Any:
    """``take<B,E>``: the modes [B, E)."""
    if isinstance(x, Layout):
        if not 0 <= begin < end <= rank(x):
            raise CuteError("take: range out of bounds", begin, end, x)
        return Layout(it.take(x.shape, begin, end), it.take(x.stride, begin, end))
    if isinstance(x, ComposedLayout):
        return on_domain(x, lambda b: cast(Layout, take(b, begin, end)))
    return it.take(x, begin, end)


def select(x: Any, *modes: int) -> Any:
    """``select<I...>``: these modes, in this order."""
    if isinstance(x, Layout):
        return Layout(it.select(x.shape, *modes), it.select(x.stride, *modes))
    if isinstance(x, ComposedLayout):
        raise CuteError("select: no overload for this argument", x)
    return it.select(x, *modes)


def group(x: Any, begin: int, end: int) -> Any:
    """``group<B,E>``: the modes [B, E) become one; ``group_modes`` on tensors."""
    if isinstance(x, Layout):
        return Layout(it.group(x.shape, begin, end), it.group(x.stride, begin, end))
    if isinstance(x, ComposedLayout):
        return on_domain(x, lambda b: cast(Layout, group(b, begin, end)))
    return it.group(x, begin, end)


group_modes = group


def append(x: Any, item: Any = None, *, rank: int | None = None) -> Any:
    """``append(x, item)`` or ``append<rank>(x, item)``; the item of a layout is a layout, ``_1:_0`` by default."""
    if isinstance(x, Layout) and (item is None or isinstance(item, Layout)):  # else one item of a tuple
        item = Layout(1, 0) if item is None else item
        return Layout(it.append(x.shape, item.shape, rank), it.append(x.stride, item.stride, rank))
    if isinstance(x, ComposedLayout):
        return on_domain(x, lambda b: cast(Layout, append(b, item, rank=rank)))
    return it.append(x, item, rank)


def prepend(x: Any, item: Any = None, *, rank: int | None = None) -> Any:
    """``prepend(x, item)`` or ``prepend<rank>(x, item)``."""
    if isinstance(x, Layout) and (item is None or isinstance(item, Layout)):  # else one item of a tuple
        item = Layout(1, 0) if item is None else item
        return Layout(it.prepend(x.shape, item.shape, rank), it.prepend(x.stride, item.stride, rank))
    if isinstance(x, ComposedLayout):
        raise CuteError("prepend: no overload for this argument", x)
    return it.prepend(x, item, rank)


def replace(x: Any, index: int, item: Any) -> Any:
    """``replace<N>``: another mode N."""
    if isinstance(x, Layout):
        return Layout(it.replace(x.shape, index, item.shape), it.replace(x.stride, index, item.stride))
    if isinstance(x, ComposedLayout):
        raise CuteError("replace: no overload for this argument", x)
    return it.replace(x, index, item)


def zip(*args: Any) -> Any:
    """``zip``: pairs the modes of two layouts, or transposes a tuple of tuples."""
    first = args[0]
    if isinstance(first, ComposedLayout):
        return on_domain(first, zip)
    if isinstance(first, Layout):
        return Layout(it.zip_tuples(*(a.shape for a in args)), it.zip_tuples(*(a.stride for a in args)))
    return it.zip_tuples(*args)


def tile_unzip(x: AnyLayout, tiler: Any) -> AnyLayout:
    """Gather the rank-2 modes at the terminals of the tiler into tile and rest."""
    if isinstance(x, ComposedLayout):
        return on_domain(x, lambda b: tile_unzip(b, tiler))
    return Layout(it.zip2_by(x.shape, tiler), it.zip2_by(x.stride, tiler))


def transform_layout(a: Layout, tiler: tuple[Any, ...], f: Any) -> Layout:
    """``f(mode of a, entry of tiler)`` mode by mode; modes of ``a`` beyond the tiler stay."""
    modes = [f(get(a, i), t) for i, t in enumerate(tiler)]
    modes += [get(a, i) for i in range(len(tiler), rank(a))]
    for m in modes:
        if not isinstance(m, Layout):
            raise CuteError("make_layout: no overload for a composed layout", m)
    return stack(modes)
