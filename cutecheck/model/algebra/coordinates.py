"""Coordinates and indices (``cute/stride.hpp``): crd2idx, idx2crd, crd2crd, and whole tables of offsets."""

from __future__ import annotations

from typing import Any, cast

from cutecheck.model import ints
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.ints import CuteError, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, Coord, IntTuple, Layout, Swizzle
from cutecheck.model.swizzle import apply_swizzle, offset_value


def crd2idx(coord: Coord, shape: Any, stride: IntTuple | None = None) -> Any:
    """The index of a coordinate.

    Called as ``crd2idx(c, layout)``, ``crd2idx(c, shape, stride)`` or, column major, ``crd2idx(c, shape)``.
    ``_`` counts as 0. Run-time coordinates give run-time expressions through C++ division and remainder.
    """
    if isinstance(shape, ComposedLayout):
        return _value(shape, coord)
    if isinstance(shape, Layout):
        return _index(coord, shape.shape, shape.stride)
    if stride is None:
        return _horner(coord, shape)
    return _index(coord, shape, stride)


def _index(coord: Coord, shape: IntTuple, stride: IntTuple) -> IntTuple:
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple):
            raise CuteError("crd2idx: a tuple coordinate for an integral shape", coord, shape)
        if not isinstance(stride, tuple) or not len(coord) == len(shape) == len(stride):
            raise CuteError("crd2idx: Mismatched Ranks", coord, shape)
        total: IntTuple | None = None
        for c, s, d in zip(coord, shape, stride, strict=True):
            part = c * d if type(c) is int is type(d) and type(s) is not tuple else _index(c, s, d)
            total = (
                part if total is None else total + part if type(total) is int is type(part) else it.plus(total, part)
            )
        if total is None:
            raise CuteError("crd2idx of an empty coordinate")
        return total
    number = 0 if isinstance(coord, Underscore) else coord
    if not isinstance(shape, tuple):
        return it.times(number, stride)
    if not isinstance(stride, tuple) or len(stride) != len(shape) or not shape:
        raise CuteError("crd2idx: Mismatched Ranks", coord, shape)
    return _linear(it.integer(number), shape, stride)


def _linear(index: Int, shape: tuple[Any, ...], stride: tuple[Any, ...]) -> IntTuple:
    """An integral coordinate into several modes; the last mode takes what is left."""
    total: IntTuple | None = None
    last = len(shape) - 1
    if type(index) is int and index >= 0:
        number = _linear_numbers(index, shape, stride)
        if number is not None:
            return number
    for i, (s, d) in enumerate(zip(shape, stride, strict=True)):
        if type(index) is int and index == 0:
            part = _index(0, s, d)
        elif i == last:
            part = _index(index, s, d)
        else:
            extent = s if type(s) is int else it.product(s)
            part = _index(ints.mod(index, extent), s, d)
            index = ints.div(index, extent)
        total = part if total is None else it.plus(total, part)
    return cast(IntTuple, total)


def _linear_numbers(index: int, shape: tuple[Any, ...], stride: tuple[Any, ...]) -> int | None:
    """:func:`_linear` for plain positive extents, leaf by leaf; None where something else occurs."""
    flat = it.flatten_to_tuple(shape)
    total = 0
    for s, d in zip(flat, it.flatten_to_tuple(stride), strict=True):
        if type(d) is not int or type(s) is not int or s < 1:
            return None
        total += index % s * d
        index //= s
    return total + index * flat[-1] * d if index else total


def _horner(coord: Coord, shape: IntTuple) -> IntTuple:
    if not isinstance(coord, tuple):
        return 0 if isinstance(coord, Underscore) else coord
    if not isinstance(shape, tuple) or len(coord) != len(shape):
        raise CuteError("crd2idx: Mismatched Ranks", coord, shape)
    coords = it.flatten_to_tuple(coord)
    extents = it.flatten_to_tuple(it.transform_leaf(coord, lambda _c, s: it.product(s), shape))
    total = coords[-1]
    for c, s in zip(coords[-2::-1], extents[-2::-1], strict=True):
        total = c + s * total
    return cast(IntTuple, total)


def idx2crd(index: Any, shape: Any, stride: IntTuple | None = None) -> Any:
    """The coordinate of an index within a shape (column major), or within a compact ``shape:stride``."""
    if isinstance(index, tuple):
        if not isinstance(shape, tuple) or len(index) != len(shape):
            raise CuteError("idx2crd: Mismatched Ranks", index, shape)
        if stride is None:
            return tuple(idx2crd(i, s) for i, s in zip(index, shape, strict=True))
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("idx2crd: Mismatched Ranks", index, stride)
        return tuple(idx2crd(i, s, d) for i, s, d in zip(index, shape, stride, strict=True))
    if stride is None:
        if not isinstance(shape, tuple):
            return index
        return it.as_arithmetic_tuple(_index(index, shape, it.basis_like(shape)))
    if isinstance(shape, tuple):
        if not isinstance(stride, tuple):
            from cutecheck.model.algebra.construct import compact_major

            stride = compact_major(shape, stride)
        if not isinstance(stride, tuple) or len(stride) != len(shape):
            raise CuteError("idx2crd: Mismatched Ranks", shape, stride)
        return tuple(idx2crd(index, s, d) for s, d in zip(shape, stride, strict=True))
    if it.is_one(shape):
        return 0
    return ints.mod(ints.div(index, it.integer(stride)), shape)


