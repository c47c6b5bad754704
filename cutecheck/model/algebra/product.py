"""Products (``cute/layout.hpp``): repeat a layout over a tiler."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import inttuple as it
from cutecheck.model.algebra.compare import evenly_divides
from cutecheck.model.algebra.complement import complement
from cutecheck.model.algebra.compose import compose_layouts, composition
from cutecheck.model.algebra.construct import GenColMajor, Order, compact_major, make_ordered_layout, stack
from cutecheck.model.algebra.coordinates import crd2idx
from cutecheck.model.algebra.simplify import coalesce
from cutecheck.model.algebra.slicing import slice
from cutecheck.model.algebra.structure import append, cosize, get, rank, shape, size, tile_unzip, transform_layout, zip
from cutecheck.model.basis import Underscore, X
from cutecheck.model.composed import is_static_zero, on_domain
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.swizzle import make_swizzle
from cutecheck.model.version import cute_version


def logical_product(block: AnyLayout, tiler: Any) -> Any:
    """``(block, tiler of blocks)``; by mode for a tuple."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, logical_product(b, tiler)))
    if isinstance(tiler, tuple):
        if len(tiler) > rank(block):
            raise CuteError("logical_product: Too many modes in tiler", block, tiler)
        return transform_layout(block, tiler, logical_product)
    if isinstance(tiler, Underscore):
        return block
    if isinstance(tiler, ComposedLayout):
        return _over_swizzle(block, tiler)
    if not isinstance(tiler, Layout):
        tiler = Layout(tiler, compact_major(tiler))
    rest = complement(block, size(block) * cosize(tiler))
    return stack([block, compose_layouts(rest, tiler)])


def _over_swizzle(block: Layout, tiler: ComposedLayout) -> Any:
    """A product over a swizzled tiler: the swizzle moves to the strides that the blocks get."""
    sw, base = tiler.a, tiler.b
    if not isinstance(sw, Swizzle) or not isinstance(base, Layout):
        raise CuteError("logical_product: no overload for this tiler", tiler)
    if not is_static_zero(tiler.offset) and not isinstance(tiler.offset, SmemPtrFlag):
        raise CuteError("logical_product: Require Swizzle offset == 0", tiler)
    if cute_version() < (3, 9):
        raise CuteError("logical_product: no product over a swizzled tiler before CUTLASS 3.9", tiler)
    result = logical_product(block, base)
    extents = (1 << sw.base, 1 << sw.bits, 1 << (abs(sw.shift) - sw.bits), 1 << sw.bits, 1)
    only_zy = Layout(extents, (0, 1 << sw.base, 0, 1 << (sw.base + abs(sw.shift)), 0))
    touched = compose_layouts(only_zy, base)
    active = crd2idx(size(touched) - 1, touched)
    if not isinstance(active, int):
        raise CuteError("logical_product: a swizzled tiler needs static active bits", tiler)
    new_y = crd2idx((0, crd2idx(active & sw.yyy_mask, base)), result)
    new_z = crd2idx((0, crd2idx(active & sw.zzz_mask, base)), result)
    if not isinstance(new_y, int) or not isinstance(new_z, int):
        raise CuteError("logical_product: the moved swizzle is not static", tiler)
    return composition(make_swizzle(new_y, new_z), result)


def zipped_product(block: AnyLayout, tiler: Any) -> Any:
    """``((block...), (tiler...))``."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, zipped_product(b, tiler)))
    return tile_unzip(logical_product(block, tiler), tiler)


def tiled_product(block: AnyLayout, tiler: Any) -> Any:
    """``((block...), tiler...)``."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, tiled_product(b, tiler)))
    result = zipped_product(block, tiler)
    return slice((X, it.repeat(X, rank(result, 1))), result)


def flat_product(block: AnyLayout, tiler: Any) -> Any:
    """``(block..., tiler...)``."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, flat_product(b, tiler)))
    result = zipped_product(block, tiler)
    return slice((it.repeat(X, rank(result, 0)), it.repeat(X, rank(result, 1))), result)


def _padded_product(block: Layout, tiler: AnyLayout) -> AnyLayout:
    modes = max(rank(block), rank(tiler))
    return cast(AnyLayout, logical_product(append(block, rank=modes), append(tiler, rank=modes)))


def _by_mode(result: AnyLayout) -> AnyLayout:
    """Before 3.8 the rank-sensitive products coalesced each mode."""
    return result if cute_version() >= (3, 8) else cast(AnyLayout, coalesce(result, (1,) * rank(result)))


def blocked_product(block: AnyLayout, tiler: AnyLayout) -> Any:
    """The block repeated over the tiler mode by mode: ``((block0, tiler0), ...)``."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, blocked_product(b, tiler)))
    result = _padded_product(block, tiler)
    return _by_mode(zip(get(result, 0), get(result, 1)))


def raked_product(block: AnyLayout, tiler: AnyLayout) -> Any:
    """The block interleaved with the tiler mode by mode: ``((tiler0, block0), ...)``."""
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, raked_product(b, tiler)))
    result = _padded_product(block, tiler)
    return _by_mode(zip(get(result, 1), get(result, 0)))


def tile_to_shape(block: AnyLayout, target: Any, order: Order = GenColMajor) -> Any:
    """The block repeated until it has the shape ``target``, modes filled in ``order``.

    CuteError when a static target is not a multiple of the block.
    """
    if isinstance(block, ComposedLayout):
        return on_domain(block, lambda b: cast(AnyLayout, tile_to_shape(b, target, order)))
    target = shape(target)
    modes = it.tuple_rank(target)
    if rank(block) > modes:
        raise CuteError("Rank of layout must be <= rank of target shape", block, target)
    padded = cast(Layout, append(block, rank=modes))
    block_shape = it.product_each(padded.shape)
    target_shape = it.product_each(target)
    if it.is_static(target_shape):
        if not it.is_static(block_shape):
            raise CuteError("tile_to_shape: a static target needs a static block", block, target)
        if not evenly_divides(target_shape, block_shape):
            raise CuteError("tile_to_shape: block shape does not divide the target shape", block_shape, target_shape)
    return blocked_product(padded, make_ordered_layout(it.ceil_div(target_shape, block_shape), order))
