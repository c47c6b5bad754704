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
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Dyn, Rel, Sym, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import ZERO, Alignment, BankAccess, CosizeFits, LayoutEqual

# Wide enough that lane distances inside shared memory (under 2^18 bytes) never meet modulo 2^WIDTH.
WIDTH = 28
_OPEN = 1 << 20  # bound put on run-time values that meet a division or bit operation


class UnsupportedError(Exception):
    """No bit-vector form for this construct."""


class Translation:
    """Expressions as bit-vectors over one environment; collects range constraints."""

    def __init__(self, domains: dict[str, Domain], width: int = WIDTH) -> None:
        import z3

        self.z3 = z3
        self.width = width
        self.domains = domains
        self.constraints: list[Any] = []
        self.bounded: set[str] = set()
        self.environment: dict[str, Any] = {}

    def value(self, number: int) -> Any:
        return self.z3.BitVecVal(number, self.width)

    def variable(self, name: str) -> Any:
        if name not in self.environment:
            v = self.z3.BitVec(name, self.width)
            self.environment[name] = v
            self._constrain(v, self.domains.get(name, Domain()))
        return self.environment[name]

    def _constrain(self, v: Any, d: Domain) -> None:
        z3 = self.z3
        if d.values is not None:
            self.constraints.append(z3.Or([v == self.value(x) for x in d.values]))
            return
        if d.lo is not None and d.lo != 0:
            self.constraints.append(v >= self.value(d.lo))
        if d.hi is not None and d.hi < 1 << (self.width - 1):
            low = d.lo if d.lo is not None else 0
            self.constraints.append(v <= self.value(d.hi) if low < 0 else z3.ULE(v, self.value(d.hi)))
        if d.step > 1:
            self.constraints.append(z3.URem(v, self.value(d.step)) == 0)

    def expression(self, e: Expr, inside: dict[str, Any] | None = None) -> Any:
        total = None
        for monomial, factor in e.terms:
            term = None if factor == 1 and monomial else self.value(factor)
            for atom in monomial:
                translated = self._atom(atom, inside or {})
                term = translated if term is None else term * translated
            total = term if total is None else total + term
        return self.value(0) if total is None else total

    def _atom(self, atom: ex.Atom, inside: dict[str, Any]) -> Any:
        if isinstance(atom, Var):
            return inside[atom.name] if atom.name in inside else self.variable(atom.name)
        return self._operation(atom, inside)

    def _operation(self, operation: Op, inside: dict[str, Any]) -> Any:
        z3 = self.z3
        if operation.kind == "opaque":
            raise UnsupportedError(f"address depends on {operation}")
        for argument in operation.args:
            self._require_range(argument)
        args = [self.expression(a, inside) for a in operation.args]
        if operation.kind in ("div", "mod"):
            divisor = operation.args[1]
            low, _ = ex.bounds(self._with_domains(divisor))
            if low is None or low <= 0:
                raise UnsupportedError(f"division by {divisor}")
        forms = {
            "div": z3.UDiv, "mod": z3.URem, "shr": z3.LShR,
            "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
            "shl": lambda a, b: a << b,
            "min": lambda a, b: z3.If(z3.ULE(a, b), a, b), "max": lambda a, b: z3.If(z3.ULE(a, b), b, a),
            "abs": lambda a: a,
        }  # fmt: skip
        return forms[operation.kind](*args)

    def _with_domains(self, e: Expr) -> Expr:
        return e.substitute({n: ex.var(n, d) for n, d in self.domains.items()})

    def _require_range(self, argument: Expr) -> None:
        """Operands of non-polynomial operations must be naturals that do not wrap."""
        limited = {}
        for v in argument.variables():
            d = self.domains.get(v.name, v.domain)
            if d.bounds()[1] is None:
                d = Domain(d.lo, _OPEN - 1, d.step)
                self.bounded.add(v.name)
                self.domains[v.name] = d
                bv = self.variable(v.name)
                self.constraints.append(self.z3.ULE(bv, self.value(_OPEN - 1)))
            limited[v.name] = d
        low, high = ex.bounds(argument.substitute({n: ex.var(n, d) for n, d in limited.items()}))
        if low is None or low < 0 or high is None or high >= 1 << self.width:
            raise UnsupportedError(f"range of {argument} in a division or bit operation is not known")

    def condition(self, c: Condition) -> Any:
        z3 = self.z3
        for side in (c.lhs, c.rhs):
            self._require_range(side)
        left, right = self.expression(c.lhs), self.expression(c.rhs)
        if c.rel is Rel.DIVIDES:
            return z3.And(left != 0, z3.URem(right, left) == 0)
        return {
            Rel.EQ: lambda: left == right,
            Rel.NE: lambda: left != right,
            Rel.LT: lambda: z3.ULT(left, right),
            Rel.LE: lambda: z3.ULE(left, right),
        }[c.rel]()

    def swizzle(self, sw: Swizzle | None, x: Any) -> Any:
        if sw is None or sw.bits == 0:
            return x
        mask = (1 << sw.bits) - 1
        if sw.shift >= 0:
            return x ^ (self.z3.LShR(x & self.value(mask << (sw.base + sw.shift)), sw.shift))
        return x ^ ((x & self.value(mask << sw.base)) << -sw.shift)

    def layout_offset(self, shape: IntTuple, stride: IntTuple, prefix: str) -> Any:
        """Offset of a free coordinate: one bounded digit a leaf, named by its place among the leaves."""
        counter = iter(range(1 << 20))

        def walk(s: IntTuple, d: IntTuple) -> Any:
            if isinstance(s, tuple):
                if not isinstance(d, tuple):
                    raise UnsupportedError("stride does not follow the shape")
                parts = [walk(x, y) for x, y in zip(s, d, strict=True)]
                return sum(parts[1:], parts[0]) if parts else self.value(0)
            if isinstance(d, (tuple, ScaledBasis)) or isinstance(s, ScaledBasis):
                raise UnsupportedError("a coordinate layout has no addresses")
            extent = as_expr(s)
            _, top = ex.bounds(self._with_domains(extent))
            name = f"{prefix}[{next(counter)}]"
            self.domains[name] = Domain(0, _OPEN - 1 if top is None else top - 1)
            digit = self.variable(name)
            if extent.constant is None:
                self._require_range(extent)
                self.constraints.append(self.z3.ULT(digit, self.expression(extent)))
            return digit * self.expression(as_expr(d))

        return walk(shape, stride)


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
    t.constraints += [base & t.value(_low_bits(a.base_alignment)) == 0, z3.ULT(base, t.value(_OPEN))]
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
    assumptions = tuple(f"{n} < {_OPEN}" for n in sorted(t.bounded))
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
    t.constraints += [base & t.value(_low_bits(a.base_alignment)) == 0, t.z3.ULT(base, t.value(_OPEN))]
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
    t._require_range(start)
    _require_no_wrap(t, plain)
    place = t.swizzle(sw, t.expression(start) + t.layout_offset(plain.shape, plain.stride, "x"))
    allocation = as_expr(c.allocation)
    t._require_range(allocation)
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


_QUERIES: dict[type[object], Callable[[Obligation, Any, Options], Answer]] = {
    BankAccess: _bank_access,
    Alignment: _alignment,
    LayoutEqual: _layout_equal,
    CosizeFits: _cosize_fits,
}
