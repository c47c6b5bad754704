"""slice, dice, slice_and_offset, domain_offset; a sliced swizzle may decay to a plain layout."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import expr as ex
from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra.compose import compose_layouts
from cutecheck.model.algebra.coordinates import all_underscore, crd2idx, idx2crd
from cutecheck.model.algebra.structure import size
from cutecheck.model.basis import Underscore
from cutecheck.model.composed import compose3, make_composed_layout
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, Coord, IntTuple, Layout, SmemPtrFlag, Swizzle
from cutecheck.model.memo import memoised
from cutecheck.model.swizzle import (
    BitPattern,
    as_integer,
    in_elements,
    make_mixed_bits,
    mixed_and,
    mixed_xor,
    offset_value,
    swizzle_bits,
)
from cutecheck.model.version import cute_version


def _pick(coord: Any, x: Any, kept: bool) -> tuple[Any, ...]:
    """The elements of ``x`` paired with ``_`` (kept) or with integers, one nesting level dropped."""
    if isinstance(coord, tuple):
        if not isinstance(x, tuple) or len(x) != len(coord):
            raise CuteError("slice: Mismatched Ranks", coord, x)
        return tuple(item for c, y in zip(coord, x, strict=True) for item in _pick(c, y, kept))
    return (x,) if isinstance(coord, Underscore) is kept else ()


def slice_tuple(coord: Coord, x: Any) -> Any:
    return _pick(coord, x, True) if isinstance(coord, tuple) else x if isinstance(coord, Underscore) else ()


def dice_tuple(coord: Coord, x: Any) -> Any:
    return _pick(coord, x, False) if isinstance(coord, tuple) else () if isinstance(coord, Underscore) else x


def slice(coord: Coord, x: Any) -> Any:
    """The part of a layout (or tuple) paired with ``_``."""
    if isinstance(x, Layout):
        return Layout(slice_tuple(coord, x.shape), slice_tuple(coord, x.stride))
    if isinstance(x, ComposedLayout):
        return slice_and_offset(coord, x)[0]
    return slice_tuple(coord, x)


def dice(coord: Coord, x: Any) -> Any:
    """The part of a layout (or tuple) paired with integers."""
    if isinstance(x, Layout):
        return Layout(dice_tuple(coord, x.shape), dice_tuple(coord, x.stride))
    if isinstance(x, ComposedLayout):
        raise CuteError("dice: no overload for a composed layout", x)
    return dice_tuple(coord, x)


@memoised
def slice_and_offset(coord: Coord, layout: AnyLayout) -> tuple[Any, Any]:
    """The sliced layout, and the offset of its first element.

    For a composed layout the offset moves into its middle (and 0 is returned) unless the swizzle decays.
    """
    if isinstance(layout, Layout):
        return slice(coord, layout), crd2idx(coord, layout)
    if isinstance(layout.a, Swizzle):
        if isinstance(layout.offset, SmemPtrFlag):
            if cute_version() >= (4, 6):
                return _slice_flagged(coord, layout, layout.a, layout.offset)
            return _slice_flagged_before_4_6(coord, layout, layout.a, layout.offset)
        if isinstance(layout.b, Layout):
            return _slice_swizzled(coord, layout.a, cast(BitPattern, layout.offset), layout.b)
    inner, offset = slice_and_offset(coord, cast(AnyLayout, layout.b))
    moved = it.plus(cast(IntTuple, offset_value(layout.offset)), offset)
    return make_composed_layout(layout.a, moved, inner), 0


def _slice_flagged(coord: Coord, layout: ComposedLayout, a: Swizzle, flag: SmemPtrFlag) -> tuple[Any, Any]:
    inner, offset = slice_and_offset(coord, cast(AnyLayout, layout.b))
    if flag.sparsity is None and it.is_zero(offset):
        return compose3(a, flag, inner), 0
    return make_composed_layout(a, offset, inner), 0


def _slice_flagged_before_4_6(coord: Coord, layout: ComposedLayout, a: Swizzle, flag: SmemPtrFlag) -> tuple[Any, Any]:
    """Sliced like any swizzle: the flag counts as the offset 0 and is lost, but for a mere reshape."""
    if not isinstance(layout.b, Layout):
        raise CuteError("slice: no overload for this layout", layout)
    if all_underscore(coord):
        return compose3(a, flag, slice(coord, layout.b)), 0
    return _slice_swizzled(coord, in_elements(a), 0, layout.b)


def domain_offset(coord: Coord, layout: AnyLayout) -> tuple[Any, Any]:
    """The layout shifted to start at a coordinate, and the offset of that coordinate."""
    if isinstance(layout, Layout):
        return layout, crd2idx(coord, layout)
    moved = it.plus(cast(IntTuple, offset_value(layout.offset)), crd2idx(coord, layout.b))
    return make_composed_layout(layout.a, moved, layout.b), 0


def _to_mixed_bits(shape: Any, stride: Any, coord: Any) -> BitPattern:
    if isinstance(shape, tuple) and isinstance(stride, tuple) and isinstance(coord, tuple):
        if not len(shape) == len(stride) == len(coord) or not shape:
            raise CuteError("to_mixed_bits: Mismatched ranks", shape, stride, coord)
        parts = [_to_mixed_bits(s, d, c) for s, d, c in zip(shape, stride, coord, strict=True)]
        total = parts[-1]
        for p in reversed(parts[:-1]):
            total = mixed_xor(p, total)
        return total
    if isinstance(shape, tuple) or isinstance(stride, tuple) or isinstance(coord, tuple):
        raise CuteError("to_mixed_bits: shape, stride and coordinate are not congruent", shape, stride, coord)
    extent = it.times(shape, stride)
    if not isinstance(extent, int) or (extent & (extent - 1)):
        raise CuteError("to_mixed_bits: Requires pow2 shape*stride", shape, stride)
    flags = it.times(shape - 1, stride)
    if not isinstance(flags, int):
        raise CuteError("to_mixed_bits: Requires static shape and stride", shape, stride)
    return make_mixed_bits(0, cast(Int, it.times(coord, stride)), flags)


def _choose_sign(offset: BitPattern, mask: int, if_clear: int, if_set: int) -> Int:
    """``if_clear`` where ``offset & mask`` (one bit) is 0, else ``if_set``; run-time when the bit is."""
    bit = mixed_and(offset, mask)
    if isinstance(bit, int):
        return if_clear if bit == 0 else if_set
    if if_clear == if_set:
        return if_clear
    value = as_integer(bit)
    one = ints.div(value, mask)
    return Dyn(ex.add(ex.const(if_clear), ex.mul(ints.as_expr(one), ex.const(if_set - if_clear))))


def _slice_swizzled(coord: Coord, sw: Swizzle, offset: BitPattern, layout: Layout) -> tuple[Any, Any]:
    """Slicing ``Swizzle o offset o Layout``: decays to a plain layout when what is left misses Y or Z."""
    if all_underscore(coord):
        return compose3(sw, offset, slice(coord, layout)), 0
    bits, base, shift = sw.bits, sw.base, sw.shift
    gap = abs(shift) - bits
    shape = (1 << base, 1 << bits, 1 << gap, 1 << bits, 1)
    low, middle, high = 1 << base, 1 << (base + bits), 1 << (base + abs(shift))
    anti_zy = Layout(shape, (1 if base else 0, 0, middle if gap else 0, 0, high << bits))
    only_zy = Layout(shape, (0, low if bits else 0, 0, high if bits else 0, 0))

    sliced = slice(coord, layout)
    diced = dice(coord, layout)
    diced_coord = dice(coord, coord)

    diced_anti_zy = compose_layouts(anti_zy, diced)
    diced_only_zy = compose_layouts(only_zy, diced)
    offset_only_zy = mixed_xor(
        offset, _to_mixed_bits(diced_only_zy.shape, diced_only_zy.stride, idx2crd(diced_coord, diced_only_zy.shape))
    )
    offset_anti_zy = crd2idx(diced_coord, diced_anti_zy)

    sliced_only_zy = compose_layouts(only_zy, sliced)
    active = crd2idx(size(sliced_only_zy) - 1, sliced_only_zy)
    if isinstance(active, int) and active & ~sw(active):  # type: ignore[operator]  # an int in, an int out
        return compose3(sw, offset_only_zy, sliced), offset_anti_zy

    z, y = sw.zzz_mask & -sw.zzz_mask, sw.yyy_mask & -sw.yyy_mask
    if z < y:
        z_steps = tuple(_choose_sign(offset_only_zy, y << i, z << i, -(z << i)) for i in range(bits))
        y_steps = tuple(_choose_sign(offset_only_zy, z << i, (y + z) << i, (y - z) << i) for i in range(bits))
        stride_lo, stride_hi = z_steps, y_steps
    else:
        stride_lo = tuple(_choose_sign(offset_only_zy, z << i, (y + z) << i, (y - z) << i) for i in range(bits))
        stride_hi = tuple(_choose_sign(offset_only_zy, y << i, z << i, -(z << i)) for i in range(bits))
    pairs: IntTuple = (2,) * bits
    swizzle_layout = Layout(
        (1 << base, pairs, 1 << gap, pairs, 1), (1, stride_lo, middle, stride_hi, 1 << (base + bits + abs(shift)))
    )
    first = swizzle_bits(sw, offset_only_zy)
    return compose_layouts(swizzle_layout, sliced), it.plus(as_integer(first), offset_anti_zy)
