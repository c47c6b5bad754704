"""Layout properties on random layouts: verdicts against plain enumeration, and all engines against each other."""

from __future__ import annotations

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.prove import Options, Verdict, make_obligation, prove, scheduler
from cutecheck.model.prove import properties as p

EXTENTS = st.sampled_from([1, 1, 2, 2, 3, 4, 4, 5, 8])
STRIDES = st.sampled_from([0, 1, 1, 2, 3, 4, 5, 8, 12, 16, 32, -1, -4])
FAST = settings(max_examples=40, deadline=None, derandomize=True)


def layouts(strides: st.SearchStrategy[int] = STRIDES) -> st.SearchStrategy[Layout]:
    """Nested layouts of up to four modes; half of them compact in some order of modes."""
    modes = st.lists(st.tuples(EXTENTS, strides), min_size=1, max_size=4)

    def build(found: list[tuple[int, int]], order: list[int] | None, nest: bool) -> Layout:
        if order is not None:
            compact = [0] * len(found)
            step = 1
            for i in (i for i in order if i < len(found)):
                compact[i] = step
                step *= found[i][0]
            found = [(e, d) for (e, _), d in zip(found, compact, strict=True)]
        shape, stride = tuple(e for e, _ in found), tuple(d for _, d in found)
        if nest and len(found) > 2:
            return Layout((shape[:2], *shape[2:]), (stride[:2], *stride[2:]))
        return Layout(shape, stride)

    return st.builds(build, modes, st.none() | st.permutations(range(4)), st.booleans())


def image(layout: Layout) -> list[int]:
    """Offsets of the linear indices, by walking the flattened modes."""

    def flat(t: object) -> list[int]:
        return [x for item in t for x in flat(item)] if isinstance(t, tuple) else [t]  # type: ignore[list-item]

    result = []
    shape, stride = flat(layout.shape), flat(layout.stride)
    for index in range(math.prod(shape)):
        total = 0
        for e, d in zip(shape, stride, strict=True):
            total += index % e * d
            index //= e
        result.append(total)
    return result


def check(payload: p.Payload, truth: bool) -> None:
    """The scheduler's verdict and every engine that answers agree with the truth."""
    outcome = prove(make_obligation(payload))
    assert outcome.verdict is (Verdict.PROVED if truth else Verdict.REFUTED), (payload, truth, outcome)
    assert outcome.witness is not None or truth
    for name, _, _ in scheduler._ENGINES[type(payload)]:
        alone = prove(make_obligation(payload), Options(engine=name))
        for run in alone.runs:
            assert run.answer in ("unknown", "holds" if truth else "fails"), (payload, truth, run)
            assert "Error" not in run.detail, run


@given(layouts())
@FAST
def test_injective(layout: Layout) -> None:
    offsets = image(layout)
    check(p.Injective(layout), len(set(offsets)) == len(offsets))


@given(layouts(), st.sampled_from([1, 2]))
@FAST
def test_bijective(layout: Layout, factor: int) -> None:
    offsets = image(layout)
    size = len(offsets) * factor
    check(p.Bijective(layout, size), sorted(offsets) == list(range(size)))


@given(layouts(), layouts())
@FAST
def test_equal(left: Layout, right: Layout) -> None:
    check(p.LayoutEqual(left, right), image(left) == image(right))
    check(p.LayoutEqual(left, left), True)


@given(layouts(), st.integers(-2, 40))
@FAST
def test_fits(layout: Layout, slack: int) -> None:
    offsets = image(layout)
    allocation = max(1, max(offsets) + 1 + slack)
    check(p.CosizeFits(layout, allocation), min(offsets) >= 0 and max(offsets) < allocation)


@given(layouts(st.sampled_from([0, 1, 2, 4, 8, 16, 32])), st.integers(1, 3), st.integers(0, 3), st.integers(0, 1))
@FAST
def test_swizzled(layout: Layout, bits: int, base: int, more: int) -> None:
    sw = Swizzle(bits, base, bits + more)
    moved = [x ^ ((x >> sw.shift) & (((1 << bits) - 1) << base)) for x in image(layout)]
    composed = ComposedLayout(sw, 0, layout)
    check(p.Injective(composed), len(set(moved)) == len(moved))
    check(p.CosizeFits(composed, max(moved) + 1), True)
    check(p.LayoutEqual(composed, layout), moved == image(layout))


@given(layouts(), layouts(), st.booleans())
@FAST
def test_coverage(threads: Layout, values: Layout, replicated: bool) -> None:
    assume(len(image(threads)) * len(image(values)) <= 4096)
    layout = Layout((threads.shape, values.shape), (threads.stride, values.stride))
    size = len(image(threads)) * len(image(values))
    kept = image(threads)
    if replicated:
        own = [(e, d) for e, d in zip(flat(threads.shape), flat(threads.stride), strict=True) if d]
        kept = image(Layout(tuple(e for e, _ in own) or (1,), tuple(d for _, d in own) or (0,)))
        size = len(kept) * len(image(values))
    hits = sorted(a + b for a in kept for b in image(values))
    check(p.Coverage(layout, size, replicated), hits == list(range(size)))


def flat(t: object) -> list[int]:
    return [x for item in t for x in flat(item)] if isinstance(t, tuple) else [t]  # type: ignore[list-item]


@given(layouts(), st.sampled_from([1, 2, 4, 8]))
@FAST
def test_contiguous(layout: Layout, count: int) -> None:
    offsets = image(layout)
    truth = len(offsets) >= count and all(offsets[i] == i for i in range(count))
    check(p.Contiguous(layout, count), truth)


@given(layouts(st.sampled_from([0, 1, 2, 4, 8, 16, 32, 24])), st.sampled_from([4, 8, 16]), st.sampled_from([8, 16, 32]))
@FAST
def test_aligned(layout: Layout, vector_bytes: int, bits: int) -> None:
    truth = all(x * bits // 8 % vector_bytes == 0 for x in image(layout))
    check(p.Alignment(bits, vector_bytes, ex.const(0), 16, layout), truth)


def test_large_tiles_are_refuted_by_their_first_fault() -> None:
    layout = Layout(((5, 8, 8), (2, 8, 8, 8)), ((0, 0, 0), (0, 0, 0, 2)))
    outcome = prove(make_obligation(p.Coverage(layout, 327680)))
    assert outcome.verdict is Verdict.REFUTED
    whole = Layout((1024, 1024), (1, 1024))
    assert prove(make_obligation(p.Coverage(whole, 1 << 20))).verdict is Verdict.PROVED
