"""Expressions, swizzles, layouts and conditions as Z3 bit-vectors."""

from __future__ import annotations

from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.model.layout import IntTuple, Swizzle

# Widths at which lane distances inside shared memory (under 2^18 bytes) never meet modulo 2^width.
WIDTH = 28
NARROW = 20
NARROW_LIMIT = 1 << 17  # largest bound of a variable at the narrow width
OPEN = 1 << 20  # bound put on run-time values that meet a division or bit operation


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
        self.left_out: list[str] = []  # why hypotheses have no form
        self.environment: dict[str, Any] = {}

    def value(self, number: int) -> Any:
        return self.z3.BitVecVal(number, self.width)

    def variable(self, name: str) -> Any:
        if name not in self.environment:
            d = self.domains.get(name, Domain())
            low, high = d.bounds()
            if low is not None and low >= 0 and high is not None and high < 1 << (self.width - 1):
                v = self.field(name, high.bit_length())
            else:
                v = self.z3.BitVec(name, self.width)
            self.environment[name] = v
            self._constrain(v, d)
        return self.environment[name]

    def field(self, name: str, bits: int, shift: int = 0) -> Any:
        """A variable of ``bits`` bits at ``shift``, the others 0: fewer unknowns than a bounded word."""
        z3 = self.z3
        if bits == 0:
            return self.value(0)
        parts = [z3.BitVec(name, bits)]
        if shift:
            parts.append(z3.BitVecVal(0, shift))
        if self.width > bits + shift:
            parts.insert(0, z3.BitVecVal(0, self.width - bits - shift))
        return z3.Concat(*parts) if len(parts) > 1 else parts[0]

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
        if not (operation.kind == "and" and any(self._is_mask(a) for a in operation.args)):
            for argument in operation.args:
                self.require_range(argument)
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

    def _is_mask(self, argument: Expr) -> bool:
        """A number under which only bits inside the width count: the other operand may be negative or wrap."""
        number = argument.constant
        return number is not None and 0 <= number < 1 << (self.width - 1)

    def _with_domains(self, e: Expr) -> Expr:
        return e.substitute({n: ex.var(n, d) for n, d in self.domains.items()})

    def require_range(self, argument: Expr, least: int = 0) -> None:
        """Operands of non-polynomial operations must be naturals that do not wrap.

        ``least``: below it what is asked would be answered wrongly; sums and products alone may wrap.
        """
        limited = {}
        for v in argument.variables():
            d = self.domains.get(v.name, v.domain)
            if d.bounds()[1] is None:
                d = Domain(d.lo, OPEN - 1, d.step)
                self.bounded.add(v.name)
                self.domains[v.name] = d
                bv = self.variable(v.name)
                self.constraints.append(self.z3.ULE(bv, self.value(OPEN - 1)))
            limited[v.name] = d
        low, high = ex.bounds(argument.substitute({n: ex.var(n, d) for n, d in limited.items()}))
        top = self.width if least == 0 else self.width - 1
        if low is None or low < least or high is None or high >= 1 << top:
            raise UnsupportedError(f"range of {argument} in a division or bit operation is not known")

    def condition(self, c: Condition, inside: dict[str, Any] | None = None) -> Any:
        """A hypothesis; ``inside`` gives the values of some variables."""
        z3 = self.z3
        for side in (c.lhs, c.rhs):
            self.require_range(side)
        left, right = self.expression(c.lhs, inside), self.expression(c.rhs, inside)
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
            self.domains[name] = Domain(0, OPEN - 1 if top is None else top - 1)
            digit = self.variable(name)
            if extent.constant is None:
                self.require_range(extent)
                self.constraints.append(self.z3.ULT(digit, self.expression(extent)))
            return digit * self.expression(as_expr(d))

        return walk(shape, stride)
