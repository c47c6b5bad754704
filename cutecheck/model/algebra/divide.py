"""Divides (``cute/layout.hpp``): split a layout into tiles and what remains."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import inttuple as it
from cutecheck.model.algebra.complement import complement
from cutecheck.model.algebra.compose import compose_layouts
from cutecheck.model.algebra.construct import compact_major, stack
from cutecheck.model.algebra.simplify import coalesce_layout
from cutecheck.model.algebra.slicing import slice
from cutecheck.model.algebra.structure import rank, shape, tile_unzip, transform_layout
from cutecheck.model.basis import Underscore, X
from cutecheck.model.composed import on_domain
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.model.version import cute_version


def logical_divide(layout: AnyLayout, tiler: Any) -> Any:
    """``(tile, rest)``: composition with the tiler and its complement.

    By mode for a tuple, where ``_`` leaves a mode alone.
    """
    if isinstance(layout, ComposedLayout):
        return on_domain(layout, lambda b: cast(AnyLayout, logical_divide(b, tiler)))
    if isinstance(tiler, tuple):
        if len(tiler) > rank(layout):
            raise CuteError("logical_divide: Too many modes in tiler", layout, tiler)
        return transform_layout(layout, tiler, logical_divide)
    if isinstance(tiler, Underscore):
        return layout
    if not isinstance(tiler, Layout):
        if isinstance(tiler, ComposedLayout):
            raise CuteError("logical_divide: no overload for a composed tiler", tiler)
        tiler = Layout(tiler, compact_major(tiler))
    rest = complement(tiler, coalesce_layout(layout).shape if cute_version() >= (3, 9) else layout.shape)
    return compose_layouts(layout, stack([tiler, rest]))


def zipped_divide(layout: AnyLayout, tiler: Any) -> Any:
    """``((tile...), (rest...))``."""
    if isinstance(layout, ComposedLayout):
        return on_domain(layout, lambda b: cast(AnyLayout, zipped_divide(b, tiler)))
    return tile_unzip(logical_divide(layout, tiler), tiler)


def tiled_divide(layout: AnyLayout, tiler: Any) -> Any:
    """``((tile...), rest...)``."""
    if isinstance(layout, ComposedLayout):
        return on_domain(layout, lambda b: cast(AnyLayout, tiled_divide(b, tiler)))
    result = zipped_divide(layout, tiler)
    return slice((X, it.repeat(X, rank(result, 1))), result)


def flat_divide(layout: AnyLayout, tiler: Any) -> Any:
    """``(tile..., rest...)``."""
    if isinstance(layout, ComposedLayout):
        return on_domain(layout, lambda b: cast(AnyLayout, flat_divide(b, tiler)))
    result = zipped_divide(layout, tiler)
    return slice((it.repeat(X, rank(result, 0)), it.repeat(X, rank(result, 1))), result)


def tile(layout: AnyLayout, *tiler: Any) -> Any:
    """``layout.tile(...)``: tiled_divide."""
    return tiled_divide(layout, tiler[0] if len(tiler) == 1 else tiler)


def ceil_div(target: Any, tiler: Any) -> Any:
    """``ceil_div``: of integers and shapes, or the rest mode of dividing a shape by a layout."""
    if isinstance(tiler, Layout):
        return complement(tiler, shape(target)).shape
    return it.ceil_div(target, tiler)
