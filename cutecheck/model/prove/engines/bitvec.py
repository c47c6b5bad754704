"""Z3 bit-vectors: bank conflicts on unreduced addresses, built from the model objects directly.

One query an access: two lanes of one phase of one warp instruction, a word of each, the same bank, different words.
Digits, threads and parameters are bit-vector variables; unsatisfiable means that every phase takes one wavefront.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Op
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.bv_queries import ask, given, low_bits, split, stride_divisor
from cutecheck.model.prove.engines.bv_sectors import gmem_sectors
from cutecheck.model.prove.engines.bv_translation import (
    NARROW,
    NARROW_LIMIT,
    OPEN,
    WIDTH,
    Translation,
    UnsupportedError,
)
from cutecheck.model.prove.engines.loose import loosened
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import ZERO, Alignment, BankAccess, CosizeFits, GmemSectors, LayoutEqual

_BASE = "smem base"
_LANE = "lane of the phase"
_LOOSE = "R2: what all lanes share and has no form in bits is any multiple of its divisor"
_BASE_BITS = 16  # allocation addresses below 2^16: beyond every period of banks and swizzles


def run(obligation: Obligation, options: Options) -> Answer:
    """What Z3 says of the obligation.

    Hypotheses that have no form in bits are left out: what holds without them holds with them, what fails may not.
    """
    try:
        return _QUERIES[type(obligation.objects)](obligation, obligation.objects, options)
    except UnsupportedError as error:
        return unknown(str(error))


def _bank_access(obligation: Obligation, a: BankAccess, options: Options) -> Answer:
    try:
        return _conflicts(obligation, a, options)
    except UnsupportedError as error:
        loose = loosened(a, variable_domains(obligation))
        if loose == a.offset:
            raise
        relaxed = replace(a, offset=loose)
        answer = _conflicts(replace(obligation, objects=relaxed), relaxed, options)
        if answer.answer != "holds":  # a conflict need not be attained
            return unknown(str(error))
        return replace(answer, reductions=(*answer.reductions, _LOOSE))


def _conflicts(obligation: Obligation, a: BankAccess, options: Options) -> Answer:
    if int(a.element_bits) & (int(a.element_bits) - 1):
        raise UnsupportedError(f"{int(a.element_bits)}-bit elements")
    lane_bytes = int(a.vector_bytes)
    if a.swizzle is not None and a.swizzle.bits:
        unit = int(a.element_bits) if a.swizzle.unit is SwizzleUnit.ELEMENT else 8
        if int(a.vector_bits) > unit << a.swizzle.base:
            raise UnsupportedError("the swizzle splits vectors: check contiguity first")
    domains = variable_domains(obligation)
    domains[a.thread] = Domain(0, a.threads - 1)
    t = Translation(domains, width=_width(a, domains))
    z3 = t.z3
    matrix = a.kind in ("ldmatrix", "stmatrix")
    group = 8 if matrix or lane_bytes >= 16 else 16 if lane_bytes == 8 else 32
    # thread = lane + sum of bits, lane in the phase: power-of-two digits of a thread id become sums of them.
    bits = [f"thread bit {k}" for k in range(group.bit_length() - 1, (a.threads - 1).bit_length())]
    t.domains |= {**dict.fromkeys(bits, Domain(0, 1)), _LANE: Domain(0, group - 1)}
    thread = ex.var(_LANE, t.domains[_LANE])
    for k, name in enumerate(bits):
        thread = ex.add(thread, ex.mul(ex.var(name, t.domains[name]), ex.const(group << k)))
    if matrix:
        active = [t.variable(n) * t.value(1 << k) for k, n in enumerate(bits[:2])]
        t.constraints.append(z3.ULT(sum(active, t.value(0)), t.value(a.matrices)))
    lanes = [t.field(name, group.bit_length() - 1) for name in ("lane a", "lane b")]
    threads = [t.expression(thread, {_LANE: lane}) for lane in lanes]
    if a.threads != group << len(bits):
        t.constraints += [z3.ULT(x, t.value(a.threads)) for x in threads]
    t.constraints += [t.condition(c, {a.thread: x}) for c in a.active for x in threads]
    offset = a.offset.substitute({a.thread: thread})
    own, shared = split(offset, _LANE)
    rest = t.layout_offset(a.rest.shape, a.rest.stride, "rest")
    query = _BankQuery(t, a, lanes, threads, own)
    assumed = given(t, obligation)
    if any(v.name != _LANE and v.name not in bits for v in own.variables()):
        grain = math.gcd(ex.divisor(shared), stride_divisor(a.rest.stride), 1 << (t.width - 1))
        s = _ring_query(a, t.domains, own, grain & -grain, options)
        if s is not None and check(s, f"{obligation.id}-banks-ring", options) == "unsat":
            return Answer("holds", reductions=(f"addresses modulo the swizzle's period, any base multiple of {grain}",))
    s = query.solver(options, t.expression(shared) + rest, assumed)
    s.add(*t.constraints)
    extra = {_BASE: query.base, "thread_a": threads[0], "thread_b": threads[1]}
    return ask(t, s, f"{obligation.id}-banks", options, extra)


class _BankQuery:
    """Two lanes of a phase at one base: words of both in one bank, and different."""

    def __init__(self, t: Translation, a: BankAccess, lanes: list[Any], threads: list[Any], own: ex.Expr) -> None:
        self.t, self.a, self.threads = t, a, threads
        # A pointer swizzle needs a base that is a multiple of its period: an obligation of its own, assumed here.
        by_byte = a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE
        known = min(_BASE_BITS if by_byte else low_bits(int(a.base_alignment)).bit_length(), _BASE_BITS - 1)
        self.base = t.field(_BASE, _BASE_BITS - known, known)
        self.own = [t.expression(own, {_LANE: lane}) for lane in lanes]

    def solver(self, options: Options, common: Any, given: list[Any]) -> Any:
        t, a, z3 = self.t, self.a, self.t.z3
        lane_bytes = int(a.vector_bytes)
        words, extra = [], list(given)
        for own in self.own:
            byte = swizzled_byte(t, a, common + own, self.base)
            extra.append(byte & t.value(lane_bytes - 1) == 0)
            words.append(z3.LShR(byte, 2))
        # Aligned vectors share a bank exactly when their first words do.
        s = solver("QF_BV", options)
        s.add(*t.constraints, *extra)
        s.add((words[0] ^ words[1]) & t.value(31) == 0)
        s.add(z3.ULT(self.threads[0], self.threads[1]) if a.kind == "cp.async.ca" else z3.ULT(words[0], words[1]))
        return s


def _ring_query(a: BankAccess, domains: dict[str, Domain], own: ex.Expr, grain: int, options: Options) -> Any | None:
    """For open lane strides: no two different lanes in one bank, whatever the base, modulo the swizzle's period.

    Banks are a function of addresses modulo the period (a power of two), a ring homomorphism; lanes whose terms are
    not identical count as different words. Unsatisfiable therefore means conflict free; a model means nothing.
    """
    sw, group = a.swizzle, domains[_LANE].bounds()[1]
    if group is None or any(isinstance(x, Op) for monomial, _ in own.terms for x in monomial):
        return None
    if sw is not None and sw.unit is SwizzleUnit.BYTE:
        return None
    period_bits = 0 if sw is None else sw.bits + sw.base + abs(sw.shift)
    width = max(12, period_bits + (int(a.element_bits) // 8).bit_length(), 8)
    ring = {n: Domain(step=d.divisor() & -d.divisor() or 1) for n, d in domains.items()}
    t = Translation({**ring, _LANE: domains[_LANE]}, width=width)
    z3, lane_bytes = t.z3, int(a.vector_bytes)
    base = z3.BitVec("any base", width)
    s = solver("QF_BV", options)
    s.add(base & t.value(low_bits(min(grain, 1 << (width - 1)))) == 0)
    forms = [own.substitute({_LANE: ex.const(i)}) for i in range(group + 1)]
    distinct = [i for i, f in enumerate(forms) if a.kind == "cp.async.ca" or f not in forms[:i]]
    lanes = [t.field(name, group.bit_length()) for name in ("lane a", "lane b")]
    words = []
    for lane in lanes:
        s.add(z3.Or([lane == t.value(i) for i in distinct]))
        byte = swizzled_byte(t, a, base + t.expression(own, {_LANE: lane}), t.value(0))
        s.add(byte & t.value(lane_bytes - 1) == 0)
        words.append(z3.LShR(byte, 2))
    s.add(*t.constraints, z3.ULT(lanes[0], lanes[1]), (words[0] ^ words[1]) & t.value(31) == 0)
    return s if int(a.base_alignment) % max(4, lane_bytes) == 0 else None


def _alignment(obligation: Obligation, a: Alignment, options: Options) -> Answer:
    """Some vector's address has a low bit set; wrapping is harmless, only the low bits count."""
    if int(a.element_bits) & (int(a.element_bits) - 1) or int(a.vector_bytes) & (int(a.vector_bytes) - 1):
        raise UnsupportedError("widths that are not powers of two")
    t = Translation(variable_domains(obligation))
    base = t.z3.BitVec("base", t.width)
    t.constraints += [base & t.value(low_bits(int(a.base_alignment))) == 0, t.z3.ULT(base, t.value(OPEN))]
    element = t.expression(a.offset) + t.layout_offset(a.rest.shape, a.rest.stride, "rest")
    byte = swizzled_byte(t, a, element, base)
    violated = byte & t.value(int(a.vector_bytes) - 1) != 0
    if int(a.element_bits) < 8:
        moved = element if a.swizzle is None or a.swizzle.unit is SwizzleUnit.BYTE else t.swizzle(a.swizzle, element)
        violated = t.z3.Or(violated, moved & t.value(8 // int(a.element_bits) - 1) != 0)
    s = solver("QF_BV", options)
    s.add(*given(t, obligation), *t.constraints, violated)
    answer = ask(t, s, f"{obligation.id}-alignment", options, {"base": base, "byte": byte})
    if answer.answer != "fails":
        return answer
    kept = {n: v for n, v in answer.values if not n.startswith("rest[")}
    kept["index"] = _linear_index(a.rest.shape, dict(answer.values))
    return replace(answer, values=tuple(sorted(kept.items())))


def _linear_index(shape: IntTuple, values: dict[str, int]) -> int:
    pending, index, scale, place = [shape], 0, 1, 0
    while pending:
        s = pending.pop(0)
        if isinstance(s, tuple):
            pending = [*s, *pending]
        elif not isinstance(s, ScaledBasis):
            index += values.get(f"rest[{place}]", 0) * scale
            scale *= as_expr(s).evaluate(values)
            place += 1
    return index


def _composed(t: Translation, layout: AnyLayout, prefix: str) -> tuple[Any, IntTuple]:
    """Offset of a free coordinate of a layout, and the shape of its coordinates."""
    if isinstance(layout, Layout):
        return t.layout_offset(layout.shape, layout.stride, prefix), layout.shape
    if (
        not isinstance(layout.a, Swizzle)
        or isinstance(layout.b, Swizzle)
        or not isinstance(layout.offset, (int, Dyn, Sym))
    ):
        raise UnsupportedError("composition of more than a swizzle")
    inner, shape = _composed(t, layout.b, prefix)
    return t.swizzle(layout.a, t.expression(as_expr(layout.offset)) + inner), shape


def _index(t: Translation, shape: IntTuple, prefix: str) -> tuple[Any, int]:
    """Linear index of the digits named by ``prefix``; static extents only."""
    leaves: list[int] = []
    pending = [shape]
    while pending:
        s = pending.pop(0)
        if isinstance(s, tuple):
            pending = [*s, *pending]
        elif isinstance(s, int):
            leaves.append(s)
        else:
            raise UnsupportedError("extents that are not static")
    total, scale = t.value(0), 1
    for i, s in enumerate(leaves):
        total = total + t.environment[f"{prefix}[{i}]"] * t.value(scale)
        scale *= s
    return total, scale


def _layout_equal(obligation: Obligation, e: LayoutEqual, options: Options) -> Answer:
    t = Translation(variable_domains(obligation))
    left, left_shape = _composed(t, e.left, "x")
    right, right_shape = _composed(t, e.right, "y")
    (i, size), (j, other) = _index(t, left_shape, "x"), _index(t, right_shape, "y")
    if size != other:
        return Answer("fails", values=(("index", min(size, other)),))
    s = solver("QF_BV", options)
    s.add(*given(t, obligation), *t.constraints, i == j, left != right)
    answer = ask(t, s, f"{obligation.id}-equal", options, {"index": i})
    kept = tuple((n, v) for n, v in answer.values if not n.startswith(("x[", "y[")))
    return replace(answer, values=kept)


def _cosize_fits(obligation: Obligation, c: CosizeFits, options: Options) -> Answer:
    t = Translation(variable_domains(obligation), width=32)
    layout = c.layout
    if isinstance(layout, Layout):
        sw, at, plain = None, ZERO, layout
    elif isinstance(layout.a, Swizzle) and isinstance(layout.b, Layout) and isinstance(layout.offset, (int, Dyn, Sym)):
        sw, at, plain = layout.a, as_expr(layout.offset), layout.b
    else:
        raise UnsupportedError("composition of more than a swizzle")
    base = ZERO if sw is None else c.base
    start = ex.add(base, ex.add(c.offset, at))
    t.require_range(start, -(1 << t.width - 2))  # what is below 0 is far above the allocation, swizzled or not
    _require_no_wrap(t, plain)
    moved = t.swizzle(sw, t.expression(start) + t.layout_offset(plain.shape, plain.stride, "x"))
    place = moved - t.expression(base)  # below the allocation it wraps to a large number
    allocation = as_expr(c.allocation)
    t.require_range(allocation)
    index, _ = _index(t, plain.shape, "x")
    s = solver("QF_BV", options)
    s.add(*given(t, obligation), *t.constraints)
    s.add(t.z3.UGE(place, t.expression(allocation)))
    answer = ask(t, s, f"{obligation.id}-cosize", options, {"index_a": index, "offset": place})
    return replace(answer, values=tuple((n, v) for n, v in answer.values if not n.startswith("x[")))


def _require_no_wrap(t: Translation, layout: Layout) -> None:
    """Static, non-negative strides: then an offset in range does not wrap around."""
    pending: list[IntTuple] = [layout.stride, layout.shape]
    while pending:
        d = pending.pop()
        if isinstance(d, tuple):
            pending.extend(d)
        elif not isinstance(d, int) or not 0 <= d < 1 << 24:
            raise UnsupportedError("strides or extents that are not small static naturals")


def _width(a: BankAccess, domains: dict[str, Domain]) -> int:
    """Narrow where no open value meets a division: lane distances inside shared memory still never wrap to 0."""
    atoms = [x for monomial, _ in a.offset.terms for x in monomial if isinstance(x, Op)]
    inside = {v.name for x in atoms for e in x.args for v in e.variables()}
    tops = [d.bounds()[1] for n, d in domains.items()]
    small = all(t is None or t < NARROW_LIMIT for t in tops)
    return NARROW if small and all(domains[n].bounds()[1] is not None for n in inside) else WIDTH


def swizzled_byte(t: Translation, a: BankAccess | Alignment, element: Any, base: Any) -> Any:
    def scaled(x: Any) -> Any:
        bits = t.value(int(a.element_bits) // 8) if int(a.element_bits) >= 8 else None
        return x * bits if bits is not None else t.z3.LShR(x, (8 // int(a.element_bits)).bit_length() - 1)

    if a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE:
        return t.swizzle(a.swizzle, base + scaled(element))
    return base + scaled(t.swizzle(a.swizzle, element))


_QUERIES: dict[type[object], Callable[[Obligation, Any, Options], Answer]] = {
    BankAccess: _bank_access,
    GmemSectors: gmem_sectors,
    Alignment: _alignment,
    LayoutEqual: _layout_equal,
    CosizeFits: _cosize_fits,
}
