"""Whether an object that an expression names is a constant there, and what a pointer leads to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.source.eval import classes, foreign, ir, places, qualifiers, repeatable
from cutecheck.source.eval.lookup import lookup
from cutecheck.source.eval.scope import ClassInst, Entry, Env, self_of
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    ObjectPointer,
    Pointer,
    PtrType,
    ScalarType,
    Str,
    Value,
    VoidType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.overloads import Candidate


_STRIPS = frozenset({"remove_const_t", "remove_cv_t", "remove_cvref_t", "decay_t"})
_HANDS_ON = ("move", "get")
_DEPTH = 20  # aliases of aliases
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
        base = m.eval(node.base, env) if repeatable.quiet(node.base) else None
        base = base.to if isinstance(base, ObjectPointer) else base
        return _member(m, node.ident, base, of_object(m, node.base, env))
    if isinstance(node, ir.Index):
        return of_object(m, node.base, env)
    if isinstance(node, ir.Unary) and node.op == "*":
        return leads_to_constant(m, node.operand, env)
    if isinstance(node, ir.Cast):
        return qualifiers.refers(node.type) and qualifiers.constant(node.type)
    if isinstance(node, ir.Call) and len(node.args) == 1:
        name = getattr(node.fn, "ident", "")
        return True if name == "as_const" else constant(m, node.args[0].value, env) if name in _HANDS_ON else None
    return False if isinstance(node, ir.Construct) else None


def _member(m: Machine, name: str, obj: Value, within: bool | None) -> bool | None:
    decl = next((d for _, d in classes.fields(m, obj.cls) if d.name == name), None) if _known(obj) else None
    if decl is None:
        return within
    return qualifiers.never_written(decl) or (not qualifiers.refers(decl.type) and within)


def _known(obj: Value) -> bool:
    return getattr(obj, "cls", None) is not None  # a set of functions has a class where they are methods


def of_object(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether ``node.f()`` or ``node->f()`` is called for a constant."""
    if isinstance(node, ir.Name) and node.ident == "this":
        return this_is_constant(env)
    value = m.eval(node, env) if repeatable.quiet(node) else None
    if isinstance(value, (ObjectPointer, Pointer, Address, Str)):
        return leads_to_constant(m, node, env)
    return constant(m, node, env)


def leads_to_constant(m: Machine, node: ir.Expr, env: Env) -> bool | None:
    """Whether a pointer is one to a constant."""
    if isinstance(node, ir.Lit):
        return isinstance(node.value, str)
    if isinstance(node, ir.Name):
        if node.ident == "this":
            return this_is_constant(env)
        at = env.find_var(node.ident)
        if at is None:
            return None
        value = places.held(m, at.vars, node.ident)
        if isinstance(value, Unknown) and not at.fixed:
            return None
        array = isinstance(value, Elements) or (isinstance(value, Pointer) and isinstance(value.type, ArrayType))
        return at.fixed is not None and (f"*{node.ident}" in at.fixed or (array and node.ident in at.fixed))
    if isinstance(node, ir.Unary) and node.op == "&":
        return constant(m, node.operand, env)
    if isinstance(node, ir.Unary) and node.op in ("++", "--", "p++", "p--"):
        return leads_to_constant(m, node.operand, env)
    if isinstance(node, ir.Binary) and node.op in ("+", "-"):
        sides = [leads_to_constant(m, side, env) for side in (node.left, node.right) if not isinstance(side, ir.Lit)]
        return next((side for side in sides if side), sides[-1]) if sides else None
    return to_constant(node.type) if isinstance(node, ir.Cast) else None


