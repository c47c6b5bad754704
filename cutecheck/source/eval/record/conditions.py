"""The comparisons that an assertion, or a condition that was passed, states."""

from __future__ import annotations

from math import gcd
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any

from cutecheck.model import expr as ex
from cutecheck.model import ints
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.source.eval import ir
from cutecheck.source.eval.record.ways import lone, where
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import FuncSet, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_RELATIONS = {"==": Rel.EQ, "!=": Rel.NE, "<": Rel.LT, "<=": Rel.LE, ">": Rel.LT, ">=": Rel.LE}
_NUMBERS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_LABELS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<="}  # of comparisons that are not decided
_BOTH = ("both", "either")  # of those joined by && and ||
_PURE = (*_RELATIONS, "+", "-", "*", "/", "//", "%", "&", "&&", "||", "and", "or")
_INDICES = ("threadIdx.", "blockIdx.")


def conditions(m: Machine, node: ir.Expr, env: Env, holds: bool = True) -> list[Condition]:
    """The comparisons that an expression states over open or run-time integers when it is true, or false."""
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return conditions(m, node.operand, env, not holds)
    if holds and m.dialect.by_value and m.recorder.on_host():
        from cutecheck.source.eval.observed import asserted

        whole = asserted(m, node, env)
        if whole:
            return whole
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


def divisibilities(m: Machine, node: ir.Expr, env: Env, holds: bool, value: Value = None) -> list[Condition]:
    """What a condition of the code says of divisors, by its text or by its ``value``, where it is about no index."""
    found = [*(conditions(m, node, env, holds) if pure(node) else []), *stated(m, value, holds)]
    found = [one for c in dict.fromkeys(found) for one in ([c] if c.rel is Rel.DIVIDES else implied(c))]
    sides = [(c, [*c.lhs.variables(), *c.rhs.variables()]) for c in dict.fromkeys(found)]
    found = [c for c, variables in sides if not any(map(_is_index, variables))]
    return found + _contiguities(m, node, env, holds) if m.dialect.by_value and m.recorder.on_host() else found


def _contiguities(m: Machine, node: ir.Expr, env: Env, holds: bool) -> list[Condition]:
    """What ``!x.is_contiguous()``, not passed, says of a tensor."""
    from cutecheck.source.eval.observed import asserted

    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return _contiguities(m, node.operand, env, not holds)
    if isinstance(node, ir.Binary) and node.op in (("&&", "and") if holds else ("||", "or")):
        return [c for side in (node.left, node.right) for c in _contiguities(m, side, env, holds)]
    return asserted(m, node, env) if holds and isinstance(node, ir.Call) else []


def implied(condition: Condition) -> list[Condition]:
    """What is equal to a constant is a multiple of it; where ``ld % 16 == 8``, 8 divides ``ld``, and 16 ``ld - 8``."""
    if condition.rel is not Rel.EQ:
        return []
    for one, other in ((condition.lhs, condition.rhs), (condition.rhs, condition.lhs)):
        if one.constant and other.constant is None:
            rest = abs(one.constant)
            congruent = _congruent(other, rest) if one.constant > 0 else []
            found = congruent or [Condition(Rel.DIVIDES, ex.const(rest), other)]
            found = [c for c in found if c.lhs.constant != 1]
            return [*found, condition] if lone(other) is not None else found
    return []


def _congruent(number: Expr, rest: int) -> list[Condition]:
    """What ``x % 16`` or ``x & 15`` says of x when it is ``rest``."""
    ((monomial, factor),) = number.terms if len(number.terms) == 1 else (((), 0),)
    if factor != 1 or len(monomial) != 1 or not isinstance(monomial[0], Op) or len(monomial[0].args) != 2:
        return []
    inside, by = monomial[0].args
    modulus = by.constant or 0
    if monomial[0].kind == "and" and modulus & (modulus + 1) == 0:
        modulus += 1
    elif monomial[0].kind != "mod":
        return []
    if modulus <= rest:
        return []
    whole = Condition(Rel.DIVIDES, ex.const(modulus), ex.sub(inside, ex.const(rest)))
    return [Condition(Rel.DIVIDES, ex.const(gcd(modulus, rest)), inside), whole]


def said(m: Machine, node: ir.Expr, env: Env) -> list[Condition]:
    """What an assertion states by the value of a name, or of a call of a function of the tree with plain arguments."""
    if isinstance(node, ir.Unary) and node.op in ("!", "not"):
        return [] if not _plain(m, node.operand, env) else stated(m, m.eval(node, env), True)
    if isinstance(node, ir.Binary) and node.op in ("&&", "and"):
        return [*said(m, node.left, env), *said(m, node.right, env)]
    return stated(m, m.eval(node, env), True) if _plain(m, node, env) else []


def _plain(m: Machine, node: ir.Expr, env: Env) -> bool:
    if isinstance(node, (ir.Name, ir.Scoped)):
        return True
    if not isinstance(node, ir.Call) or not isinstance(node.fn, (ir.Name, ir.Scoped)):
        return False
    if not all(pure(a.value) for a in node.args):
        return False
    fn = m.eval(node.fn, env)
    return isinstance(fn, FuncSet) and all(e.decl.body is not None for e in fn.entries)


def stated(m: Machine, value: Value, holds: bool) -> list[Condition]:
    """What the value of a condition says when it is true, or false."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, (Dyn, Sym)):
        return []
    variable = lone(number.expr)
    if variable is not None:
        told = m.told.get(variable.name, ())
        return where(told, lambda n: bool(n) is holds, lambda v: stated(m, v, holds))
    if not holds and (remainder := _remainder(number.expr)) is not None:
        return [remainder]
    ((monomial, factor),) = number.expr.terms if len(number.expr.terms) == 1 else (((), 0),)
    if factor != 1 or len(monomial) != 1 or not isinstance(monomial[0], Op) or monomial[0].kind != "opaque":
        return []
    label, arguments = monomial[0].label, monomial[0].args
    if label in _BOTH and len(arguments) == 2:
        both = holds is (label == "both")
        return [c for a in arguments for c in stated(m, Dyn(a), holds)] if both else []
    if label not in _LABELS or len(arguments) != 2:
        return []
    op = _LABELS[label] if holds else _OPPOSITE[_LABELS[label]]
    left, right = arguments
    compare = _NUMBERS[op]
    for one, other, turned in ((left, right, False), (right, left, True)):
        limit = other.constant
        if limit is None:
            continue
        variable = lone(one)
        if variable is not None and variable.name in m.told:
            meets = (lambda n, at=limit: compare(at, n)) if turned else (lambda n, at=limit: compare(n, at))
            return where(m.told[variable.name], meets, lambda v: [])
        if op in ("==", "!=") and limit == 0 and lone(one) is None:
            inner = stated(m, Dyn(one), op == "!=")
            if inner:
                return inner
    return _compared(op, [Dyn(left), Dyn(right)])


def is_comparison(number: Dyn, joined: bool = False) -> bool:
    """One comparison, and nothing else; with ``joined`` several, too."""
    ((monomial, factor),) = number.expr.terms if len(number.expr.terms) == 1 else (((), 0),)
    only = monomial[0] if factor == 1 and len(monomial) == 1 else None
    labels = (*_LABELS, *_BOTH) if joined else _LABELS
    return isinstance(only, Op) and only.kind == "opaque" and only.label in labels


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
