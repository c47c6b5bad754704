"""The comparisons an assertion states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.model import ints
from cutecheck.model.expr import Op
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def conditions(m: Machine, node: ir.Expr, env: Env) -> list[Condition]:
    """The comparisons that an asserted expression states over open or run-time integers."""
    if not isinstance(node, ir.Binary):
        return []
    if node.op in ("&&", "and"):
        return conditions(m, node.left, env) + conditions(m, node.right, env)
    relations = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE, ">": Rel.LT, ">=": Rel.LE}
    if node.op not in relations:
        return []
    sides = [m.dialect.to_model(m.eval(side, env)) for side in (node.left, node.right)]
    if not all(isinstance(s, (int, Dyn, Sym)) for s in sides) or all(isinstance(s, int) for s in sides):
        return []
    left, right = (ints.as_expr(s) for s in (reversed(sides) if node.op in (">", ">=") else sides))
    if node.op == "==" and right.constant == 0 and len(left.terms) == 1:
        ((monomial, factor),) = left.terms
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Op) and monomial[0].kind == "mod":
            value, modulus = monomial[0].args
            return [Condition(Rel.DIVIDES, modulus, value)]
    return (
        [] if left.constant is not None and right.constant is not None else [Condition(relations[node.op], left, right)]
    )
