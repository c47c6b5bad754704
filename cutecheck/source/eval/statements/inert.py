"""Loops that change nothing but variables of their own: they need no rehearsal, and none of them does in one.

Judged by what a loop spells, and by what the names in it mean where it stands: it assigns only to what it declares and
to elements of tensors, and calls nothing but the library's functions and methods, on values that run no code of the
tree. What cannot be told so is not inert.
"""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.source.eval import ir
from cutecheck.source.eval.lookup import lookup
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    FuncSet,
    Object,
    Pack,
    Pointer,
    PtrType,
    TemplateRef,
    Value,
)

_Leaf = ir.Name | ir.Scoped
_COMPARES = ("==", "!=", "<=", ">=")
_STEPS = ("++", "--", "p++", "p--")


def inert(m: Machine, node: ir.Loop, env: Env) -> bool:
    """Whether a walk of the loop leaves every variable that is not its own as it was; nor does it end the function."""
    spelled = _spelled(node)
    if spelled is None or m.dialect.name != "cpp":
        return False
    for name in spelled:
        if isinstance(name, ir.Name):
            value = lookup(m, name.ident, env, name.span)
        else:
            with m.recorder.rehearsing(), m.budget.aside():
                value = m.eval(name, env)
        if _runs_code(value):
            return False
    return True


def _runs_code(value: Value) -> bool:
    """Operators, members or calls of the value may be code of the tree."""
    if isinstance(value, tuple):
        return any(_runs_code(v) for v in value)
    if isinstance(value, Pointer):
        return isinstance(value.type, (ClassInst, PtrType, ArrayType))
    if isinstance(value, TemplateRef):
        return bool(value.entries)
    return isinstance(value, (FuncSet, Closure, Object, ClassInst, Pack, list, dict))


class _NotInertError(Exception):
    pass


@once
def _spelled(node: ir.Loop) -> tuple[_Leaf, ...] | None:
    """The names of a loop that it does not declare, each once; None where it may change something."""
    found: dict[str, _Leaf] = {}
    try:
        _statement(node, frozenset(), found)
    except _NotInertError:
        return None
    return tuple(found.values())


def _statement(node: ir.Stmt | None, own: frozenset[str], found: dict[str, _Leaf]) -> frozenset[str]:
    """Goes through a statement; the names that are declared after it."""
    if isinstance(node, ir.Block):
        inside = own
        for stmt in node.body:
            inside = _statement(stmt, inside, found)
    elif isinstance(node, ir.ExprStmt):
        _expression(node.expr, own, found)
    elif isinstance(node, ir.Local):
        decl = node.decl
        if not isinstance(decl, ir.Variable) or decl.flags & {"static", "shared"}:
            raise _NotInertError
        _expression((decl.type, decl.init, decl.init_args), own, found)
        return own | {decl.name}
    elif isinstance(node, ir.Assign):
        target = node.target
        if isinstance(target, ir.Call):  # an element of a tensor; `x.data() = p` is another tensor
            if isinstance(target.fn, ir.Attr):
                raise _NotInertError
        elif not (isinstance(target, ir.Name) and target.ident in own):
            raise _NotInertError
        _expression((target, node.value), own, found)
    elif isinstance(node, ir.If):
        inside = _statement(node.init, own, found)
        _expression(node.cond, inside, found)
        _statement(node.then, inside, found)
        _statement(node.other, inside, found)
    elif isinstance(node, ir.Loop) and node.kind != "foreach":
        inside = _statement(node.init, own, found)
        _expression(node.cond, inside, found)
        _statement(node.step, inside, found)
        _statement(node.body, inside, found)
    elif isinstance(node, ir.Assert):
        _expression(node.cond, own, found)
    elif node is not None and not (isinstance(node, ir.Jump) and node.kind in ("break", "continue")):
        raise _NotInertError
    return own


def _expression(node: Any, own: frozenset[str], found: dict[str, _Leaf]) -> None:
    """Goes through an expression, or several of them."""
    if isinstance(node, ir.Name):
        if node.ident not in own:
            found.setdefault(node.ident, node)
        _expression(node.targs, own, found)
    elif isinstance(node, ir.Scoped):
        base: Any = node.base
        while isinstance(base, ir.Scoped) and base.targs is None:
            base = base.base
        if base is not None and not (isinstance(base, ir.Name) and base.targs is None and base.ident not in own):
            raise _NotInertError
        plain = ir.Scoped(node.base, node.ident, None, node.span)
        found.setdefault(f"{_path(plain)}", plain)
        _expression(node.targs, own, found)
    elif _writes(node, own):
        raise _NotInertError
    elif isinstance(node, (tuple, list)):
        for item in node:
            _expression(item, own, found)
    elif hasattr(node, "__dataclass_fields__") and not isinstance(node, Span):
        for field in node.__dataclass_fields__:
            _expression(getattr(node, field), own, found)


def _writes(node: Any, own: frozenset[str]) -> bool:
    """Whether an expression writes a variable, or does what may."""
    if isinstance(node, ir.Unary):
        target = node.operand
        ours = isinstance(target, ir.Name) and target.ident in own
        return node.op == "&" or (node.op in _STEPS and not ours)
    if isinstance(node, ir.Binary):
        return node.op[-1] == "=" and node.op not in _COMPARES
    if isinstance(node, ir.Call):
        return node.launch is not None
    return isinstance(node, (ir.Lambda, ir.Expand, ir.Fold, ir.Comprehension))


def _path(node: ir.Expr | None) -> str:
    if isinstance(node, ir.Scoped):
        return f"{_path(node.base)}::{node.ident}"
    return node.ident if isinstance(node, ir.Name) else ""