def to_constant(t: ir.Expr | None) -> bool:
    """``T const*``."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile", "ref", "rref"):
        t = t.inner
    return isinstance(t, ir.TypeMod) and t.kind == "ptr" and isinstance(t.inner, ir.TypeMod) and t.inner.kind == "const"


def takes_pointers(functions: Iterable[ir.Function]) -> bool:
    """Whether overloads are told apart by what a pointer leads to."""
    return any(
        to_constant(p.type) or (fn.tparams and is_pointer(fn, i)) for fn in functions for i, p in enumerate(fn.params)
    )


def by_pointers(found: list[Candidate], leads: Sequence[bool | None]) -> list[Candidate]:
    """Without ``f(int*)`` where what is given leads to a constant and another one takes that."""
    for i, known in enumerate(leads):
        can = [c for c in found if not is_pointer(c.fn, i) or to_constant(c.fn.params[i].type) or _deduces(c.fn, i)]
        found = can if known and can else found
    return found


def _deduces(fn: ir.Function, i: int) -> bool:
    """``T*``, which may be one to a constant."""
    t = fn.params[i].type
    while isinstance(t, ir.TypeMod):
        t = t.inner
    return isinstance(t, ir.Name) and any(p.name == t.ident for p in fn.tparams or ())


def open_pointers(found: list[Candidate], leads: Sequence[bool | None]) -> str:
    """Why it is not known which of ``f(T*)`` and ``f(T const*)`` is called; empty where it is."""
    for i, known in enumerate(leads):
        kinds = {to_constant(c.fn.params[i].type) for c in found if is_pointer(c.fn, i)}
        if known is None and kinds == {True, False}:
            return "whether a pointer is one to a constant"
    return ""


def is_pointer(fn: ir.Function, i: int) -> bool:
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


def tells_apart(entries: Iterable[Entry]) -> bool:
    """A template with specialisations for such types, other than those that pass on to the one without."""
    return any(
        qualifies(p) and not _passes_on(e.decl) for e in entries for p in getattr(e.decl, "spec_args", None) or ()
    )


def _passes_on(decl: ir.Decl) -> bool:
    """``template <class T> struct X<T const> : X<T> {};``."""
    if not isinstance(decl, ir.Class) or decl.members or len(decl.bases) != 1:
        return False
    (base,) = decl.bases
    if not isinstance(base, ir.Name) or base.ident != decl.name or base.targs is None:
        return False
    return [_bare(p) for p in decl.spec_args or ()] == [_bare(a) for a in base.targs]


def _bare(node: ir.Expr) -> object:
    while isinstance(node, ir.TypeMod) and node.kind in _LOST:
        node = node.inner
    return node.ident if isinstance(node, ir.Name) and node.targs is None else id(node)


def unqualified(m: Machine, node: ir.Expr, value: Value, env: Env, depth: int = 0) -> bool:
    """Whether a template argument is surely a type without qualifiers, and no pointer to one that has some.

    What a parameter of a template, a trait or a member of a class stands for may be qualified.
    """
    if isinstance(node, ir.TypeMod):
        return node.kind in ("ptr", "array") and unqualified(m, node.inner, None, env, depth)
    if isinstance(node, ir.DeclType):
        return isinstance(node.expr, ir.Name) and not isinstance(value, PtrType) and not qualified(node, env)
    if not isinstance(node, (ir.Name, ir.Scoped)):
        return True
    if node.ident in _STRIPS:
        return not isinstance(value, PtrType)
    if node.targs is None and isinstance(node, ir.Name):
        return env.find_var(node.ident) is None and _plainly_named(m, node, env, depth)
    return isinstance(value, ClassInst) and node.ident == value.name


def _plainly_named(m: Machine, node: ir.Name, env: Env, depth: int) -> bool:
    """A built-in type or a class, perhaps by another name."""
    at: Env | None = env
    while at is not None:
        entries: Sequence[Entry] = ()
        if at.kind == "class" and at.cls is not None:
            entries = [Entry(d, at.cls.env, at.cls.entry.unit) for d in at.cls.index.get(node.ident, ())]
        elif at.scope is not None:
            entries = at.scope.decls.get(node.ident, ())
        if entries:
            decl, where = entries[0].decl, entries[0].env
            if isinstance(decl, ir.Alias):
                return decl.tparams is None and depth < _DEPTH and unqualified(m, decl.target, None, where, depth + 1)
            return True
        at = at.parent
    return isinstance(lookup(m, node.ident, env, node.span), (ScalarType, VoidType))


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
