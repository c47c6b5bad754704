"""Every function of the algebra against its definition, by brute force over the whole domain."""

from __future__ import annotations

import itertools
import math
import os
from collections import Counter
from collections.abc import Callable

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cutecheck.model import algebra as A  # noqa: N812
from cutecheck.model import inttuple as it
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle

EXAMPLES = int(os.environ.get("CUTECHECK_EXAMPLES", "60"))


def forall(*strategies: st.SearchStrategy[object]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """``given`` with a budget that keeps the suite short."""
    return lambda test: settings(max_examples=EXAMPLES, deadline=None)(given(*strategies)(test))


extents = st.sampled_from([1, 1, 2, 2, 3, 4, 5, 6, 8])


def nested(items: list[int], cuts: list[int]) -> object:
    """Group a flat list into a hierarchy; the cuts say how many leaves each group takes."""
    result: list[object] = []
    rest = list(items)
    for c in cuts:
        if not rest:
            break
        chunk, rest = rest[:c], rest[c:]
        result.append(chunk[0] if len(chunk) == 1 else tuple(chunk))
    result += rest
    return result[0] if len(result) == 1 else tuple(result)


@st.composite
def layouts(draw: st.DrawFn, compact: bool = False, limit: int = 256, powers: bool = False, least: int = 1) -> Layout:
    """``least``: how many elements it has at least, of powers of two."""
    count = draw(st.integers(1, 4))
    choice = st.sampled_from([1, 2, 4, 8]) if powers else extents
    shape = [draw(choice) for _ in range(count)]
    assume(math.prod(shape) <= limit)
    if math.prod(shape) < least:
        shape[draw(st.integers(0, count - 1))] *= least // math.prod(shape)
    order = draw(st.permutations(range(count)))
    stride = [0] * count
    current = 1
    for i in order:
        stride[i] = current
        current *= shape[i]
        if not compact:
            current *= draw(st.sampled_from([1, 1, 1, 2, 3]))
    if not compact:
        for i in range(count):
            if draw(st.integers(0, 9)) == 0:
                stride[i] = draw(st.sampled_from([0, 0, 7, -stride[i]]))
    cuts = [draw(st.integers(1, 2)) for _ in range(count)]
    return Layout(nested(shape, cuts), nested(stride, cuts))  # type: ignore[arg-type]


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    bits = draw(st.integers(0, 3))
    shift = draw(st.integers(max(bits, 1), 5)) * draw(st.sampled_from([1, 1, 1, -1]))
    return Swizzle(bits, draw(st.integers(0, 4)), shift)


def values(layout: object) -> list[int]:
    """The offsets, one scalar index at a time: the definition, not the fast table."""
    return [layout(i) for i in range(A.size(layout))]  # type: ignore[operator]


def coordinates(shape: object) -> list[object]:
    """All coordinates of a shape in column-major order."""
    if isinstance(shape, tuple):
        parts = [coordinates(s) for s in reversed(shape)]
        return [tuple(reversed(c)) for c in itertools.product(*parts)]
    return list(range(shape))  # type: ignore[call-overload]


def offset_by_hand(shape: object, stride: object, coord: object) -> int:
    if isinstance(shape, tuple):
        return sum(offset_by_hand(s, d, c) for s, d, c in zip(shape, stride, coord, strict=True))  # type: ignore[call-overload]
    return coord * stride  # type: ignore[operator]


def swizzle_by_hand(sw: Swizzle, x: int) -> int:
    """Bit by bit: bit ``base + k`` of the target is flipped by the bit ``|shift|`` away."""
    low, high = sw.base + max(0, -sw.shift), sw.base + max(0, sw.shift)
    for k in range(sw.bits):
        if x >> (high + k) & 1:
            x ^= 1 << (low + k)
    return x


@forall(layouts())
def test_evaluation(layout: Layout) -> None:
    by_hand = [offset_by_hand(layout.shape, layout.stride, c) for c in coordinates(layout.shape)]
    assert [layout(c) for c in coordinates(layout.shape)] == by_hand  # type: ignore[arg-type]
    assert values(layout) == by_hand
    assert A.offsets(layout) == by_hand
    assert [A.crd2idx(c, layout.shape) for c in coordinates(layout.shape)] == list(range(len(by_hand)))
    assert [A.idx2crd(i, layout.shape) for i in range(len(by_hand))] == coordinates(layout.shape)
    assert A.size(layout) == len(by_hand)


@forall(layouts(powers=True), swizzles(), st.sampled_from([0, 0, 8, 24]))
def test_swizzled_evaluation(layout: Layout, sw: Swizzle, offset: int) -> None:
    composed = ComposedLayout(sw, offset, layout)
    assert A.offsets(composed) == values(composed)
    if min(values(layout)) >= 0:
        assert values(composed) == [swizzle_by_hand(sw, offset + x) for x in values(layout)]


@forall(swizzles())
def test_swizzle_is_an_involution_and_permutes_its_period(sw: Swizzle) -> None:
    period = 1 << (sw.base + abs(sw.shift) + sw.bits)
    image = [sw(x) for x in range(period)]
    assert sorted(image) == list(range(period))
    assert [sw(x) for x in image] == list(range(period))
    assert [sw(x + period) for x in range(period)] == [x + period for x in image]


@forall(layouts())
def test_cosize_bounds_every_offset(layout: Layout) -> None:
    span = sum((s - 1) * abs(d) for s, d in zip(it.leaves(layout.shape), it.leaves(layout.stride), strict=True))
    assert A.cosize(layout) == span + 1
    assert max(values(layout)) < A.cosize(layout)


@forall(layouts())
def test_coalesce_keeps_the_function(layout: Layout) -> None:
    simple = A.coalesce(layout)
    assert values(simple) == values(layout)
    assert A.depth(simple) <= 1
    pairs = list(zip(it.wrap(simple.shape), it.wrap(simple.stride), strict=True))
    assert all(s * d != e for (s, d), (_, e) in itertools.pairwise(pairs))  # nothing is left to merge
    profile = (1,) * A.rank(layout)
    by_mode = A.coalesce(layout, profile)
    assert A.rank(by_mode) == A.rank(layout)
    assert values(by_mode) == values(layout)


@forall(layouts())
def test_filter_and_nullspace(layout: Layout) -> None:
    assert set(values(A.filter(layout))) == set(values(layout))
    assert all(d != 0 for d in it.leaves(A.filter(layout).stride)) or A.size(A.filter(layout)) == 1
    null = A.nullspace(layout)
    assert all(layout(i) == layout(0) == 0 for i in values(null))
    zeros = math.prod(s for s, d in zip(it.leaves(layout.shape), it.leaves(layout.stride), strict=True) if d == 0)
    assert A.size(null) == zeros
    kept = A.filter_zeros(layout)
    assert kept.stride == layout.stride
    assert A.size(kept) * zeros == A.size(layout)


@forall(layouts(limit=512), layouts(limit=64))
def test_composition(a: Layout, b: Layout) -> None:
    assume(min(values(b)) >= 0)
    try:
        result = A.composition(a, b)
    except CuteError:
        return
    assert A.compatible(b.shape, result.shape)
    if A.cosize(b) <= A.size(a) and divides_exactly(a, b):
        assert values(result) == [a(x) for x in values(b)]


def divides_exactly(a: Layout, b: Layout) -> bool:
    """Every stride of ``b`` divides, or is divided by, the extents of ``a`` it crosses.

    CuTe asserts less: a stride smaller than the extent passes, and the values are then not those of ``a(b(i))``.
    """
    extents_of_a = it.wrap(A.coalesce(a).shape)[:-1]
    for d in it.leaves(b.stride):
        for e in extents_of_a:
            if d and d % e and e % d:
                return False
            d = -(-d // e)
    return True


def test_composition_that_cute_accepts_though_it_does_not_divide() -> None:
    result = A.composition(Layout((5, 3), (3, 1)), Layout(6, 2))
    assert result == Layout((3, 2), (6, 1))
    assert values(result) != [Layout((5, 3), (3, 1))(2 * i) for i in range(6)]


@forall(layouts(powers=True), layouts(powers=True, limit=64))
def test_composition_of_powers_always_divides(a: Layout, b: Layout) -> None:
    assume(A.cosize(b) <= A.size(a))
    assume(all(d >= 0 and (d & (d - 1)) == 0 for d in it.leaves(b.stride)))
    assert values(A.composition(a, b)) == [a(x) for x in values(b)]


@forall(layouts(powers=True), swizzles(), layouts(powers=True, limit=64))
def test_composition_under_a_swizzle(a: Layout, sw: Swizzle, b: Layout) -> None:
    assume(min(values(b)) >= 0 and A.cosize(b) <= A.size(a) and divides_exactly(a, b))
    swizzled = A.composition(sw, a)
    try:
        result = A.composition(swizzled, b)
    except CuteError:
        return
    assert A.offsets(result) == [A.apply_layout(swizzled, x) for x in values(b)]


@forall(st.data(), swizzles())
def test_layout_after_swizzle_is_the_moved_swizzle(data: st.DataObject, sw: Swizzle) -> None:
    span = 1 << (sw.base + abs(sw.shift) + sw.bits)
    a = data.draw(layouts(compact=True, powers=True, limit=max(256, span), least=span))
    try:
        result = A.composition(a, sw)
    except CuteError:
        return
    # CuTe moves the two masks as wholes: right only where the layout keeps the order of the bits inside each.
    low, high = sw.base + max(0, -sw.shift), sw.base + max(0, sw.shift)
    for mask in (low, high):
        images = [a(1 << (mask + k)) for k in range(sw.bits)]
        assume(all(y == 2 * x for x, y in itertools.pairwise(images)))
    assert A.offsets(result) == [a(sw(x)) for x in range(A.size(a))]


@forall(layouts(), st.sampled_from([1, 24, 64, 100, 256]))
def test_complement(layout: Layout, target: int) -> None:
    assume(min(values(layout)) >= 0)
    try:
        rest = A.complement(layout, target)
    except CuteError:
        assert max(Counter(values(A.filter(layout))).values()) > 1 or not ordered_without_overlap(layout)
        return
    assert A.cosize(A.make_layout(layout, rest)) >= min(target, A.cosize(layout))
    both = Counter(x + y for x in set(values(layout)) for y in values(rest))
    assert max(both.values()) == 1  # tile and rest together never meet
    if strides_nest(layout):
        assert A.size(A.filter(layout)) * A.size(rest) >= target
    steps = values(rest)
    assert steps == sorted(steps) and len(set(steps)) == len(steps)


def strides_nest(layout: Layout) -> bool:
    """Sorted by stride, every stride is a multiple of the reach of the mode before."""
    plain = A.filter(layout)
    reach = 1
    for d, s in sorted(zip(it.wrap(plain.stride), it.wrap(plain.shape), strict=True)):
        if d % reach:
            return False
        reach = d * s
    return True


def ordered_without_overlap(layout: Layout) -> bool:
    """Sorted by stride, every mode starts beyond the one before."""
    plain = A.filter(layout)
    modes = sorted(zip(it.wrap(plain.stride), it.wrap(plain.shape), strict=True))
    reach = 1
    for d, s in modes:
        if d < reach:
            return False
        reach = d * s
    return True


@forall(layouts())
def test_right_inverse(layout: Layout) -> None:
    inverse = A.right_inverse(layout)
    assert [layout(x) for x in values(inverse)] == list(range(A.size(inverse)))
    if min(values(layout)) >= 0:
        reach = next(k for k in itertools.count() if k not in set(values(layout)))
        assert A.size(inverse) <= reach


@forall(layouts(compact=True))
def test_inverses_of_compact_layouts(layout: Layout) -> None:
    n = A.size(layout)
    assert A.size(A.right_inverse(layout)) == n
    for inverse in (A.right_inverse(layout), A.left_inverse(layout)):
        assert [inverse(x) for x in values(layout)] == list(range(n))


@forall(layouts())
def test_left_inverse(layout: Layout) -> None:
    assume(min(values(layout)) >= 0)
    try:
        inverse = A.left_inverse(layout)
    except CuteError:
        return
    if ordered_without_overlap(layout):
        assert [layout(inverse(x)) for x in values(layout)] == values(layout)
