"""Z3 integers: index algebra with symbolic extents, divisibility by substitution."""

from __future__ import annotations

from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove.answer import Options
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
        """a = q*n + r with 0 <= r < n; needs a >= 0 and n > 0, where C++ and mathematics agree."""
        z3 = self.z3
        bounded = [a.substitute({n: ex.var(n, d) for n, d in self.domains.items()}) for a in operation.args]
        low_a, low_n = ex.bounds(bounded[0])[0], ex.bounds(bounded[1])[0]
        if low_a is None or low_a < 0 or low_n is None or low_n <= 0:
            raise UnsupportedError(f"sign of the operands of {operation} is not known")
        q, r = z3.FreshInt("q"), z3.FreshInt("r")
        self.constraints += [args[0] == q * args[1] + r, r >= 0, r < args[1], q >= 0]
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
