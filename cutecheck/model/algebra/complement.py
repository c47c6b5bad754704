"""complement (``cute/layout.hpp``)."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.construct import compact_major
from cutecheck.model.algebra.simplify import coalesce, coalesce_layout, filter
from cutecheck.model.algebra.structure import cosize, shape
from cutecheck.model.ints import CuteError, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout


def complement(layout: AnyLayout, cotarget: Any = None) -> Layout:
    """The layout of the values that ``layout`` leaves out, up to ``cotarget``.

    ``cotarget`` is a size, a shape or a layout; by default the layout's cosize.
    CuteError for a layout that is not injective, and for run-time strides in more than one mode.
    """
    if isinstance(layout, ComposedLayout):
        return complement(cast(AnyLayout, layout.b), cosize(layout) if cotarget is None else cotarget)
    if cotarget is not None:
        quick = _complement_of_numbers(layout, cotarget)
        if quick is not None:
            return quick
    filtered = cast(Layout, filter(layout))
    target = cosize(filtered) if cotarget is None else shape(cotarget)
    if it.is_zero(filtered.stride):
        extent = cast(IntTuple, coalesce(target))
        return Layout(extent, compact_major(extent))
    return _complement(list(it.wrap(filtered.shape)), list(it.wrap(filtered.stride)), target)


def _complement_of_numbers(layout: Layout, cotarget: Any) -> Layout | None:
    """The complement of positive static strides up to static extents; None where the general path has to decide.

    Merging neighbours first, as the definition does, changes nothing here: what merging would join leaves a gap of 1.
    """
    extents = it.flatten_to_tuple(shape(cotarget))
    modes = []
    for s, d in zip(it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride), strict=True):
        if type(s) is not int or type(d) is not int or d < 0 or s < 1:
            return None
        if d and s > 1:
            modes.append((d, s))
    if not modes:
        return None
    modes.sort()
    gaps, steps = [], []
    reach = 1
    for d, s in modes:
        gap = d // reach
        if gap == 0:
            raise CuteError("Non-injective Layout detected in complement", d, reach)
        if gap > 1:
            gaps.append(gap)
            steps.append(reach)
        reach = d * s
    count, rest = 1, reach
    for e in extents:
        if type(e) is not int or e < 1:
            return None
        count *= -(-e // rest)
        rest = -(-rest // e)
    if count > 1:
        gaps.append(count)
        steps.append(reach)
    if len(gaps) < 2:
        return Layout(gaps[0], steps[0]) if gaps else Layout(1, 0)
    return Layout(tuple(gaps), tuple(steps))


def _complement(shapes: list[Any], strides: list[Any], target: IntTuple) -> Layout:
    if len(shapes) != 1 and not it.is_static(tuple(strides)):
        raise CuteError("Dynamic-stride complement only for rank-1 layouts", tuple(strides))
    new_shape: list[IntTuple] = []
    new_stride: list[IntTuple] = [1]
    while strides:
        least = 0
        for i in range(1, len(strides)):
            if ints.less(it.integer(strides[i]), it.integer(strides[least])):
                least = i
        d, s = it.integer(strides.pop(least)), it.integer(shapes.pop(least))
        gap = ints.div(d, cast(Int, new_stride[-1]))
        if it.is_zero(gap):
            raise CuteError("Non-injective Layout detected in complement", d, new_stride[-1])
        new_shape.append(gap)
        new_stride.append(d * s)
    last = new_stride.pop()
    rest_shape = cast(IntTuple, coalesce(it.ceil_div(target, last)))
    rest_stride = compact_major(rest_shape, last)
    return coalesce_layout(Layout((tuple(new_shape), rest_shape), (tuple(new_stride), rest_stride)))
