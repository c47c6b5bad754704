"""coalesce, filter, nullspace (``cute/layout.hpp``)."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import inttuple as it
from cutecheck.model.algebra.construct import compact_major
from cutecheck.model.algebra.structure import rank, transform_layout
from cutecheck.model.composed import on_domain
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout
from cutecheck.model.version import cute_version


def merge_from_the_back(shapes: tuple[Any, ...], strides: tuple[Any, ...], last_shape: Any) -> Layout:
    """Merge neighbouring modes from the back; static extents 1 vanish."""
    top, below = last_shape, strides[-1]  # the mode that grows; finished ones behind it are in the lists
    new_shape: list[Any] = []
    new_stride: list[Any] = []
    for s, d in zip(shapes[-2::-1], strides[-2::-1], strict=True):
        if type(s) is int:
            if s == 1:
                continue
            if type(top) is int:
                if top == 1 and not new_shape:
                    top, below = s, d
                    continue
                if type(d) is int is type(below):
                    if s * d == below:
                        top *= s
                    else:
                        new_shape.append(top)
                        new_stride.append(below)
                        top = s
                    below = d
                    continue
        elif it.is_one(s):
            continue
        if not new_shape and it.is_one(top):
            top, below = s, d
        elif it.is_static(top) and it.constant_equal(it.times(s, d), below):
            top, below = s * top, d
        else:
            new_shape.append(top)
            new_stride.append(below)
            top, below = s, d
    if not new_shape:
        return Layout(1, 0) if it.is_one(top) else Layout(top, below)
    new_shape.append(top)
    new_stride.append(below)
    return Layout(tuple(new_shape[::-1]), tuple(new_stride[::-1]))


def _flat(layout: Layout) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    shapes, strides = it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride)
    if not shapes or len(shapes) != len(strides):
        raise CuteError("coalesce: shape and stride are not congruent", layout)
    return shapes, strides


def coalesce_layout(layout: Layout) -> Layout:
    """The simplest layout with the same values on the same indices."""
    shapes, strides = _flat(layout)
    return merge_from_the_back(shapes, strides, shapes[-1])


def coalesce_x(layout: Layout, profile: IntTuple = 0) -> Layout:
    """coalesce that also keeps the values beyond the layout's size: the last mode is never dropped."""
    if isinstance(profile, tuple):
        if len(profile) > rank(layout):
            raise CuteError("coalesce: the profile has more modes than the layout", layout, profile)
        return transform_layout(layout, profile, coalesce_x)
    shapes, strides = _flat(layout)
    return merge_from_the_back(shapes, strides, 2 if it.is_one(shapes[-1]) else shapes[-1])


def coalesce(x: Any, profile: IntTuple | None = None) -> Any:
    """``coalesce``: of a layout, at the terminals of a profile, or of a shape (static and run-time extents apart)."""
    if isinstance(x, ComposedLayout):
        return on_domain(x, lambda b: cast(AnyLayout, coalesce(b, profile)))
    if not isinstance(x, Layout):
        return _coalesce_shape(x)
    if isinstance(profile, tuple):
        if len(profile) > rank(x):
            raise CuteError("coalesce: the profile has more modes than the layout", x, profile)
        return transform_layout(x, profile, coalesce)
    return coalesce_layout(x)


def _coalesce_shape(shape: IntTuple) -> IntTuple:
    if not isinstance(shape, tuple):
        return shape
    flat = it.flatten_to_tuple(shape)
    if not flat:
        raise CuteError("coalesce of an empty shape")
    result = [flat[0]]
    for s in flat[1:]:
        if it.is_static(result[-1]) == it.is_static(s):
            result[-1] = result[-1] * s
        else:
            result.append(s)
    return result[0] if len(result) == 1 else tuple(result)


def filter_zeros(x: Any, profile: Any = None) -> Any:
    """Extent 1 wherever the stride (or the profile) is a static 0; strides are kept."""
    if isinstance(x, Layout):
        return Layout(it.filter_zeros_tuple(x.stride if profile is None else profile, x.shape), x.stride)
    if isinstance(x, ComposedLayout):
        if profile is not None:
            raise CuteError("filter_zeros: no overload for these arguments", x, profile)
        return x
    return it.filter_zeros_tuple(x, x) if profile is None else it.filter_zeros_tuple(x, profile)


def filter(layout: AnyLayout, profile: IntTuple | None = None) -> Any:
    """Without stride-0 and extent-1 modes, coalesced; at the terminals of a profile if there is one."""
    if isinstance(layout, ComposedLayout):
        if profile is None:
            raise CuteError("filter: no overload for a composed layout without a profile", layout)
        return on_domain(layout, lambda b: cast(Layout, filter(b, profile)))
    if isinstance(profile, tuple):
        if len(profile) > rank(layout):
            raise CuteError("filter: the profile has more modes than the layout", layout, profile)
        return transform_layout(layout, profile, filter)
    return coalesce_layout(cast(Layout, filter_zeros(layout)))


def nullspace(layout: AnyLayout) -> Layout:
    """The indices that the layout maps to 0 because of static stride-0 modes."""
    if isinstance(layout, ComposedLayout):
        if cute_version() < (3, 6):
            raise CuteError("nullspace: no overload for a composed layout before CUTLASS 3.6", layout)
        return Layout(1, 0)
    strides = it.flatten_to_tuple(layout.stride)
    zeros = [i for i, d in enumerate(strides) if it.is_zero(d)]
    if not zeros:
        return Layout(1, 0)
    shapes = it.flatten_to_tuple(layout.shape)
    compact = it.wrap(compact_major(shapes))
    return Layout(it.unwrap(tuple(shapes[i] for i in zeros)), it.unwrap(tuple(compact[i] for i in zeros)))
