"""Normal forms: mixed radix, coalesced modes, ranges and divisors, over symbolic extents and strides alike.

A layout is a bijection onto ``[0, N)`` exactly when its modes, ordered by stride, form a mixed-radix system that
starts at 1 and ends at N. Two layouts are one function exactly when their sizes and coalesced modes agree. These
forms decide most questions without search; where they do not apply the answer is unknown, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Condition, Int, Rel, Undecided, as_expr, decide
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, MixedBits, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines import rows
from cutecheck.model.prove.engines.bounds import grain, lowered, short
from cutecheck.model.prove.obligation import Obligation

Mode = tuple[Expr, Expr]  # extent, stride
ONE = ex.const(1)


class NoFormError(Exception):
    """The normal form does not apply."""


class _Context:
    """Expressions under the obligation's domains, and decisions under its hypotheses."""

    def __init__(self, obligation: Obligation) -> None:
        self.domains: Mapping[str, Domain] = variable_domains(obligation)
        self.variables = {n: ex.var(n, d) for n, d in self.domains.items()}
        self.hypotheses = tuple(
            Condition(h.rel, self.expression(h.lhs), self.expression(h.rhs)) for h in obligation.hypotheses
        )

    def expression(self, value: Int | Expr) -> Expr:
        e = value if isinstance(value, Expr) else as_expr(value)
        return e.substitute(self.variables) if self.variables else e

    def decide(self, rel: Rel, left: Expr, right: Expr) -> bool | None:
        answer = decide(Condition(rel, left, right), self.hypotheses)
        if isinstance(answer, Undecided) and rel in (Rel.LE, Rel.LT):
            below = lowered(right)
            if below != right and decide(Condition(rel, left, below), self.hypotheses) is True:
                return True
        return None if isinstance(answer, Undecided) else answer

    def modes(self, shape: IntTuple, stride: IntTuple) -> list[Mode]:
        """Leaf modes of extent other than 1, first mode first."""
        return [
            (e, d)
            for s, t in _leaf_pairs(shape, stride)
            for e, d in [(self.expression(s), self.expression(t))]
            if e != ONE
        ]


def _leaf_pairs(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[Int, Int]]:
    stack: list[tuple[IntTuple, IntTuple]] = [(shape, stride)]
    while stack:
        s, d = stack.pop()
        if isinstance(s, tuple):
            if not isinstance(d, tuple) or len(d) != len(s):
                raise NoFormError("stride does not follow the shape")
            stack.extend(zip(reversed(s), reversed(d), strict=True))
        elif isinstance(s, ScaledBasis) or isinstance(d, (tuple, ScaledBasis)):
            raise NoFormError("a coordinate layout has no offsets")
        else:
            yield s, d


def _total(context: _Context, shape: IntTuple) -> Expr:
    if isinstance(shape, tuple):
        result = ONE
        for s in shape:
            result = ex.mul(result, _total(context, s))
        return result
    if isinstance(shape, ScaledBasis):
        raise NoFormError("a basis element is no extent")
    return context.expression(shape)


def _is_empty(modes: list[Mode]) -> bool:
    """There is no coordinate at all."""
    return any(e.constant == 0 for e, _ in modes)


def _mixed_radix(context: _Context, modes: list[Mode], size: Expr) -> bool:
    """The modes in some order count 0, 1, .. size - 1 exactly once; NoFormError where that is not decided."""
    if _is_empty(modes):
        if size.constant is None:
            raise NoFormError(f"whether {size} equals 0 is not decided")
        return size.constant == 0
    left = list(modes)
    radix = ONE
    while left:
        place = next((i for i, (_, d) in enumerate(left) if d == radix), None)
        if place is None:
            if all(e.constant is not None and (d.constant or 0) > 0 for e, d in modes) and size.constant is not None:
                return False
            if any(d.constant == 0 and (e.constant or 0) > 1 for e, d in left):
                return False
            raise NoFormError("the modes do not chain")
        radix = ex.mul(radix, left.pop(place)[0])
    same = context.decide(Rel.EQ, radix, size)
    if same is None:
        raise NoFormError(f"whether {radix} equals {size} is not decided")
    return same


def _coverage(c: p.Coverage, context: _Context) -> bool:
    shape, stride = c.layout.shape, c.layout.stride
    if not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(shape) != 2:
        raise NoFormError("a thread-value layout has two modes")
    threads = context.modes(shape[0], stride[0])
    if c.replicated:
        threads = [m for m in threads if m[1].constant != 0 or m[0].constant == 0]
    return _mixed_radix(context, threads + context.modes(shape[1], stride[1]), _total(context, c.tile))


