"""Layouts at concrete parameters, evaluated coordinate by coordinate: the ground of the brute-force engine."""

from __future__ import annotations

import math
from collections.abc import Iterator

from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Int, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, MixedBits, SmemPtrFlag, Swizzle

LIMIT = 1 << 18  # evaluated offsets an obligation

Values = dict[str, int]
Violation = dict[str, int]

# A violation (or None), the numbers a message needs, and how many offsets were evaluated.
Checked = tuple[Violation | None, tuple[tuple[str, int], ...], int]


class TooLargeError(Exception):
    """More than :data:`LIMIT` evaluations."""


def number(value: Int, values: Values) -> int:
    return int(value) if isinstance(value, int) else as_expr(value).evaluate(values)


def swizzle(sw: Swizzle, x: int) -> int:
    bits = (1 << sw.bits) - 1
    source = bits << (sw.base + max(0, sw.shift))
    moved = (x & source) >> sw.shift if sw.shift >= 0 else (x & source) << -sw.shift
    return x ^ moved


def offsets(layout: AnyLayout, values: Values) -> list[int]:
    """Offsets of all coordinates, first mode fastest (the order of CuTe's linear index)."""
    if isinstance(layout, Layout):
        return plain_offsets(layout.shape, layout.stride, values)
    if isinstance(layout.offset, SmemPtrFlag):
        raise TypeError("a pointer swizzle acts on addresses, not offsets")
    if isinstance(layout.offset, (tuple, ScaledBasis)):
        raise TypeError("coordinate offset in a composed layout")
    if isinstance(layout.offset, MixedBits) or isinstance(layout.b, Swizzle):
        raise TypeError("composition of more than a swizzle")
    start = number(layout.offset, values)
    if isinstance(layout.a, Swizzle):
        return swizzled(layout.a, start, offsets(layout.b, values))
    inner = [start + x for x in offsets(layout.b, values)]
    outer = offsets(layout.a, values)
    return [outer[x] for x in inner]


def swizzled(sw: Swizzle, start: int, inner: list[int]) -> list[int]:
    """Where a swizzle leads to from a start and offsets behind it."""
    bits, shift = (1 << sw.bits) - 1, sw.shift
    if shift >= 0:
        source = bits << (sw.base + shift)
        return [(y := start + x) ^ ((y & source) >> shift) for x in inner]
    source = bits << sw.base
    return [(y := start + x) ^ ((y & source) << -shift) for x in inner]


def plain_offsets(shape: IntTuple, stride: IntTuple, values: Values) -> list[int]:
    result = [0]
    for s, d in pairs(shape, stride):
        extent, step = number(s, values), number(d, values)
        if len(result) * extent > LIMIT:
            raise TooLargeError
        result = [x + i * step for i in range(extent) for x in result]
    return result


def pairs(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[Int, Int]]:
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        for s, d in zip(shape, strides, strict=True):
            yield from pairs(s, d)
    elif isinstance(shape, ScaledBasis) or isinstance(stride, (tuple, ScaledBasis)):
        raise TypeError("a coordinate layout has no offsets")
    else:
        yield shape, stride


def product(shape: IntTuple, values: Values) -> int:
    if isinstance(shape, tuple):
        return math.prod(product(s, values) for s in shape)
    if isinstance(shape, ScaledBasis):
        raise TypeError("a basis element is no extent")
    return number(shape, values)
