"""Whether an object that an expression names is a constant there, and what a pointer leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cutecheck.source.eval import classes, foreign, ir, places, qualifiers
from cutecheck.source.eval.scope import Entry, Env, self_of
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import Address, ArrayType, ObjectPointer, Pointer, PtrType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.overloads import Candidate


_LOST = ("const", "volatile", "ref", "rref", "function")  # of types, which are kept without


def this_is_constant(env: Env) -> bool | None:
    """Of the method that runs, or around the closure that does; None outside of methods."""
    at: Env | None = env
    while at is not None:
        if at.self_ is not None:
            return at.fixed is not None and "this" in at.fixed
        at = at.parent
    return None


def constant(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether what an expression names is a constant there."""
    if isinstance(node, ir.Name):
        at = env.find_var(node.ident)
        if at is not None:
            return at.fixed is not None and node.ident in at.fixed
        return _member(m, node.ident, self_of(env), this_is_constant(env))
    if isinstance(node, ir.Attr):
        base = m.eval(node.base, env) if places.quiet(node.base) else None
        base = base.to if isinstance(base, ObjectPointer) else base
        return _member(m, node.ident, base, of_object(m, node.base, env))
    if isinstance(node, ir.Index):
        return constant(m, node.base, env)
    if isinstance(node, ir.Unary) and node.op == "*":
        return leads_to_constant(m, node.operand, env)
    if isinstance(node, ir.Cast):
        return qualifiers.refers(node.type) and qualifiers.constant(node.type)
    if isinstance(node, ir.Call) and len(node.args) == 1:
        name = getattr(node.fn, "ident", "")
        return True if name == "as_const" else constant(m, node.args[0].value, env) if name == "move" else None
    return False if isinstance(node, ir.Construct) else None


def _member(m: Machine, name: str, obj: Value, within: bool | None) -> bool | None:
    decl = next((d for _, d in classes.fields(m, obj.cls) if d.name == name), None) if _known(obj) else None
    if decl is None:
        return within
    return qualifiers.never_written(decl) or (not qualifiers.refers(decl.type) and within)


def _known(obj: Value) -> bool:
    return hasattr(obj, "cls")


def of_object(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether ``node.f()`` or ``node->f()`` is called for a constant."""
    if isinstance(node, ir.Name) and node.ident == "this":
        return this_is_constant(env)
    value = m.eval(node, env) if places.quiet(node) else None
    if isinstance(value, (ObjectPointer, Pointer, Address)):
        return leads_to_constant(m, node, env)
    return constant(m, node, env)


def leads_to_constant(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether a pointer is one to a constant."""
    if isinstance(node, ir.Name):
        if node.ident == "this":
            return this_is_constant(env)
        at = env.find_var(node.ident)
        if at is None:
            return None
        value = at.vars[node.ident]
        array = type(value) is Elements or (isinstance(value, Pointer) and isinstance(value.type, ArrayType))
        return at.fixed is not None and (node.ident if array else f"*{node.ident}") in at.fixed
    if isinstance(node, ir.Unary) and node.op == "&":
        return constant(m, node.operand, env)
    return to_constant(node.type) if isinstance(node, ir.Cast) else None


def to_constant(t: ir.Expr | None) -> bool:
    """``T const*``."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile", "ref", "rref"):
        t = t.inner
    return isinstance(t, ir.TypeMod) and t.kind == "ptr" and isinstance(t.inner, ir.TypeMod) and t.inner.kind == "const"


def takes_pointers(functions: Iterable[ir.Function]) -> bool:
    """Whether overloads are told apart by what a pointer leads to."""
    return any(to_constant(p.type) for fn in functions for p in fn.params)


def by_pointers(found: list[Candidate], leads: Sequence[bool | None]) -> list[Candidate]:
    """Of ``f(T*)`` and ``f(T const*)`` the one for what is given, where that is known."""
    for i, known in enumerate(leads):
        kinds = [to_constant(c.fn.params[i].type) if _pointer(c.fn, i) else None for c in found]
        if known is not None and {True, False} <= set(kinds):
            found = [c for c, kind in zip(found, kinds, strict=True) if kind in (None, known)]
    return found


def _pointer(fn: ir.Function, i: int) -> bool:
    t = fn.params[i].type if i < len(fn.params) else None
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile", "ref", "rref"):
        t = t.inner
    return isinstance(t, ir.TypeMod) and t.kind == "ptr"


def qualified(node: ir.Expr | None, env: Env) -> bool:
    """A template argument that is a constant, a pointer to one, or a reference: types are kept without."""
    while isinstance(node, ir.TypeMod):
        if node.kind in _LOST:
            return True
        node = node.inner
    if isinstance(node, (ir.Name, ir.Scoped)):
        return node.ident in ("add_const_t", "add_const")
    if not isinstance(node, ir.DeclType) or not isinstance(node.expr, ir.Name):
        return False
    at, name = env.find_var(node.expr.ident), node.expr.ident
    return at is not None and at.fixed is not None and bool({name, f"*{name}"} & at.fixed)


def hidden(node: ir.Expr, value: Value) -> bool:
    """A pointer by another name, which may be one to a constant."""
    return isinstance(value, PtrType) and not isinstance(node, ir.TypeMod)


def tells_apart(entries: Iterable[Entry]) -> bool:
    """A template with specialisations for such types."""
    return any(qualifies(p) for e in entries for p in getattr(e.decl, "spec_args", None) or ())


def qualifies(pattern: ir.Expr) -> bool:
    """A pattern of such a type."""
    while isinstance(pattern, ir.TypeMod) and pattern.kind not in _LOST:
        pattern = pattern.inner
    return isinstance(pattern, ir.TypeMod)


def points(pattern: ir.Expr) -> bool:
    """A pattern of pointers to such."""
    return isinstance(pattern, ir.TypeMod) and pattern.kind == "ptr" and qualifies(pattern)


def alike(first: ir.Expr, second: ir.Expr) -> bool:
    """Whether two types have the same qualifiers, as far as they are written."""
    a, b = _written(first), _written(second)
    return a == b


def _written(node: ir.Expr) -> list[str]:
    found: list[str] = []
    while isinstance(node, ir.TypeMod):
        found.append(node.kind)
        node = node.inner
    return found if set(found) & {*_LOST} else []


def declare(m: Machine, name: str, t: ir.Expr | None, init: ir.Expr | None, env: Env) -> None:
    """Note of a variable whether it is a reference, or a pointer, to a constant."""
    if to_constant(t):
        env.fix(f"*{name}")
        return
    if t is None or init is None or not qualifiers.is_auto(t):
        return
    if qualifiers.refers(t):
        if not qualifiers.constant(t) and constant(m, init, env):
            env.fix(name)
    elif leads_to_constant(m, init, env):
        env.fix(f"*{name}")


def read_only(m: Machine, node: ir.Expr, env: Env) -> bool:
    """Whether an argument is a constant that a reference may be bound to."""
    return bool(constant(m, node, env)) or (isinstance(node, (ir.Name, ir.Attr)) and not foreign.writable(m, node, env))