def _bijective(b: p.Bijective, context: _Context) -> bool:
    modes = context.modes(b.layout.shape, b.layout.stride)
    return _mixed_radix(context, modes, context.expression(b.size))


def _plain(layout: AnyLayout) -> tuple[Swizzle | None, Int, Layout]:
    """Swizzle, inner offset and layout of ``Sw o offset o L``."""
    if isinstance(layout, Layout):
        return None, 0, layout
    if not isinstance(layout.a, Swizzle) or not isinstance(layout.b, Layout):
        raise NoFormError("composition of more than a swizzle")
    if isinstance(layout.offset, (tuple, ScaledBasis, MixedBits)):
        raise NoFormError("coordinate offset in a composed layout")
    offset = 0 if isinstance(layout.offset, SmemPtrFlag) else layout.offset
    return (layout.a if layout.a.bits else None), offset, layout.b


def _injective(i: p.Injective, context: _Context) -> bool:
    _, _, layout = _plain(i.layout)  # a swizzle is a bijection
    modes = context.modes(layout.shape, layout.stride)
    if _is_empty(modes):
        return True
    numbers = [(e.constant, d.constant) for e, d in modes]
    if any(d == 0 and e is not None and e > 1 for e, d in numbers):
        return False
    known = [(e, abs(d)) for e, d in numbers if e is not None and d is not None]
    if len(known) == len(modes):
        reach = 0
        for e, d in sorted(known, key=lambda m: m[1]):
            if d <= reach:
                raise NoFormError("strides interleave")
            reach += (e - 1) * d
        return True
    radix = ONE
    left = list(modes)
    while left:
        place = next((k for k, (_, d) in enumerate(left) if d == radix), None)
        if place is None:
            raise NoFormError("the modes do not chain")
        radix = ex.mul(radix, left.pop(place)[0])
    return True


def _cosize_fits(c: p.CosizeFits, context: _Context) -> bool:
    sw, inner, layout = _plain(c.layout)
    if sw is not None and sw.unit is SwizzleUnit.BYTE:
        raise NoFormError("a pointer swizzle acts on addresses, not offsets")
    low = high = ex.add(context.expression(c.offset), context.expression(inner))
    for e, d in context.modes(layout.shape, layout.stride):
        reach = ex.mul(ex.sub(e, ONE), d)
        positive = context.decide(Rel.LE, ex.const(0), reach)
        if positive is None:
            raise NoFormError("sign of a stride is not known")
        low, high = (low, ex.add(high, reach)) if positive else (ex.add(low, reach), high)
    allocation = context.expression(c.allocation)
    fits = context.decide(Rel.LT, high, allocation)
    starts = context.decide(Rel.LE, ex.const(0), low)
    if fits is None or starts is None:
        raise NoFormError(f"whether {high} is under {allocation} is not decided")
    if sw is not None:
        # The highest bit that changes bounds the blocks that a swizzle permutes: whole ones are closed under it.
        block = ex.const(1 << (sw.bits + sw.base + max(0, -sw.shift)))
        if any(context.decide(Rel.DIVIDES, block, n) is not True for n in (allocation, context.expression(c.base))):
            raise NoFormError("the allocation is not whole blocks of the swizzle")
    return fits and starts


def _coalesced(modes: list[Mode]) -> list[Mode]:
    result: list[Mode] = []
    for e, d in modes:
        if result and d == ex.mul(*result[-1]):
            result[-1] = (ex.mul(result[-1][0], e), result[-1][1])
        else:
            result.append((e, d))
    return result


def _layout_equal(e: p.LayoutEqual, context: _Context) -> bool:
    (sw_a, at_a, left), (sw_b, at_b, right) = _plain(e.left), _plain(e.right)
    one, two = (_coalesced(context.modes(x.shape, x.stride)) for x in (left, right))
    same_start = context.expression(at_a) == context.expression(at_b)
    if sw_a == sw_b and same_start and one == two:
        return True
    if sw_a is None and sw_b is None and same_start and all(_static(m) for m in (*one, *two)):
        return False
    raise NoFormError("normal forms differ and are not decisive")


def _static(mode: Mode) -> bool:
    return mode[0].constant is not None and mode[1].constant is not None