def crd2crd(coord: Any, source: Any, target: Any) -> Any:
    """A coordinate within one shape as a coordinate within another of the same size."""
    if isinstance(coord, tuple) and isinstance(source, tuple) and isinstance(target, tuple):
        if not len(coord) == len(source) == len(target):
            raise CuteError("crd2crd: Mismatched Ranks", coord, source, target)
        return tuple(crd2crd(c, s, t) for c, s, t in zip(coord, source, target, strict=True))
    return idx2crd(crd2idx(coord, source), target)


def get_hier_coord(layout: Layout, index: Int) -> Any:
    """The hierarchical coordinate of an offset of a compact layout."""
    return idx2crd(index, layout.shape, layout.stride)


def get_flat_coord(layout: Layout, index: Int) -> Any:
    """The rank-deep coordinate of an offset of a compact layout."""
    return crd2crd(get_hier_coord(layout, index), layout.shape, it.repeat(1, it.tuple_rank(layout.shape)))


def get_1d_coord(layout: Layout, index: Int) -> Any:
    """The column-major index of an offset of a compact layout."""
    return crd2idx(get_hier_coord(layout, index), layout.shape)


def _value(layout: Any, coord: Coord) -> Any:
    """``layout(coord)`` for any layout or swizzle."""
    if isinstance(layout, Layout):
        return _index(coord, layout.shape, layout.stride)
    if isinstance(layout, Swizzle):
        return apply_swizzle(layout, it.integer(coord))
    inner = _value(layout.b, coord)
    start = layout.offset
    if type(start) is not int or start != 0 or type(inner) is not int:
        inner = it.plus(cast(IntTuple, offset_value(start)), inner)
    return _value(layout.a, inner)


def has_underscore(coord: object) -> bool:
    if isinstance(coord, tuple):
        return any(map(has_underscore, coord))
    return isinstance(coord, Underscore)


def all_underscore(coord: object) -> bool:
    if isinstance(coord, tuple):
        return all(map(all_underscore, coord))
    return isinstance(coord, Underscore)


def apply_layout(layout: AnyLayout, coord: Coord) -> Any:
    """``layout(coord)``: an offset, or a slice when the coordinate holds ``_``."""
    if type(coord) is not int and has_underscore(coord):
        from cutecheck.model.algebra.slicing import slice

        return slice(coord, layout)
    return _value(layout, coord)


def offsets(layout: Any) -> list[int]:
    """Every offset of a layout of known integers, in column-major order; TypeError where something is not known."""
    if isinstance(layout, Swizzle):
        raise TypeError("a swizzle alone has no domain")
    if isinstance(layout, ComposedLayout):
        start = _known(offset_value(layout.offset))
        inner = offsets(layout.b)
        if isinstance(layout.a, Swizzle):
            y, sft = layout.a.yyy_mask, layout.a.shift
            if sft >= 0:
                return [x ^ ((x & y) >> sft) for x in ([start + i for i in inner] if start else inner)]
            return [x ^ ((x & y) << -sft) for x in ([start + i for i in inner] if start else inner)]
        return [_known(_value(layout.a, start + i)) for i in inner]
    result = [0]
    for s, d in zip(it.leaves(layout.shape), it.leaves(layout.stride), strict=True):
        n, step = _known(s), _known(d)
        if n == 1:
            continue
        if n < 0:  # a complement of negative strides can have negative extents: no nested loop, one index at a time
            return [_known(_value(layout, i)) for i in range(_known(it.product(layout.shape)))]
        result = [b + x for b in range(0, n * step, step) for x in result] if step else result * n
    return result


def _known(a: Any) -> int:
    if type(a) is int:
        return a
    if isinstance(a, ScaledBasis) and not a.path:
        return _known(a.value)
    number = None if isinstance(a, (ScaledBasis, tuple)) else ints.known_value(a)
    if number is None:
        raise TypeError(f"not a known integer: {a}")
    return number


def offsets_hash(layout: Any) -> str:
    """A 64-bit FNV-1a style hash of the offsets, in hexadecimal.

    It folds whole offsets (two's complement, 64 bits) into the offset basis 1469598103934665603.
    """
    h, word = 1469598103934665603, (1 << 64) - 1
    for x in offsets(layout):
        h = ((h ^ (x & word)) * 0x100000001B3) & word
    return f"{h:x}"
