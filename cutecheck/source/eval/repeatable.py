"""Which expressions may be evaluated once more, by what they are made of: nothing is written, no function is called."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import parts_in
from cutecheck.source.eval.values import Closure, FuncSet

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env

_ASSIGNS = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})

_STEPS = frozenset({"++", "--", "p++", "p--"})
_ASKS = frozenset({"get", "size", "min", "max"})  # of CuTe and CUDA
NUMBERS = frozenset(  # types
    {"int", "unsigned", "long", "float", "bool", "size_t", "int32_t", "uint32_t", "int64_t", "uint64_t"}
)
_RANKS = frozenset({"thread_rank", "meta_group_rank", "block_rank"})  # methods of cooperative groups
_CONSTANT = re.compile(r"Int|C|_\d+")  # of CuTe


def is_assignment(node: ir.Expr) -> bool:
    return isinstance(node, ir.Binary) and node.op in _ASSIGNS


def quiet(node: ir.Expr) -> bool:
    if isinstance(node, (ir.Name, ir.Scoped)):
        return True
    if isinstance(node, ir.Attr):
        return quiet(node.base)
    if isinstance(node, ir.Index):
        return quiet(node.base) and all(isinstance(a, ir.Lit) or quiet(a) for a in node.args)
    return isinstance(node, ir.Unary) and node.op == "*" and quiet(node.operand)


def changes_nothing(node: ir.Expr) -> bool:
    """Names, numbers and operators that can be evaluated for their type alone."""
    if isinstance(node, (ir.Lit, ir.Name, ir.Scoped, ir.SizeOf)):
        return True
    if isinstance(node, ir.Attr):
        return changes_nothing(node.base)
    if isinstance(node, ir.Unary):
        return node.op in ("-", "+", "~", "!", "not") and changes_nothing(node.operand)
    if isinstance(node, ir.Cast):
        return changes_nothing(node.operand)
    if isinstance(node, ir.Binary):
        return not is_assignment(node) and changes_nothing(node.left) and changes_nothing(node.right)
    if isinstance(node, ir.Call):
        named = node.fn.ident if isinstance(node.fn, (ir.Name, ir.Scoped, ir.Attr)) else ""
        if isinstance(node.fn, ir.Attr):
            return named in _RANKS and not node.args and changes_nothing(node.fn.base)
        if node.launch or named not in _ASKS | NUMBERS:
            return False
        return all(changes_nothing(a.value) for a in node.args)  # `int(x)` is a call of the type
    if isinstance(node, ir.Construct):
        return not node.args and _CONSTANT.fullmatch(getattr(node.type, "ident", "")) is not None
    return isinstance(node, ir.Select) and all(map(changes_nothing, (node.cond, node.then, node.other)))


def may_change(m: Machine, node: ir.Expr, env: Env) -> bool:
    """Whether an expression assigns to something, or calls a function of the program that may."""
    if changes_nothing(node):
        return False
    for part in parts_in(node):
        if is_assignment(part) or (isinstance(part, ir.Unary) and part.op in _STEPS):
            return True
        if isinstance(part, ir.Call) and isinstance(part.fn, (ir.Name, ir.Scoped)):
            fn = m.eval(part.fn, env)
            if isinstance(fn, Closure) or (isinstance(fn, FuncSet) and any(e.decl.body for e in fn.entries)):
                return True
    return False


def passes_on(node: ir.Call) -> bool:
    """``std::move(x)`` and ``std::forward<T>(x)``."""
    return len(node.args) == 1 and getattr(node.fn, "ident", "") in ("move", "forward")
