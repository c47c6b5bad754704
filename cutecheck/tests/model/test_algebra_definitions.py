"""Structure, coordinates, orders, basis strides and pointer flags against their definitions, by brute force."""

from __future__ import annotations

import itertools
import math
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from cutecheck.model import algebra as A  # noqa: N812
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.dtype import DType
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.swizzle import apply_swizzle
from cutecheck.model.units import Bits
from cutecheck.tests.model.test_algebra_properties import forall, layouts, swizzles, values


def coordinates(shape: Any) -> list[Any]:
    """Every coordinate of a shape, first mode fastest, written without the library."""
    if not isinstance(shape, tuple):
        return list(range(shape))
    return [tuple(reversed(c)) for c in itertools.product(*(coordinates(s) for s in reversed(shape)))]


def dot(coord: Any, stride: Any) -> int:
    """The inner product of a coordinate and congruent strides."""
    if isinstance(coord, tuple):
        return sum(dot(c, d) for c, d in zip(coord, stride, strict=True))
    return int(coord * stride)


@forall(layouts())
def test_coordinates_and_indices(layout: Layout) -> None:
    """idx2crd, crd2idx and crd2crd enumerate the shape; a layout is the inner product with its strides."""
    listed = coordinates(layout.shape)
    for i, coord in enumerate(listed):
        assert A.idx2crd(i, layout.shape) == coord
        assert A.crd2idx(coord, layout.shape) == i
        assert A.crd2idx(coord, layout.shape, layout.stride) == layout(i) == dot(coord, layout.stride)
        assert A.crd2crd(i, A.size(layout), layout.shape) == coord
    assert len(listed) == A.size(layout)


@forall(layouts(compact=True))
def test_coordinates_of_an_offset(layout: Layout) -> None:
    """get_hier_coord, get_flat_coord and get_1d_coord undo a compact layout."""
    for i, coord in enumerate(coordinates(layout.shape)):
        offset: Any = layout(i)
        assert dot(A.get_hier_coord(layout, offset), layout.stride) == offset
        assert layout(A.get_1d_coord(layout, offset)) == offset
        assert it.flatten_to_tuple(coord) is not None


@forall(layouts(), st.data())
def test_structure_keeps_the_function(layout: Layout, data: st.DataObject) -> None:
    """group, flatten and unflatten only change nesting; take, select, get pick modes; append and prepend add them."""
    n = A.rank(layout)
    first = data.draw(st.integers(0, n))
    last = data.draw(st.integers(first, n))
    assert values(A.group(layout, first, last)) == values(layout)
    flat = A.flatten(layout)
    assert values(flat) == values(layout) and A.depth(flat) <= 1
    assert A.unflatten(flat, layout.shape) == layout
    modes = [A.get(layout, i) for i in range(n)]
    if first < last:
        assert values(A.take(layout, first, last)) == values(A.make_layout(*modes[first:last]))
    order = data.draw(st.permutations(range(n)))
    picked = A.select(layout, *order)
    assert [A.get(picked, i) for i in range(n)] == [modes[i] for i in order]
    extra = Layout(3, 1000)
    assert values(A.append(layout, extra)) == [v + 1000 * k for k in range(3) for v in values(layout)]
    assert sorted(values(A.prepend(layout, extra))) == sorted(values(A.append(layout, extra)))
    at = data.draw(st.integers(0, n - 1))
    replaced = A.replace(layout, at, extra)
    assert [A.get(replaced, i) for i in range(n)] == [*modes[:at], extra, *modes[at + 1 :]]
    assert (A.size(layout), A.shape(layout), A.stride(layout)) == (len(values(layout)), layout.shape, layout.stride)


@forall(layouts())
def test_coalesce_and_filter_by_mode(layout: Layout) -> None:
    """With a profile each mode is simplified on its own: mode by mode the function stays."""
    profile = tuple(1 for _ in range(A.rank(layout)))
    by_mode = A.coalesce(layout, profile)
    filtered = A.filter(layout, profile)
    for i in range(A.rank(layout)):
        assert values(A.get(by_mode, i)) == values(A.get(layout, i))
        assert A.depth(A.get(by_mode, i)) <= 1
        kept = A.get(filtered, i)
        assert set(values(kept)) == set(values(A.get(layout, i)))
        assert A.filter(A.get(layout, i)) == kept
    zeros = A.filter_zeros(layout)
    assert it.flatten_to_tuple(zeros.stride) == it.flatten_to_tuple(layout.stride)
    assert math.prod(it.flatten_to_tuple(zeros.shape)) == math.prod(
        1 if d == 0 else s
        for s, d in zip(it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride), strict=True)
    )


@forall(layouts(), st.data())
def test_orders_are_compact(layout: Layout, data: st.DataObject) -> None:
    """make_ordered_layout and compact_order: a bijection whose strides grow with the order."""
    flat = it.flatten_to_tuple(layout.shape)
    ranks = data.draw(st.permutations(range(len(flat))))
    order = it.unflatten(tuple(ranks), layout.shape)
    made = A.make_ordered_layout(layout.shape, order)
    assert sorted(values(made)) == list(range(A.size(made)))
    assert made.stride == A.compact_order(layout.shape, order)
    big = [(r, d) for r, d, s in zip(ranks, it.flatten_to_tuple(made.stride), flat, strict=True) if s > 1]
    assert [d for _, d in sorted(big)] == sorted(d for _, d in big)


