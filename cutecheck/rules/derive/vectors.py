"""Splitting a layout into the vector one instruction moves and the rest it is repeated over."""

from __future__ import annotations

from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Int, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, IntTuple, Layout, MixedBits, SmemPtrFlag, Swizzle
from cutecheck.records import record

Mode = tuple[Int, Int]  # (extent, stride)


@record(frozen=True, slots=True)
class Plain:
    """A layout taken apart: ``swizzle(offset + modes)``; strides and offset in elements."""

    modes: tuple[Mode, ...]
    swizzle: Swizzle | None
    offset: Expr


def leaves(shape: IntTuple, stride: IntTuple) -> list[Mode] | None:
    """(extent, stride) of every leaf, colexicographic; None for coordinate layouts."""
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        out: list[Mode] = []
        for s, d in zip(shape, strides, strict=True):
            inner = leaves(s, d)
            if inner is None:
                return None
            out += inner
        return out
    if isinstance(stride, (tuple, ScaledBasis)) or isinstance(shape, ScaledBasis):
        return None
    return [(shape, stride)]


def plain(layout: AnyLayout) -> Plain | None:
    """The layout taken apart; None for what is not ``swizzle o offset o layout``."""
    if isinstance(layout, Layout):
        modes = leaves(layout.shape, layout.stride)
        return None if modes is None else Plain(tuple(modes), None, Expr(()))
    assert isinstance(layout, ComposedLayout)
    if not isinstance(layout.a, Swizzle) or not isinstance(layout.b, Layout):
        return None
    modes = leaves(layout.b.shape, layout.b.stride)
    offset = layout.offset.value if isinstance(layout.offset, MixedBits) else layout.offset
    if isinstance(offset, SmemPtrFlag):
        offset = 0
    if modes is None or isinstance(offset, (tuple, ScaledBasis)):
        return None
    return Plain(tuple(modes), layout.a if layout.a.bits else None, as_expr(offset))


def peel(modes: tuple[Mode, ...], count: int) -> tuple[tuple[Mode, ...], tuple[Mode, ...]] | None:
    """The first ``count`` elements and the rest; None where an extent is open or does not divide."""
    first: list[Mode] = []
    left = int(count)  # a plain number: extents of layouts have no unit
    for i, (extent, stride) in enumerate(modes):
        size = known_value(extent)
        if left == 1:
            return tuple(first), modes[i:]
        if size is None:
            return None
        if left % size == 0:
            first.append((extent, stride))
            left //= size
        elif size % left == 0:
            first.append((left, stride))
            rest = (size // left, stride * left)
            return tuple(first), (rest, *modes[i + 1 :])
        else:
            return None
    return (tuple(first), ()) if left == 1 else None


def as_layout(modes: tuple[Mode, ...]) -> Layout:
    """The flat layout of the modes."""
    return Layout(tuple(e for e, _ in modes), tuple(s for _, s in modes))


def size_of(layout: AnyLayout) -> Int:
    """Number of elements."""
    return _product(layout.shape)


def _product(shape: IntTuple) -> Int:
    if isinstance(shape, tuple):
        total: Int = 1
        for item in shape:
            total = total * _product(item)
        return total
    assert not isinstance(shape, ScaledBasis)
    return shape


def contiguous_elements(modes: tuple[Mode, ...]) -> int:
    """How many elements of the modes, in any order, are at consecutive static offsets."""
    return _run(modes, None)[0]


def split_run(modes: tuple[Mode, ...], count: int) -> tuple[tuple[Mode, ...], tuple[Mode, ...]] | None:
    """``count`` consecutive elements wherever their modes stand, and the rest; None when there are fewer."""
    run, used, rest = _run(modes, int(count))
    return (used, rest) if run == count else None


def _run(modes: tuple[Mode, ...], limit: int | None) -> tuple[int, tuple[Mode, ...], tuple[Mode, ...]]:
    """The longest run of consecutive offsets (at most ``limit``): its length, its modes, the others."""
    left = [m for m in modes if m[0] != 1]
    used: list[Mode] = []
    run = 1
    while limit is None or run < limit:
        place = next((i for i, (e, s) in enumerate(left) if type(s) is int and s == run and isinstance(e, int)), None)
        if place is None:
            break
        extent, stride = left.pop(place)
        assert isinstance(extent, int)
        wanted = extent if limit is None else min(extent, limit // run)
        if extent % wanted or wanted <= 1:
            break
        used.append((wanted, stride))
        if extent > wanted:
            left.insert(place, (extent // wanted, stride * wanted))
        run *= wanted
    return run, tuple(used), tuple(left)


def mode_sizes(layout: AnyLayout) -> list[Int]:
    """Number of elements of each top-level mode."""
    shape = layout.shape
    return [_product(s) for s in shape] if isinstance(shape, tuple) else [_product(shape)]
