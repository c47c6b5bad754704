"""Bounded brute force: every coordinate, thread and parameter value, evaluated on the model objects themselves.

A finite parameter space is exhausted. Of an infinite one the first values are tried, which can refute, never prove.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from cutecheck.model.expr import Domain
from cutecheck.model.identity import once
from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import condition_value, meets, size_of, variable_domains
from cutecheck.model.prove.engines import brute_memory
from cutecheck.model.prove.engines.concrete import (
    LIMIT,
    Checked,
    TooLargeError,
    Values,
    Violation,
    number,
    offsets,
    pairs,
    plain_offsets,
    product,
    swizzled,
)
from cutecheck.model.prove.engines.samples import all_values, some_values
from cutecheck.model.prove.obligation import Obligation

_SAMPLED = 1 << 13  # offsets evaluated for parameter values of an infinite space


def run(obligation: Obligation, options: Options) -> Answer:
    """Check every parameter value; fails with the first violation, smallest values first (banks: the costliest)."""
    domains, payload = _free(obligation), obligation.objects
    sizes = [size_of(d) for d in domains.values()]
    finite = all(s is not None for s in sizes) and math.prod(s or 0 for s in sizes) <= LIMIT
    check = _CHECKS[type(payload)]
    worst: Answer | None = None
    measure: tuple[tuple[str, int], ...] = ()
    spent = 0
    try:
        for values in all_values(domains, LIMIT) if finite else some_values(domains):
            if not meets(obligation.hypotheses, values):
                continue
            violation, numbers, cost = check(payload, values)
            spent += cost
            measure = measure or numbers
            if violation is not None:
                named = tuple(sorted({**values, **violation}.items()))
                if isinstance(payload, p.BankAccess) and not finite:
                    return Answer("fails", values=named)  # not the costliest of all: no number to compare
                answer = Answer("fails", values=named, measure=numbers)
                if not isinstance(payload, p.BankAccess):
                    return answer
                if worst is None or numbers[-1][1] > worst.measure[-1][1]:
                    worst = answer
            if spent > (LIMIT if finite else _SAMPLED):
                return worst or unknown("too large for brute force")
    except TooLargeError:
        return unknown("too large for brute force")
    except (KeyError, TypeError, ValueError) as error:
        return unknown(f"brute force: {error}")
    if worst is not None:
        return worst
    if not finite:
        return unknown("infinite parameters: brute force cannot prove")
    return Answer("holds", measure=measure)


def _free(obligation: Obligation) -> dict[str, Domain]:
    """What the variables may be; the thread's index is bound by the check itself."""
    domains, payload = variable_domains(obligation), obligation.objects
    if isinstance(payload, (p.BankAccess, p.GmemSectors)):
        domains[payload.thread] = Domain(0, 0)
    return domains


def _coverage(c: p.Coverage, values: Values) -> Checked:
    layout = c.layout
    if not isinstance(layout.shape, tuple) or len(layout.shape) != 2 or not isinstance(layout.stride, tuple):
        raise ValueError("a thread-value layout has two modes")
    threads = plain_offsets(layout.shape[0], layout.stride[0], values)
    owned = plain_offsets(layout.shape[1], layout.stride[1], values)
    size = product(c.tile, values)
    whole = len(threads) * len(owned) <= LIMIT
    spent = 0
    hits: dict[int, tuple[int, int]] = {}
    doubled = outside = 0
    violation: Violation | None = None
    copies = c.replicated and bool(threads)
    counted = _without_copies(layout.shape[0], layout.stride[0], values) if copies else range(len(threads))
    for t in counted:
        spent += len(owned)
        if not whole and (violation is not None or spent > LIMIT):
            break  # too large to count: only the first violation is looked for
        for v, step in enumerate(owned):
            index = threads[t] + step
            if not 0 <= index < size:
                outside += 1
                violation = violation or {"thread_a": t, "value_a": v, "index": index}
            elif index in hits:
                doubled += 1
                other = hits[index]
                violation = violation or {
                    "thread_a": other[0], "value_a": other[1], "thread_b": t, "value_b": v, "index": index,
                }  # fmt: skip
            else:
                hits[index] = (t, v)
    if not whole:
        if violation is None:
            raise TooLargeError
        return violation, (), spent
    missed = size - len(hits)
    if missed and violation is None:
        violation = {"index": next(i for i in range(size) if i not in hits)}
    numbers = (("covered", len(hits)), ("doubled", doubled), ("missed", missed), ("outside", outside), ("size", size))
    return violation, numbers, len(threads) * len(owned)