@forall(layouts(compact=True, powers=True), st.data())
def test_with_shape_and_domain_offset(layout: Layout, data: st.DataObject) -> None:
    n = A.size(layout)
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    split = data.draw(st.sampled_from(divisors))
    try:
        reshaped = A.with_shape(layout, split, n // split)
    except A.CuteError:
        assume(False)
    assert values(reshaped) == values(layout)
    coord = data.draw(st.sampled_from(coordinates(layout.shape)))
    moved, offset = A.domain_offset(coord, layout)
    assert moved == layout and offset == dot(coord, layout.stride)


@forall(layouts())
def test_coshape_and_coprofile(layout: Layout) -> None:
    """The smallest codomain by absolute strides, and its nesting."""
    spans = zip(it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride), strict=True)
    assert A.coshape(layout) == A.cosize(layout) == 1 + sum((s - 1) * abs(d) for s, d in spans)
    assert A.coprofile(layout) == 0


@forall(layouts(limit=64), layouts(limit=64))
def test_comparisons_of_shapes(a: Layout, b: Layout) -> None:
    """congruent: the same nesting; compatible: the same size, and coordinates of the first read the second."""

    def nesting(t: Any) -> Any:
        return tuple(map(nesting, t)) if isinstance(t, tuple) else None

    def refines(x: Any, y: Any) -> bool:
        if isinstance(x, tuple):
            return isinstance(y, tuple) and len(x) == len(y) and all(map(refines, x, y))
        return int(x) == math.prod(it.flatten_to_tuple(y))

    for x, y in ((a.shape, b.shape), (a.shape, a.shape), (A.size(a), a.shape)):
        assert A.congruent(x, y) == (nesting(x) == nesting(y))
        assert A.compatible(x, y) == refines(x, y)


def components(value: Any, path: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """A coordinate or a multiple of a basis element by its non-zero places."""
    if isinstance(value, tuple):
        return {k: v for i, x in enumerate(value) for k, v in components(x, (*path, i)).items()}
    if isinstance(value, ScaledBasis):
        return {value.path: int(value.value)} if value.value else {}  # type: ignore[arg-type]
    return {path: value} if value else {}


@forall(layouts(compact=True, limit=128), st.data())
def test_basis_strides(layout: Layout, data: st.DataObject) -> None:
    """Coordinate tensors: an identity layout returns coordinates, and a division of it each of them once."""
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape, 3)
    identity = A.make_identity_layout(shape)
    listed = [components(c) for c in coordinates(shape)]
    assert [components(identity(i)) for i in range(A.size(identity))] == listed
    tiler = tuple(
        data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0])) for n in it.product_each(shape)
    )
    flat = A.make_identity_layout(it.product_each(shape))
    divided = A.zipped_divide(flat, tiler)
    seen = [components(divided(i)) for i in range(A.size(divided))]
    assert sorted(map(str, seen)) == sorted(str(components(flat(i))) for i in range(A.size(flat)))
    scaled = Layout(4, ScaledBasis(-2, (1,)))
    assert [components(scaled(i)) for i in range(4)] == [{(1,): -2 * i} if i else {} for i in range(4)]


@forall(layouts(powers=True, limit=256), swizzles(), swizzles())
def test_composed_swizzles(layout: Layout, outer: Swizzle, inner: Swizzle) -> None:
    """A swizzle over a swizzled layout applies both, the inner one first."""
    once = A.composition(inner, layout)
    assert values(once) == [apply_swizzle(inner, v) for v in values(layout) if isinstance(v, int)]
    if outer.shift == inner.shift:
        try:
            both = A.composition(outer, inner)
        except A.CuteError:
            return
        for x in range(1 << 11):
            assert both(x) == apply_swizzle(outer, apply_swizzle(inner, x)) or outer.bits + inner.bits > 3


@forall(layouts(compact=True, powers=True, limit=512), st.integers(0, 3), st.sampled_from([8, 16, 32]))
def test_pointer_flags(layout: Layout, bits: int, width: int) -> None:
    """The swizzle of a flagged layout acts on byte addresses: as a plain layout it is the one of whole elements."""
    flagged = ComposedLayout(Swizzle(bits, 4, 3, SwizzleUnit.BYTE), SmemPtrFlag(Bits(width)), layout)
    plain = A.as_position_independent_swizzle_layout(flagged)
    swizzle = Swizzle(bits, 4, 3)
    for i, offset in enumerate(values(layout)):
        address = apply_swizzle(swizzle, offset * width // 8)
        assert isinstance(address, int) and plain(i) * (width // 8) == address
    narrow = A.recast_layout(flagged, DType("t", Bits(width)), Bits(8))
    assert narrow.offset == SmemPtrFlag(Bits(8)) if isinstance(narrow, ComposedLayout) else width == 8
