"""The comparisons that an assertion, or a condition that was passed, states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.model import expr as ex
from cutecheck.model import ints
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_RELATIONS = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE, ">": Rel.LT, ">=": Rel.LE}
_PURE = (*_RELATIONS, "+", "-", "*", "/", "//", "%", "&", "&&", "||", "and", "or")
_INDICES = ("threadIdx.", "blockIdx.")


def conditions(m: Machine, node: ir.Expr, env: Env, holds: bool = True) -> list[Condition]:
    """The comparisons that an expression states over open or run-time integers when it is true, or false."""
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return conditions(m, node.operand, env, not holds)
    if isinstance(node, ir.Binary) and node.op in (("&&", "and") if holds else ("||", "or")):
        return conditions(m, node.left, env, holds) + conditions(m, node.right, env, holds)
    if isinstance(node, ir.Binary) and node.op in _RELATIONS:
        op = node.op if holds else _OPPOSITE[node.op]
        sides = [m.dialect.to_model(m.eval(side, env)) for side in (node.left, node.right)]
    elif not holds and pure(node):
        op, sides = "==", [m.dialect.to_model(m.eval(node, env)), 0]
    else:
        return []
    return _compared(op, sides)


def divisibilities(m: Machine, node: ir.Expr, env: Env, holds: bool) -> list[Condition]:
    """What a condition of the code says of divisors, where it can be evaluated again and is about no index."""
    if not pure(node):
        return []
    found = [c for c in conditions(m, node, env, holds) if c.rel is Rel.DIVIDES]
    return [c for c in found if not any(map(_is_index, c.rhs.variables()))]


def _is_index(variable: Var) -> bool:
    """The thread, the block, or a loop's index with known bounds."""
    return variable.name.startswith(_INDICES) or ("#" in variable.name and variable.domain.bounds()[1] is not None)


def pure(node: ir.Expr) -> bool:
    """Names, numbers and operators that change nothing."""
    if isinstance(node, ir.Binary):
        return node.op in _PURE and pure(node.left) and pure(node.right)
    if isinstance(node, ir.Unary):
        return node.op in ("!", "not", "-", "+") and pure(node.operand)
    return isinstance(node, (ir.Lit, ir.Name, ir.Scoped)) or (isinstance(node, ir.Attr) and pure(node.base))


def _compared(op: str, sides: list[Any]) -> list[Condition]:
    if not all(isinstance(s, (int, Dyn, Sym)) for s in sides) or all(isinstance(s, int) for s in sides):
        return []
    left, right = (ints.as_expr(s) for s in (reversed(sides) if op in (">", ">=") else sides))
    if op == "==" and 0 in (left.constant, right.constant):
        number = left if right.constant == 0 else right
        remainder = _remainder(number)
        if remainder is not None:
            return [remainder]
        if any(isinstance(a, Op) and a.kind in ("and", "or", "xor") for m, _ in number.terms for a in m):
            return []  # bits that no engine takes as a hypothesis
    if left.constant is not None and right.constant is not None:
        return []
    return [Condition(_RELATIONS[op], left, right)]


def _remainder(number: Expr) -> Condition | None:
    """``value % modulus`` or ``value & (modulus - 1)`` is 0: the modulus divides the value."""
    if len(number.terms) != 1:
        return None
    ((monomial, factor),) = number.terms
    if factor != 1 or len(monomial) != 1 or not isinstance(monomial[0], Op):
        return None
    kind, arguments = monomial[0].kind, monomial[0].args
    if kind == "mod":
        return Condition(Rel.DIVIDES, arguments[1], arguments[0])
    mask = arguments[-1].constant
    if kind == "and" and mask is not None and mask > 0 and mask & (mask + 1) == 0:
        return Condition(Rel.DIVIDES, ex.const(mask + 1), arguments[0])
    return None