def _without_copies(shape: IntTuple, stride: IntTuple, values: Values) -> list[int]:
    """Thread indices whose digit is 0 in every stride-0 mode."""
    kept = [0]
    scale = 1
    for s, d in pairs(shape, stride):
        extent = number(s, values)
        if number(d, values) != 0:
            kept = [t + i * scale for i in range(extent) for t in kept]
        scale *= extent
    return sorted(kept)


def _bijective(b: p.Bijective, values: Values) -> Checked:
    image = offsets(b.layout, values)
    size = number(b.size, values)
    counts = Counter(image)
    violation: Violation | None = None
    for index, x in enumerate(image):
        if not 0 <= x < size:
            violation = {"index_a": index, "offset": x}
            break
        if counts[x] > 1:
            violation = {"index_a": index, "index_b": image.index(x, index + 1), "offset": x}
            break
    if violation is None and len(image) != size:
        violation = {"offset": next(x for x in range(size) if x not in counts)}
    numbers = (
        ("doubled", len(image) - len(counts)),
        ("missed", sum(x not in counts for x in range(size))),
        ("outside", sum(not 0 <= x < size for x in counts)),
        ("size", size),
    )
    return violation, numbers, len(image)


def _injective(i: p.Injective, values: Values) -> Checked:
    seen: dict[int, int] = {}
    image = offsets(i.layout, values)
    for index, x in enumerate(image):
        if x in seen:
            return {"index_a": seen[x], "index_b": index, "offset": x}, (("size", len(image)),), len(image)
        seen[x] = index
    return None, (("size", len(image)),), len(image)


@once
def _listed(layout: Layout) -> list[int] | None:
    """The offsets of a static layout, which are the same at all values; None of any other."""
    return offsets(layout, {}) if all(isinstance(x, int) for x in leaves((layout.shape, layout.stride))) else None


@once
def _extremes(layout: Layout) -> tuple[int, int, int] | None:
    """The least and the greatest offset of a static layout (none: -1), and how many there are; None of any other."""
    image = _listed(layout)
    return None if image is None else (min(image, default=-1), max(image, default=-1), len(image))


def _extremes_by_modes(layout: Layout, values: Values) -> tuple[int, int, int]:
    """The same of any layout at some values, its modes listed one by one: an offset is a sum of one of each."""
    least, most, count = 0, 0, 1
    for extent, stride in pairs(layout.shape, layout.stride):
        step = number(stride, values)
        size = number(extent, values)
        if count * max(size, 1) > LIMIT:
            raise TooLargeError
        steps = [i * step for i in range(size)]
        if not steps:
            return -1, -1, 0
        least, most, count = least + min(steps), most + max(steps), count * len(steps)
    return least, most, count


@lru_cache(maxsize=1024)
def _moved(sw: Swizzle, first: int, layout: Layout) -> tuple[int, int, int] | None:
    """The least and the greatest place that a swizzle leads to from a start, and how many; None as above."""
    inner = _listed(layout)
    image = None if inner is None else swizzled(sw, first, inner)
    return (min(image), max(image), len(image)) if image else None


def _cosize_fits(c: p.CosizeFits, values: Values) -> Checked:
    layout, start = c.layout, brute_memory.start_of(c)(values)
    allocation = number(c.allocation, values)
    if isinstance(layout, Layout):
        least, most, count = _extremes(layout) or _extremes_by_modes(layout, values)
        if count and start + least >= 0 and start + most < allocation:
            return None, (("cosize", start + most + 1), ("allocation", allocation)), count
        image = [start + x for x in offsets(layout, values)]
    elif isinstance(layout.a, Swizzle) and isinstance(layout.offset, int) and isinstance(layout.b, Layout):
        base = c.base.evaluate(values)
        first = base + start + layout.offset

        def offset(x: int) -> int:
            return x - base

        ends = _moved(layout.a, first, layout.b)
        if ends is not None:
            least, most = map(offset, ends[:2])
            if least >= 0 and most < allocation:
                return None, (("cosize", most + 1), ("allocation", allocation)), ends[2]
        inner = _listed(layout.b)
        moved = swizzled(layout.a, first, offsets(layout.b, values) if inner is None else inner)
        image = list(map(offset, moved))
    else:
        raise TypeError("composed layout without a plain swizzle")
    top = max(image, default=-1)
    numbers = (("cosize", top + 1), ("allocation", allocation))
    if top < allocation and min(image, default=0) >= 0:
        return None, numbers, len(image)
    index, x = next((i, x) for i, x in enumerate(image) if x < 0 or (x == top and x >= allocation))
    return {"index_a": index, "offset": x}, numbers, len(image)


