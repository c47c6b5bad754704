"""Z3 bit-vectors: bank conflicts on unreduced addresses, built from the model objects directly.

One query an access: two lanes of one phase of one warp instruction, a word of each, the same bank, different words.
Digits, threads and parameters are bit-vector variables; unsatisfiable means that every phase takes one wavefront.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.bv_translation import OPEN, Translation, UnsupportedError
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import ZERO, Alignment, BankAccess, CosizeFits, GmemSectors, LayoutEqual


def run(obligation: Obligation, options: Options) -> Answer:
    try:
        return _QUERIES[type(obligation.objects)](obligation, obligation.objects, options)
    except UnsupportedError as error:
        return unknown(str(error))


def _bank_access(obligation: Obligation, a: BankAccess, options: Options) -> Answer:
    if a.element_bits & (a.element_bits - 1):
        raise UnsupportedError(f"{a.element_bits}-bit elements")
    lane_bytes = a.vector_bits // 8
    if a.swizzle is not None and a.swizzle.bits:
        unit = a.element_bits if a.swizzle.unit is SwizzleUnit.ELEMENT else 8
        if a.vector_bits > unit << a.swizzle.base:
            raise UnsupportedError("the swizzle splits vectors: check contiguity first")
    domains = variable_domains(obligation)
    domains[a.thread] = Domain(0, a.threads - 1)
    t = Translation(domains)
    z3 = t.z3
    matrix = a.kind in ("ldmatrix", "stmatrix")
    group = 8 if matrix or lane_bytes >= 16 else 16 if lane_bytes == 8 else 32
    # Thread ids: a common first lane of the phase, and each lane's distance from it.
    first, threads = z3.BitVec("first", t.width), []
    t.constraints += [first & t.value(group - 1) == 0, z3.ULT(first, t.value(a.threads))]
    if matrix:
        t.constraints.append(z3.ULT(first & t.value(31), t.value(8 * a.matrices)))
    for name in ("lane_a", "lane_b"):
        lane = z3.BitVec(name, t.width)
        t.constraints += [z3.ULT(lane, t.value(group)), z3.ULT(first + lane, t.value(a.threads))]
        threads.append(first + lane)
    base = z3.BitVec("smem base", t.width)
    t.constraints += [base & t.value(_low_bits(a.base_alignment)) == 0, z3.ULT(base, t.value(OPEN))]
    rest = t.layout_offset(a.rest.shape, a.rest.stride, "rest")
    words = []
    for i, thread in enumerate(threads):
        element = t.expression(a.offset, {a.thread: thread}) + rest
        byte = _byte(t, a, element, base)
        t.constraints.append(byte & t.value(lane_bytes - 1) == 0)
        count = max(1, lane_bytes // 4)
        word = z3.LShR(byte, 2)
        if count > 1:
            k = z3.BitVec(f"k_{i}", t.width)
            t.constraints.append(z3.ULT(k, t.value(count)))
            word = word + k
        words.append(word)
    s = solver("QF_BV", options)
    for h in obligation.hypotheses:
        s.add(t.condition(h))
    s.add(*t.constraints)
    s.add((words[0] ^ words[1]) & t.value(31) == 0)
    s.add(z3.ULT(threads[0], threads[1]) if a.kind == "cp.async.ca" else z3.ULT(words[0], words[1]))
    extra = {"smem base": base, "thread_a": threads[0], "thread_b": threads[1]}
    return _ask(t, s, f"{obligation.id}-banks", options, extra)


def _ask(t: Translation, s: Any, name: str, options: Options, extra: dict[str, Any]) -> Answer:
    """Run the query; a model becomes an assignment of the environment and of ``extra``."""
    result = check(s, name, options)
    assumptions = tuple(f"{n} < {OPEN}" for n in sorted(t.bounded))
    if result == "unsat":
        return Answer("holds", assumptions=assumptions)
    if result == "unknown":
        return unknown(f"Z3: {s.reason_unknown()}")
    model = s.model()

    def read(v: Any) -> int:
        return int(model.eval(v, model_completion=True).as_long())

    values = {n: read(v) for n, v in t.environment.items()}
    for n, d in t.domains.items():
        if n in values and values[n] >= 1 << (t.width - 1) and (d.lo is None or d.lo < 0):
            values[n] -= 1 << t.width
    values |= {n: read(v) for n, v in extra.items()}
    return Answer("fails", values=tuple(sorted(values.items())), assumptions=assumptions)


def _alignment(obligation: Obligation, a: Alignment, options: Options) -> Answer:
    """Some vector's address has a low bit set; wrapping is harmless, only the low bits count."""
    if a.element_bits & (a.element_bits - 1) or a.vector_bytes & (a.vector_bytes - 1):
        raise UnsupportedError("widths that are not powers of two")
    t = Translation(variable_domains(obligation))
    base = t.z3.BitVec("base", t.width)
    t.constraints += [base & t.value(_low_bits(a.base_alignment)) == 0, t.z3.ULT(base, t.value(OPEN))]
    element = t.expression(a.offset) + t.layout_offset(a.rest.shape, a.rest.stride, "rest")
    byte = _byte(t, a, element, base)
    violated = byte & t.value(a.vector_bytes - 1) != 0
    if a.element_bits < 8:
        moved = element if a.swizzle is None or a.swizzle.unit is SwizzleUnit.BYTE else t.swizzle(a.swizzle, element)
        violated = t.z3.Or(violated, moved & t.value(8 // a.element_bits - 1) != 0)
    s = solver("QF_BV", options)
    s.add(*(t.condition(h) for h in obligation.hypotheses), *t.constraints, violated)
    answer = _ask(t, s, f"{obligation.id}-alignment", options, {"base": base, "byte": byte})
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
    s.add(*(t.condition(h) for h in obligation.hypotheses), *t.constraints, i == j, left != right)
    answer = _ask(t, s, f"{obligation.id}-equal", options, {"index": i})
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
    start = ex.add(c.offset, at)
    t.require_range(start)
    _require_no_wrap(t, plain)
    place = t.swizzle(sw, t.expression(start) + t.layout_offset(plain.shape, plain.stride, "x"))
    allocation = as_expr(c.allocation)
    t.require_range(allocation)
    index, _ = _index(t, plain.shape, "x")
    s = solver("QF_BV", options)
    s.add(*(t.condition(h) for h in obligation.hypotheses), *t.constraints)
    s.add(t.z3.UGE(place, t.expression(allocation)))
    answer = _ask(t, s, f"{obligation.id}-cosize", options, {"index_a": index, "offset": place})
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


def _low_bits(alignment: int) -> int:
    """Mask of the address bits that an alignment fixes at zero."""
    return (alignment & -alignment) - 1


def _byte(t: Translation, a: BankAccess | Alignment, element: Any, base: Any) -> Any:
    def scaled(x: Any) -> Any:
        bits = t.value(a.element_bits // 8) if a.element_bits >= 8 else None
        return x * bits if bits is not None else t.z3.LShR(x, (8 // a.element_bits).bit_length() - 1)

    if a.swizzle is not None and a.swizzle.unit is SwizzleUnit.BYTE:
        return t.swizzle(a.swizzle, base + scaled(element))
    return base + scaled(t.swizzle(a.swizzle, element))


def _gmem_sectors(obligation: Obligation, g: GmemSectors, options: Options) -> Answer:
    """Lanes one by one, the warp a variable: more sectors than ``factor`` times what the distinct vectors need."""
    lane_bytes = g.vector_bits // 8
    if g.element_bits & (g.element_bits - 1) or g.threads % 32 or lane_bytes > 32:
        raise UnsupportedError("partial warps or widths that are not powers of two")
    domains = variable_domains(obligation)
    domains[g.thread] = Domain(0, g.threads - 1)
    t = Translation(domains, width=24)
    z3 = t.z3
    base, warp = z3.BitVec("smem base", t.width), z3.BitVec("warp", t.width)
    t.constraints += [base & t.value(_low_bits(g.base_alignment)) == 0, z3.ULT(base, t.value(1 << 10))]
    t.constraints.append(z3.ULT(warp, t.value(g.threads // 32)))
    rest = t.layout_offset(g.rest.shape, g.rest.stride, "rest")
    vectors = []
    for lane in range(32):
        element = t.expression(g.offset, {g.thread: warp * t.value(32) + t.value(lane)}) + rest
        vectors.append(base + element * t.value(g.element_bits // 8))
        t.constraints.append(vectors[-1] & t.value(lane_bytes - 1) == 0)
    counts = []
    for places in (vectors, [z3.LShR(v, 5) for v in vectors]):
        first = [z3.And([places[j] != x for j in range(i)]) if i else z3.BoolVal(True) for i, x in enumerate(places)]
        one, zero = z3.BitVecVal(1, 12), z3.BitVecVal(0, 12)
        counts.append(sum((z3.If(f, one, zero) for f in first[1:]), one))
    least = z3.UDiv(counts[0] * lane_bytes + 31, z3.BitVecVal(32, 12))
    # Counting is hard for bit-vectors where a stride is open: a short budget, the answer is then unknown.
    s = solver("QF_BV", replace(options, timeout_ms=min(options.timeout_ms, 1500), rlimit=options.rlimit // 4))
    s.add(*(t.condition(h) for h in obligation.hypotheses), *t.constraints)
    s.add(z3.UGT(counts[1], least * g.factor))
    extra = {"smem base": base, "thread_a": warp * t.value(32), "thread_b": warp * t.value(32) + t.value(31)}
    return _ask(t, s, f"{obligation.id}-sectors", options, extra)


_QUERIES: dict[type[object], Callable[[Obligation, Any, Options], Answer]] = {
    BankAccess: _bank_access,
    GmemSectors: _gmem_sectors,
    Alignment: _alignment,
    LayoutEqual: _layout_equal,
    CosizeFits: _cosize_fits,
}
