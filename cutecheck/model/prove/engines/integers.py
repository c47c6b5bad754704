"""Z3 integers: index algebra with symbolic extents, divisibility by substitution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.layout import AnyLayout, IntTuple, Layout
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines.solver import check, solver
from cutecheck.model.prove.obligation import Obligation


class UnsupportedError(Exception):
    """No integer form for this construct."""


class Integers:
    """Expressions as Z3 integers. A variable that is a multiple of g becomes ``g * q``; quotients become variables."""

    def __init__(self, domains: dict[str, Domain]) -> None:
        import z3

        self.z3 = z3
        self.domains = domains
        self.constraints: list[Any] = []
        self.environment: dict[str, Any] = {}
        self._operations: dict[Op, Any] = {}

    def variable(self, name: str) -> Any:
        if name not in self.environment:
            z3, d = self.z3, self.domains.get(name, Domain())
            root = z3.Int(name if d.step == 1 or d.values is not None else f"{name}/{d.step}")
            v = root if d.step == 1 or d.values is not None else d.step * root
            self.environment[name] = v
            if d.values is not None:
                self.constraints.append(z3.Or([v == x for x in d.values]))
            else:
                self.constraints += [v >= d.lo] if d.lo is not None else []
                self.constraints += [v <= d.hi] if d.hi is not None else []
        return self.environment[name]

    def expression(self, e: Expr, inside: dict[str, Any] | None = None) -> Any:
        total: Any = self.z3.IntVal(0)
        for monomial, factor in e.terms:
            term: Any = self.z3.IntVal(factor)
            for atom in monomial:
                term = term * self._atom(atom, inside or {})
            total = total + term
        return self.z3.simplify(total)

    def _atom(self, atom: ex.Atom, inside: dict[str, Any]) -> Any:
        if isinstance(atom, Var):
            return inside[atom.name] if atom.name in inside else self.variable(atom.name)
        if not inside and atom in self._operations:
            return self._operations[atom]
        z3 = self.z3
        args = [self.expression(a, inside) for a in atom.args]
        if atom.kind in ("min", "max"):
            a, b = args
            return z3.If(a <= b, a, b) if atom.kind == "min" else z3.If(a <= b, b, a)
        if atom.kind == "abs":
            return z3.If(args[0] >= 0, args[0], -args[0])
        if atom.kind in ("div", "mod"):
            return self._division(atom, args, inside)
        raise UnsupportedError(f"{atom} has no integer form")

    def _division(self, operation: Op, args: list[Any], inside: dict[str, Any]) -> Any:
        """a = q*n + r with |r| < n and r of the sign of a, as C++ truncates; needs n > 0."""
        z3 = self.z3
        bounded = [a.substitute({n: ex.var(n, d) for n, d in self.domains.items()}) for a in operation.args]
        low_a, low_n = ex.bounds(bounded[0])[0], ex.bounds(bounded[1])[0]
        if low_n is None or low_n <= 0:
            raise UnsupportedError(f"sign of the divisor {bounded[1]} is not known")
        q, r = z3.FreshInt("q"), z3.FreshInt("r")
        self.constraints.append(args[0] == q * args[1] + r)
        if low_a is not None and low_a >= 0:
            self.constraints += [r >= 0, r < args[1], q >= 0]
        else:
            down = z3.And(r <= 0, -r < args[1], q <= 0)
            self.constraints.append(z3.If(args[0] >= 0, z3.And(r >= 0, r < args[1], q >= 0), down))
        if not inside:
            div_op, mod_op = (Op(k, operation.args) for k in ("div", "mod"))
            self._operations[div_op], self._operations[mod_op] = q, r
        return q if operation.kind == "div" else r

    def condition(self, c: Condition) -> Any:
        left, right = self.expression(c.lhs), self.expression(c.rhs)
        if c.rel is Rel.DIVIDES:
            k = self.z3.FreshInt("k")
            return self.z3.And(left != 0, right == left * k)
        return {
            Rel.EQ: lambda: left == right,
            Rel.NE: lambda: left != right,
            Rel.LT: lambda: left < right,
            Rel.LE: lambda: left <= right,
        }[c.rel]()

    def coordinate(self, shape: IntTuple, stride: IntTuple, name: str) -> tuple[Any, Any, list[Any], Any]:
        """A free coordinate: (offset, linear index, digits, number of coordinates). One variable a digit."""
        z3 = self.z3
        digits: list[Any] = []
        size: Any = z3.IntVal(1)
        index: Any = z3.IntVal(0)
        offset: Any = z3.IntVal(0)
        pending: list[tuple[IntTuple, IntTuple]] = [(shape, stride)]
        while pending:
            s, d = pending.pop(0)
            if isinstance(s, tuple):
                if not isinstance(d, tuple) or len(s) != len(d):
                    raise UnsupportedError("stride does not follow the shape")
                pending = [*zip(s, d, strict=True), *pending]
                continue
            if isinstance(s, ScaledBasis) or isinstance(d, (tuple, ScaledBasis)):
                raise UnsupportedError("a coordinate layout has no offsets")
            extent = self.expression(as_expr(s))
            digit = z3.Int(f"{name}[{len(digits)}]")
            digits.append(digit)
            self.constraints += [digit >= 0, digit < extent]
            offset = offset + digit * self.expression(as_expr(d))
            index = index + digit * size
            size = size * extent
        return offset, index, digits, size

    def model_values(self, model: Any) -> dict[str, int]:
        return {n: int(model.eval(v, model_completion=True).as_long()) for n, v in self.environment.items()}


def hypotheses_satisfiable(obligation: Obligation, options: Options) -> bool | None:
    """Whether some parameters meet all hypotheses; None when Z3 does not know."""
    t = Integers(variable_domains(obligation))
    s = solver(None, options)
    try:
        for h in obligation.hypotheses:
            s.add(t.condition(h))
    except UnsupportedError:
        return None
    s.add(*t.constraints)
    result = check(s, f"{obligation.id}-hypotheses", options)
    return None if result == "unknown" else result == "sat"


def run(obligation: Obligation, options: Options) -> Answer:
    """Search for parameters and coordinates that break the property; unsatisfiable means that it holds.

    A failing answer carries the parameters; the coordinates are found again at those parameters.
    """
    t = Integers(variable_domains(obligation))
    try:
        goals = _GOALS[type(obligation.objects)](obligation.objects, t)
        given = [t.condition(h) for h in obligation.hypotheses]
    except UnsupportedError as error:
        return unknown(str(error))
    for i, violated in enumerate(goals):
        s = solver(None, options)
        s.add(*given, *t.constraints, violated)
        result = check(s, f"{obligation.id}-integers-{i}", options)
        if result == "sat":
            return Answer("fails", values=tuple(sorted(t.model_values(s.model()).items())))
        if result == "unknown":
            return unknown(f"Z3: {s.reason_unknown()}")
    return Answer("holds")


def _different(t: Integers, left: list[Any], right: list[Any]) -> Any:
    return t.z3.Or([a != b for a, b in zip(left, right, strict=True)]) if left else t.z3.BoolVal(False)


def _once(t: Integers, shape: IntTuple, stride: IntTuple, size: Any) -> list[Any]:
    """Violations of: the layout maps its coordinates one to one onto [0, size)."""
    if any(isinstance(n, int) and n == 0 for n in it.leaves(shape)):
        raise UnsupportedError("a layout without elements has no coordinate to ask for")
    offset, _, digits, count = t.coordinate(shape, stride, "x")
    other, _, digits2, _ = t.coordinate(shape, stride, "y")
    return [
        count != size,
        t.z3.Or(offset < 0, offset >= size),
        t.z3.And(offset == other, _different(t, digits, digits2)),
    ]


def _size(t: Integers, shape: IntTuple) -> Any:
    if isinstance(shape, tuple):
        result: Any = t.z3.IntVal(1)
        for s in shape:
            result = result * _size(t, s)
        return result
    if isinstance(shape, ScaledBasis):
        raise UnsupportedError("a basis element is no extent")
    return t.expression(as_expr(shape))


def _coverage(c: p.Coverage, t: Integers) -> list[Any]:
    shape, stride = c.layout.shape, c.layout.stride
    if not isinstance(shape, tuple) or not isinstance(stride, tuple) or len(shape) != 2:
        raise UnsupportedError("a thread-value layout has two modes")
    threads_shape, threads_stride = shape[0], stride[0]
    if c.replicated and all(n != 0 for n in it.leaves(threads_shape)):
        threads_shape, threads_stride = _distinct(threads_shape, threads_stride)
    return _once(t, (threads_shape, shape[1]), (threads_stride, stride[1]), _size(t, c.tile))


def _distinct(shape: IntTuple, stride: IntTuple) -> tuple[IntTuple, IntTuple]:
    """Without the modes of stride 0, whose threads hold copies."""
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        kept = [_distinct(s, d) for s, d in zip(shape, stride, strict=True)]
        return tuple(s for s, _ in kept), tuple(d for _, d in kept)
    return (1, 0) if stride == 0 else (shape, stride)


def _bijective(b: p.Bijective, t: Integers) -> list[Any]:
    return _once(t, b.layout.shape, b.layout.stride, t.expression(as_expr(b.size)))


def _flat_layout(layout: AnyLayout) -> Layout:
    if not isinstance(layout, Layout):
        raise UnsupportedError("no integer form for a swizzle")
    return layout


def _injective(i: p.Injective, t: Integers) -> list[Any]:
    layout = _flat_layout(i.layout)
    offset, _, digits, _ = t.coordinate(layout.shape, layout.stride, "x")
    other, _, digits2, _ = t.coordinate(layout.shape, layout.stride, "y")
    return [t.z3.And(offset == other, _different(t, digits, digits2))]


def _cosize_fits(c: p.CosizeFits, t: Integers) -> list[Any]:
    layout = _flat_layout(c.layout)
    offset, *_ = t.coordinate(layout.shape, layout.stride, "x")
    place = t.expression(c.offset) + offset
    return [t.z3.Or(place < 0, place >= t.expression(as_expr(c.allocation)))]


def _layout_equal(e: p.LayoutEqual, t: Integers) -> list[Any]:
    left, right = _flat_layout(e.left), _flat_layout(e.right)
    offset, index, _, size = t.coordinate(left.shape, left.stride, "x")
    other, index2, _, size2 = t.coordinate(right.shape, right.stride, "y")
    return [size != size2, t.z3.And(index == index2, offset != other)]


def _counts(a: p.AtomCounts, t: Integers) -> list[Any]:
    return [t.z3.Or([t.expression(as_expr(c.actual)) != t.expression(as_expr(c.required)) for c in a.counts])]


def _not_divided(t: Integers, dividend: Any, divisor: Any) -> Any:
    """dividend = q * divisor + r with 0 < r < |divisor|, or a divisor of 0."""
    q, r = t.z3.FreshInt("q"), t.z3.FreshInt("r")
    inside = t.z3.And(r > 0, t.z3.Or(r < divisor, r < -divisor))
    return t.z3.Or(divisor == 0, t.z3.And(dividend == q * divisor + r, inside))


def _divides(d: p.Divides, t: Integers) -> list[Any]:
    return [_not_divided(t, t.expression(as_expr(m.dividend)), t.expression(as_expr(m.divisor))) for m in d.modes]


def _holds(h: p.Holds, t: Integers) -> list[Any]:
    return [
        _not_divided(t, t.expression(c.rhs), t.expression(c.lhs)) if c.rel is Rel.DIVIDES else t.z3.Not(t.condition(c))
        for c in h.conditions
    ]


def _in_bounds(b: p.InBounds, t: Integers) -> list[Any]:
    goals = []
    for c, e in zip(b.coordinates, b.extents, strict=True):
        x = t.expression(c)
        goals.append(t.z3.Or(x < 0, x >= t.expression(as_expr(e))))
    return goals


def _alignment(a: p.Alignment, t: Integers) -> list[Any]:
    if a.swizzle is not None and a.swizzle.bits:
        raise UnsupportedError("no integer form for a swizzle")
    offset, *_ = t.coordinate(a.rest.shape, a.rest.stride, "rest")
    base = t.z3.Int("base")
    t.constraints.append(base >= 0)
    bits = 8 * int(a.base_alignment) * base + int(a.element_bits) * (t.expression(a.offset) + offset)
    return [_not_divided(t, bits, t.z3.IntVal(8 * int(a.vector_bytes)))]


def _tma_limits(m: p.TmaLimits, t: Integers) -> list[Any]:
    z3 = t.z3
    box = [t.expression(as_expr(b)) for b in m.box]
    if not 1 <= len(box) <= 5 or int(m.swizzle_bytes) not in (0, 32, 64, 128) or int(m.global_alignment or 0) % 16:
        return [z3.BoolVal(True)]
    bits = int(m.element_bits) * box[0]
    goals = [z3.Or(b < 1, b > 256) for b in box]
    goals.append(_not_divided(t, bits, z3.IntVal(128)))
    goals.append(bits > 8 * int(m.swizzle_bytes) if int(m.swizzle_bytes) else z3.BoolVal(False))
    goals.append(t.expression(as_expr(m.inner_stride)) != 1)
    for stride in m.global_strides_bytes:
        s = t.expression(as_expr(stride))
        goals += [_not_divided(t, s, z3.IntVal(16)), s >= z3.IntVal(1 << 40)]
    copies, cluster = t.expression(as_expr(m.multicast)), t.expression(as_expr(m.cluster))
    goals.append(z3.Or(copies < 1, copies > 16, _not_divided(t, cluster, copies)))
    return goals


_GOALS: dict[type[object], Callable[[Any, Integers], list[Any]]] = {
    p.Coverage: _coverage,
    p.Bijective: _bijective,
    p.Injective: _injective,
    p.CosizeFits: _cosize_fits,
    p.LayoutEqual: _layout_equal,
    p.AtomCounts: _counts,
    p.Divides: _divides,
    p.Holds: _holds,
    p.InBounds: _in_bounds,
    p.Alignment: _alignment,
    p.TmaLimits: _tma_limits,
}