def _layout_equal(e: p.LayoutEqual, values: Values) -> Checked:
    left, right = offsets(e.left, values), offsets(e.right, values)
    numbers = (("left_size", len(left)), ("right_size", len(right)))
    for index, (x, y) in enumerate(zip(left, right, strict=False)):
        if x != y:
            return {"index": index, "left": x, "right": y}, numbers, len(left)
    if len(left) != len(right):
        return {"index": min(len(left), len(right))}, numbers, len(left)
    return None, numbers, len(left)


def _contiguous(c: p.Contiguous, values: Values) -> Checked:
    image = offsets(c.layout, values)
    run = next((i for i in range(1, len(image)) if image[i] != image[0] + i), len(image))
    numbers = (("run", min(run, c.count)), ("count", c.count))
    if run < c.count:
        return {"index": run}, numbers, len(image)
    if c.static and not _static_run(c.layout, c.count):
        return {"index": 0}, numbers, len(image)
    return None, numbers, len(image)


def _static_run(layout: AnyLayout, count: int) -> bool:
    """Shapes and strides of the first ``count`` elements are compile-time integers."""
    while not isinstance(layout, Layout):
        if isinstance(layout.b, Swizzle):
            raise TypeError("composition of more than a swizzle")
        layout = layout.b
    reached = 1
    for s, d in pairs(layout.shape, layout.stride):
        if reached >= count:
            return True
        if not isinstance(s, int) or (s > 1 and not isinstance(d, int)):
            return False
        reached *= s
    return reached >= count


def _counts(a: p.AtomCounts, values: Values) -> Checked:
    for i, c in enumerate(a.counts):
        actual, required = number(c.actual, values), number(c.required, values)
        if actual != required:
            return {"item": i}, (("actual", actual), ("required", required)), 1
    return None, (), 1


def _divides(d: p.Divides, values: Values) -> Checked:
    for i, m in enumerate(d.modes):
        dividend, divisor = number(m.dividend, values), number(m.divisor, values)
        if divisor == 0 or dividend % divisor:
            rest = dividend % divisor if divisor else dividend
            return {"item": i}, (("dividend", dividend), ("divisor", divisor), ("remainder", rest)), 1
    return None, (), 1


def _holds(h: p.Holds, values: Values) -> Checked:
    for i, c in enumerate(h.conditions):
        left, right = c.lhs.evaluate(values), c.rhs.evaluate(values)
        if not condition_value(c.rel, left, right):
            return {"item": i}, (("left", left), ("right", right)), 1
    return None, (), 1


def _in_bounds(b: p.InBounds, values: Values) -> Checked:
    for i, (c, e) in enumerate(zip(b.coordinates, b.extents, strict=True)):
        x, extent = c.evaluate(values), number(e, values)
        if not 0 <= x < extent:
            return {"item": i}, (("coordinate", x), ("extent", extent)), 1
    return None, (), 1


_CHECKS: dict[type[object], Callable[[Any, Values], Checked]] = {
    p.BankAccess: brute_memory.bank_access,
    p.GmemSectors: brute_memory.gmem_sectors,
    p.Coverage: _coverage,
    p.Bijective: _bijective,
    p.Injective: _injective,
    p.CosizeFits: _cosize_fits,
    p.LayoutEqual: _layout_equal,
    p.Contiguous: _contiguous,
    p.AtomCounts: _counts,
    p.Divides: _divides,
    p.Holds: _holds,
    p.Alignment: brute_memory.alignment,
    p.InBounds: _in_bounds,
    p.TmaLimits: brute_memory.tma_limits,
    p.GmmaCanonical: brute_memory.gmma_canonical,
}