def _contiguous(c: p.Contiguous, context: _Context) -> bool:
    sw, _, layout = _plain(c.layout)
    if sw is not None and (sw.unit is SwizzleUnit.BYTE or 1 << sw.base < c.count):
        raise NoFormError("the swizzle reaches into the vector")
    run = ONE
    for s, d in _leaf_pairs(layout.shape, layout.stride):
        extent, stride = context.expression(s), context.expression(d)
        if (run.constant or 0) >= c.count:
            break
        if extent == ONE:
            continue
        if c.static and not (isinstance(s, int) and isinstance(d, int)):
            return False
        if stride != run:
            if stride.constant is None or run.constant is None:
                raise NoFormError(f"whether stride {stride} equals {run} is not decided")
            return False
        run = ex.mul(run, extent)
    if run.constant is None:
        raise NoFormError("open extent")
    return run.constant >= c.count


def _all(answers: Iterator[bool | None]) -> bool:
    undecided = False
    for answer in answers:
        if answer is False:
            return False
        undecided = undecided or answer is None
    if undecided:
        raise NoFormError("ranges and divisors do not decide it")
    return True


def _counts(a: p.AtomCounts, context: _Context) -> bool:
    return _all(context.decide(Rel.EQ, context.expression(c.actual), context.expression(c.required)) for c in a.counts)


def _divides(d: p.Divides, context: _Context) -> bool:
    return _all(
        context.decide(Rel.DIVIDES, context.expression(m.divisor), context.expression(m.dividend)) for m in d.modes
    )


def _holds(h: p.Holds, context: _Context) -> bool:
    return _all(context.decide(c.rel, context.expression(c.lhs), context.expression(c.rhs)) for c in h.conditions)


def _in_bounds(b: p.InBounds, context: _Context) -> bool:
    def answers() -> Iterator[bool | None]:
        for c, e in zip(b.coordinates, b.extents, strict=True):
            yield context.decide(Rel.LE, ex.const(0), context.expression(c))
            yield context.decide(Rel.LT, context.expression(c), context.expression(e))

    return _all(answers())


def _alignment(a: p.Alignment, context: _Context) -> bool:
    if a.swizzle is not None and a.swizzle.bits:
        unit_bits = int(a.element_bits) if a.swizzle.unit is SwizzleUnit.ELEMENT else 8
        if (unit_bits << a.swizzle.base) % (8 * int(a.vector_bytes)):
            raise NoFormError("the swizzle reaches into the vector")
    bits = 8 * int(a.vector_bytes)
    if int(a.base_alignment) % int(a.vector_bytes):
        return False
    parts = [context.expression(a.offset)]
    parts += [d for _, d in context.modes(a.rest.shape, a.rest.stride)]
    for part in parts:
        if grain(part) * int(a.element_bits) % bits:
            raise NoFormError(f"{short(part)} is not known to be aligned")
    return True


def _gmem_sectors(g: p.GmemSectors, context: _Context) -> bool:
    """Aligned vectors of v bytes: D of them touch at most D sectors and need at least D*v/32."""
    lane_bytes = int(g.vector_bytes)
    if lane_bytes * g.factor >= 32 and lane_bytes <= 32 and 32 % lane_bytes == 0:
        return True
    if rows.coalesced(g, context.expression(g.offset), [d for _, d in context.modes(g.rest.shape, g.rest.stride)]):
        return True
    raise NoFormError("vectors are narrower than a sector over the allowed factor, and lanes make no whole rows")


def _tma_limits(m: p.TmaLimits, context: _Context) -> bool:
    def is_true(rel: Rel, left: int | Expr, right: int | Expr) -> bool | None:
        return context.decide(rel, *(x if isinstance(x, Expr) else ex.const(x) for x in (left, right)))

    def answers() -> Iterator[bool | None]:
        box = [context.expression(b) for b in m.box]
        yield 0 < len(box) < 6 and int(m.swizzle_bytes) in (0, 32, 64, 128)
        for b in box:
            yield is_true(Rel.LE, 1, b)
            yield is_true(Rel.LE, b, 256)
        inner = ex.mul(box[0], ex.const(int(m.element_bits)))
        yield is_true(Rel.DIVIDES, 128, inner)
        yield True if int(m.swizzle_bytes) == 0 else is_true(Rel.LE, inner, 8 * int(m.swizzle_bytes))
        yield is_true(Rel.EQ, context.expression(m.inner_stride), 1)
        for stride in map(context.expression, m.global_strides_bytes):
            yield is_true(Rel.DIVIDES, 16, stride)
            yield is_true(Rel.LT, stride, 1 << 40)
        yield m.global_alignment is None or int(m.global_alignment) % 16 == 0
        copies = context.expression(m.multicast)
        yield is_true(Rel.LE, 1, copies)
        yield is_true(Rel.LE, copies, 16)
        yield is_true(Rel.DIVIDES, copies, context.expression(m.cluster)) if copies != ONE else True

    return _all(answers())


