"""Divides, products, slices, recasts and other functions of the algebra against their definitions, by brute force."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume
from hypothesis import strategies as st

from cutecheck.model import algebra as A  # noqa: N812
from cutecheck.model import inttuple as it
from cutecheck.model.basis import X
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.tests.model.test_algebra_properties import (
    coordinates,
    divides_exactly,
    extents,
    forall,
    layouts,
    swizzles,
    values,
)


@forall(layouts(), st.data())
def test_logical_divide(layout: Layout, data: st.DataObject) -> None:
    n = A.size(layout)
    extent = data.draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
    step = data.draw(st.sampled_from([d for d in range(1, n // extent + 1) if (n // extent) % d == 0]))
    tiler = Layout(extent, step)
    try:
        divided = A.logical_divide(layout, tiler)
    except CuteError:
        return
    assert A.rank(divided) == 2
    assert values(A.zipped_divide(layout, tiler)) == values(divided)
    assume(divides_exactly(layout, A.make_layout(tiler, A.complement(tiler, n))))
    assert values(A.get(divided, 0)) == [layout(i * step) for i in range(extent)]
    assert sorted(values(divided)) == sorted(values(layout))


@forall(layouts(powers=True), st.data())
def test_divides_by_mode_are_one_permutation(layout: Layout, data: st.DataObject) -> None:
    tiler = []
    for i in range(A.rank(layout)):
        n = A.size(layout, i)
        pick = data.draw(st.sampled_from([d for d in (1, 2, 4, 8, 16, 32) if n % d == 0]))
        tiler.append(pick)
    zipped = A.zipped_divide(layout, tuple(tiler))
    assert A.size(zipped, 0) == math.prod(tiler)
    assert sorted(values(zipped)) == sorted(values(layout))
    for divide in (A.tiled_divide, A.flat_divide):
        assert values(divide(layout, tuple(tiler))) == values(zipped)
    whole = A.logical_divide(layout, (X,) * A.rank(layout))
    assert whole == A.make_layout(*(A.get(layout, i) for i in range(A.rank(layout))))


@forall(layouts(compact=True, limit=32), layouts(compact=True, limit=32))
def test_products(block: Layout, tiler: Layout) -> None:
    product = A.logical_product(block, tiler)
    assert A.get(product, 0) == block
    assert sorted(values(product)) == list(range(A.size(block) * A.size(tiler)))
    assert values(A.get(product, 1)) == [A.size(block) * x for x in values(tiler)]
    for regroup in (A.zipped_product, A.tiled_product, A.flat_product):
        assert values(regroup(block, tiler)) == values(product)
    assert A.rank(A.zipped_product(block, tiler)) == 2
    modes = max(A.rank(block), A.rank(tiler))
    for make, outer in ((A.blocked_product, False), (A.raked_product, True)):
        spread = make(block, tiler)
        assert A.rank(spread) == modes
        for i in range(modes):
            b = A.size(block, i) if i < A.rank(block) else 1
            t = A.size(tiler, i) if i < A.rank(tiler) else 1
            assert A.size(spread, i) == b * t
            assert it.product(A.get(spread, i).shape[1 if outer else 0]) == b
        assert sorted(values(spread)) == list(range(A.size(spread)))


@forall(layouts(compact=True, limit=32), st.lists(st.integers(1, 3), min_size=4, max_size=4), st.randoms())
def test_tile_to_shape(block: Layout, times: list[int], random: object) -> None:
    target = tuple(A.size(block, i) * times[i] for i in range(A.rank(block)))
    order = list(range(len(target)))
    random.shuffle(order)  # type: ignore[attr-defined]
    tiled = A.tile_to_shape(block, target, tuple(order))
    assert it.product_each(tiled.shape) == target
    assert sorted(values(tiled)) == list(range(A.size(tiled)))
    for coord in coordinates(it.product_each(A.append(block, rank=len(target)).shape)):
        assert tiled(coord) == block(coord if isinstance(block.shape, tuple) else coord[0])  # type: ignore[index]


def test_tile_to_shape_refuses_a_block_that_does_not_divide() -> None:
    with pytest.raises(CuteError, match="does not divide"):
        A.tile_to_shape(Layout((12, 2), (1, 12)), (36, 5))


@forall(layouts(), st.data())
def test_slice_and_dice(layout: Layout, data: st.DataObject) -> None:
    shape = it.wrap(layout.shape)
    coord = tuple(X if data.draw(st.booleans()) else data.draw(st.integers(0, it.product(s) - 1)) for s in shape)
    whole = Layout(shape, it.wrap(layout.stride))
    rest, offset = A.slice_and_offset(coord, whole)
    free = [it.product(s) for s, c in zip(shape, coord, strict=True) if c is X]
    expected = []
    for picks in itertools.product(*(range(n) for n in reversed(free))):
        left = list(reversed(picks))
        expected.append(whole(tuple(left.pop(0) if c is X else c for c in coord)))
    if free:
        assert [offset + x for x in values(rest)] == expected
    assert offset == whole(tuple(0 if c is X else c for c in coord))


@forall(layouts(powers=True, compact=True), swizzles(), st.data())
def test_slicing_a_swizzled_layout(layout: Layout, sw: Swizzle, data: st.DataObject) -> None:
    shape = it.wrap(layout.shape)
    whole = A.composition(sw, Layout(shape, it.wrap(layout.stride)))
    coord = tuple(X if data.draw(st.booleans()) else data.draw(st.integers(0, it.product(s) - 1)) for s in shape)
    assume(any(c is X for c in coord) and not all(c is X for c in coord))
    try:
        rest, offset = A.slice_and_offset(coord, whole)
    except CuteError:
        return
    expected = []
    free = [it.product(s) for s, c in zip(shape, coord, strict=True) if c is X]
    for picks in itertools.product(*(range(n) for n in reversed(free))):
        left = list(reversed(picks))
        expected.append(A.apply_layout(whole, tuple(left.pop(0) if c is X else c for c in coord)))
    assert [offset + x for x in A.offsets(rest)] == expected


@forall(layouts(powers=True, compact=True), st.sampled_from([2, 4, 8]))
def test_recast(layout: Layout, n: int) -> None:
    assume(list(it.leaves(layout.stride)).count(1) == 1)
    narrow = A.downcast(layout, n)
    assert A.upcast(narrow, n) == layout
    assert sorted(values(narrow)) == list(range(A.size(layout) * n))
    assert {x // n for x in values(narrow)} == set(values(layout))
    assert A.recast_layout(layout, 8 * n, 8) == narrow
    assert A.recast_layout(narrow, 8, 8 * n) == layout


@forall(layouts())
def test_max_alignment_is_the_largest_upcast(layout: Layout) -> None:
    """CuTe says so of the coalesced layout: an extent 1 may carry any stride."""
    n = A.max_alignment(layout)
    assume(n > 0 and min(it.leaves(layout.stride)) >= 0)
    A.upcast(A.coalesce(layout), n)


@forall(layouts(compact=True), layouts(compact=True), st.booleans())
def test_max_common(a: Layout, b: Layout, alike: bool) -> None:
    if alike:
        b = A.make_layout(a.shape, A.LayoutRight)
    try:
        n = A.max_common_vector(a, b)
    except CuteError:
        return
    positions = A.right_inverse(b)
    assert [a(positions(i)) for i in range(n)] == list(range(n))
    common = A.max_common_layout(a, b)
    assert A.size(common) == n
    assert [a(x) for x in values(common)] == [b(x) for x in values(common)] == list(range(n))


@forall(layouts())
def test_make_layout_like_and_fragment(layout: Layout) -> None:
    strides = [d for d in it.leaves(layout.stride) if d]
    # equal strides share one place in the order: CuTe then makes a layout that is not compact, as real CuTe prints
    assume(min(strides, default=0) >= 0 and len(set(strides)) == len(strides))
    like = A.make_layout_like(layout)
    assert like.shape == layout.shape
    kept = math.prod(s for s, d in zip(it.leaves(layout.shape), it.leaves(layout.stride), strict=True) if d)
    assert sorted(set(values(like))) == list(range(kept))
    fragment = A.make_fragment_like(layout)
    assert it.product_each(fragment.shape) == it.product_each(layout.shape)
    assert A.cosize(fragment) <= A.size(layout)


@forall(st.lists(extents, min_size=1, max_size=4), st.integers(1, 48))
def test_domain_distribute(shape: list[int], n: int) -> None:
    spread = A.domain_distribute(tuple(shape), n)
    assert n % A.size(spread) == 0
    steps = values(spread)
    assert steps == sorted(set(steps))
    assert max(steps) < math.prod(shape)


@forall(layouts(limit=64))
def test_identity_layout_returns_coordinates(layout: Layout) -> None:
    identity = A.make_identity_layout(layout.shape)
    for c in coordinates(layout.shape):
        assert it.as_arithmetic_tuple(identity(c)) == c  # type: ignore[arg-type]


@forall(st.lists(extents, min_size=1, max_size=4), st.integers(1, 64))
def test_shape_div_and_ceil_div(shape: list[int], n: int) -> None:
    for extent in shape:
        assert (it.ceil_div(extent, n) - 1) * n < extent <= it.ceil_div(extent, n) * n  # type: ignore[operator]
    try:
        divided = it.shape_div(tuple(shape), n)
    except CuteError:
        return
    if math.prod(shape) % n == 0:
        assert it.product(divided) * n == math.prod(shape)
