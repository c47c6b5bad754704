"""Other element widths: upcast, downcast, recast_layout; max_alignment (``cute/layout.hpp``)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import legacy
from cutecheck.model.algebra.construct import stack
from cutecheck.model.algebra.divide import logical_divide
from cutecheck.model.algebra.inverse import right_inverse
from cutecheck.model.algebra.simplify import coalesce_layout
from cutecheck.model.composed import Unsigned, compose3
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Dyn, Int, NotModelledError
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.model.memo import memoised
from cutecheck.model.swizzle import BitPattern, downcast_bits, downcast_swizzle, upcast_bits, upcast_swizzle
from cutecheck.model.units import BYTE, Bits
from cutecheck.model.version import cute_version


def upcast(x: Any, n: int) -> Any:
    """``upcast<N>``: elements N times as wide. Extents round up; run-time strides are cut off silently, as in CuTe.

    CuteError when a static stride neither divides N nor is a multiple of it.
    """
    if isinstance(x, Layout):
        return _upcast(x.shape, x.stride, n)
    if isinstance(x, Swizzle):
        return upcast_swizzle(x, n)
    if isinstance(x, ComposedLayout):
        if isinstance(x.offset, SmemPtrFlag):
            return compose3(x.a, _scaled_flag(x.offset, n, 1), upcast(x.b, n))
        _refuse_run_time(x)
        return compose3(upcast(x.a, n), upcast(x.offset, n), upcast(x.b, n))
    return _unsigned(upcast_bits(cast(BitPattern, x), n))


def _refuse_run_time(x: ComposedLayout) -> None:
    if isinstance(x.offset, Dyn):
        raise CuteError("no recast of a run-time offset is found where CuTe looks for it", x)


def _unsigned(offset: BitPattern) -> BitPattern:
    return Unsigned(offset) if isinstance(offset, int) else offset


def _upcast(shape: IntTuple, stride: IntTuple, n: int) -> Layout:
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("upcast: shape and stride are not congruent", shape, stride)
        return stack([_upcast(s, d, n) for s, d in zip(shape, stride, strict=True)])
    if it.is_zero(stride):
        return Layout(shape, stride)
    d = it.integer(stride)
    if isinstance(d, Dyn):
        return Layout(shape, ints.div(d, n))
    if cute_version() < (3, 9):
        return legacy.upcast_mode(shape, d, n)
    if not (ints.equal(ints.mod(d, n), 0) or ints.equal(ints.mod(n, d), 0)):
        raise CuteError("upcast: Divisibility condition", d, n)
    distance = ints.absolute(d)
    return Layout(it.ceil_div(shape, ints.ceil_div(n, distance)), ints.signum(d) * ints.ceil_div(distance, n))


def downcast(x: Any, n: int) -> Any:
    """``downcast<N>``: elements a N-th as wide. CuteError when no stride is a static 1."""
    if isinstance(x, Layout):
        if not any(type(d) is int and d == 1 for d in it.leaves(x.stride)) and not any(
            map(it.is_one, it.leaves(x.stride))
        ):
            raise CuteError("Downcast requires adjacent elements", x)
        return _downcast(x.shape, x.stride, n)
    if isinstance(x, Swizzle):
        return downcast_swizzle(x, n)
    if isinstance(x, ComposedLayout):
        if isinstance(x.offset, SmemPtrFlag):
            return compose3(x.a, _scaled_flag(x.offset, 1, n), downcast(x.b, n))
        _refuse_run_time(x)
        return compose3(downcast(x.a, n), downcast(x.offset, n), downcast(x.b, n))
    return _unsigned(downcast_bits(cast(BitPattern, x), n))


def _downcast(shape: IntTuple, stride: IntTuple, n: int) -> Layout:
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("downcast: shape and stride are not congruent", shape, stride)
        return stack([_downcast(s, d, n) for s, d in zip(shape, stride, strict=True)])
    if it.is_one(stride) or (isinstance(stride, int) and stride == -1):
        return Layout(it.times(shape, n), stride)
    return Layout(shape, it.times(stride, n))


def _scaled_flag(flag: SmemPtrFlag, up: int, down: int) -> SmemPtrFlag:
    if flag.sparsity is not None:
        raise CuteError("recasting a sparse pointer flag is not implemented in CuTe", flag)
    return SmemPtrFlag(flag.bits * up // down)


def _bits(t: Bits | DType) -> Bits:
    bits = t.bits if isinstance(t, DType) else t
    if bits is None:
        raise NotModelledError(f"the width of {t.name if isinstance(t, DType) else t} is not known")
    return bits


def recast_layout(x: Any, old: Bits | DType, new: Bits | DType) -> Any:
    """``recast_layout<OldType, NewType>``; types by :class:`DType` or width in bits."""
    old_bits, new_bits = _bits(old), _bits(new)
    common = math.gcd(old_bits, new_bits)
    up, down = int(new_bits) // common, int(old_bits) // common
    if up == down == 1:
        return x
    if up == 1:
        return downcast(x, down)
    if down == 1:
        return upcast(x, up)
    if isinstance(x, Swizzle):
        raise CuteError("recast_layout of a swizzle needs widths that divide", old_bits, new_bits)
    return downcast(upcast(x, up), down)


def as_position_independent_swizzle_layout(layout: ComposedLayout) -> AnyLayout:
    """A pointer-swizzled layout as an element-wise one: the byte swizzle recast to the flag's element width."""
    if isinstance(layout.offset, SmemPtrFlag) and layout.offset.sparsity is not None:
        raise CuteError("as_position_independent_swizzle_layout: no overload for a sparse pointer flag", layout)
    return position_independent(layout)


def position_independent(layout: ComposedLayout) -> AnyLayout:
    """The layout of ``as_position_independent_swizzle_tensor``: a sparse element is as wide as what it stands for."""
    flag = layout.offset
    if not isinstance(flag, SmemPtrFlag) or not isinstance(layout.a, Swizzle):
        raise CuteError("as_position_independent_swizzle_layout: no overload for this argument", layout)
    bits = Fraction(flag.bits, flag.sparsity or 1)
    if bits.denominator != 1:
        raise NotModelledError(f"a swizzle of elements of {bits} bits")
    return compose3(recast_layout(layout.a, BYTE, Bits(int(bits))), 0, layout.b)


@memoised
def max_alignment(x: Any) -> Int:
    """The largest N for which ``upcast<N>`` compiles, from static extents and strides alone."""
    if isinstance(x, Swizzle):
        return 1 << x.base
    if isinstance(x, ComposedLayout):
        if not isinstance(x.a, Swizzle):
            return 1
        return ints.gcd(max_alignment(x.a), ints.gcd(max_alignment(x.offset), max_alignment(x.b)))
    if isinstance(x, SmemPtrFlag):
        return 0
    if isinstance(x, MixedBits):
        bits = x.static | x.flags
        return bits & -bits
    if not isinstance(x, Layout):
        if isinstance(x, Dyn):
            raise CuteError("max_alignment: no overload for a run-time offset", x)
        return cast(Int, x)
    flat = coalesce_layout(x)
    shape = it.transform_leaf(flat.shape, lambda s: s if it.is_static(s) else 1)
    stride = it.transform_leaf(flat.stride, lambda d: d if it.is_static(d) else 0)
    static = Layout(shape, stride)
    permuted = logical_divide(static, right_inverse(static))
    return it.gcd_leaves(it.product(it.get(permuted.shape, 0)), it.get(permuted.stride, 1))