def _gmma_canonical(g: p.GmmaCanonical, context: _Context) -> bool:
    """Split the coalesced modes into the digits of the canonical layout (16-byte units, 8 rows, repeats)."""
    layout, bits, deep = g.layout, 0, 8
    if not isinstance(layout, Layout):
        sw = layout.a
        if not isinstance(sw, Swizzle) or not isinstance(layout.b, Layout):
            raise NoFormError("composition of more than a swizzle")
        wide = (sw.bits, sw.base, sw.shift) == (2, 5, 2) and g.engine == "UMMA" and g.major == "MN"
        if sw.bits and (sw.unit is not SwizzleUnit.BYTE or (not wide and (sw.base != 4 or sw.shift != 3))):
            return False
        layout, bits, deep = layout.b, 3 if wide else sw.bits, 4 if wide else 8
    if bits > 3 or not isinstance(layout.shape, tuple) or not isinstance(layout.stride, tuple):
        return False
    unit = 128 // int(g.element_bits)
    span = unit << bits
    mn = _digits_of(context, layout.shape[0], layout.stride[0])
    k = _digits_of(context, layout.shape[1], layout.stride[1])
    if g.major == "K":
        head = _take(k, unit, 1)
        if bits == 1 and head is not None and math.prod(e for e, _ in head) == 4:
            pairs = _take(head, 2, unit)
            inner = pairs is not None and _single(pairs, 2, None)
        else:
            inner = head is not None and any(_single(head, units, unit if bits else None) for units in (2, 4))
        rest = _take(mn, 8, span)
    else:
        head = _take(k, deep, span)
        inner = head is not None and any(_single(head, many * unit // deep, None) for many in (2, 1, 4))
        rest = _take(mn, span, 1)
    total = 1
    for e, _ in rest or ():
        total *= e
    return inner and rest is not None and _single(rest, total, None)


def _digits_of(context: _Context, shape: IntTuple, stride: IntTuple) -> list[tuple[int, int]]:
    modes = [(e.constant, d.constant) for e, d in _coalesced(context.modes(shape, stride))]
    if any(e is None or d is None for e, d in modes):
        raise NoFormError("open extents or strides")
    return [(e, d) for e, d in modes if e is not None and d is not None]


def _take(modes: list[tuple[int, int]], count: int, stride: int) -> list[tuple[int, int]] | None:
    """What is left after ``count`` coordinates of one stride; None when the modes do not start so."""
    if not modes:
        return [] if count == 1 else None
    (extent, step), rest = modes[0], modes[1:]
    if step != stride or extent % count:
        return None
    return rest if extent == count else [(extent // count, step * count), *rest]


def _single(modes: list[tuple[int, int]], count: int, stride: int | None) -> bool:
    """The modes are one of ``count`` coordinates (none for count 1), of a stride when one is given."""
    if count == 1:
        return not modes
    return len(modes) == 1 and modes[0][0] == count and stride in (None, modes[0][1])


_FORMS: dict[type[object], Callable[[Any, _Context], bool]] = {
    p.GmemSectors: _gmem_sectors,
    p.Coverage: _coverage,
    p.Bijective: _bijective,
    p.Injective: _injective,
    p.CosizeFits: _cosize_fits,
    p.LayoutEqual: _layout_equal,
    p.Contiguous: _contiguous,
    p.AtomCounts: _counts,
    p.Divides: _divides,
    p.Holds: _holds,
    p.InBounds: _in_bounds,
    p.TmaLimits: _tma_limits,
    p.GmmaCanonical: _gmma_canonical,
    p.Alignment: _alignment,
}


def run(obligation: Obligation, options: Options) -> Answer:
    """Decide by normal form. A failing form carries no counterexample: another engine must find it."""
    try:
        holds = _FORMS[type(obligation.objects)](obligation.objects, _Context(obligation))
    except NoFormError as error:
        return unknown(str(error))
    return Answer("holds" if holds else "fails", reductions=(f"normal form of {obligation.property}",))
