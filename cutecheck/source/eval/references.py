"""Which declared types are references: by what aliases, members of classes, traits and expressions they spell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.source.eval import ir
from cutecheck.source.eval.qualifiers import refers
from cutecheck.source.eval.scope import ClassInst, Env, Scope
from cutecheck.source.eval.values import FuncSet, Object, Reference

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MAKES = frozenset({"add_lvalue_reference", "add_rvalue_reference", "add_lvalue_reference_t", "add_rvalue_reference_t"})
_CHOOSES = frozenset({"conditional", "conditional_t", "type_identity", "type_identity_t"})
_DOUBLE = re.compile(r"decltype\s*\(\s*\(.*\)\s*\)\s*$", re.DOTALL)
_BUILTIN = frozenset({"int", "bool", "char", "float", "double", "unsigned", "long", "short", "void", "auto", "size_t"})
_DEPTH = 20  # aliases of aliases


def stands(m: Machine, t: ir.Expr | None, env: Env, depth: int = 0) -> bool:
    """A variable of this type stands for another, whichever way the type is spelled."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile"):
        t = t.inner
    if isinstance(t, ir.TypeMod):
        return t.kind in ("ref", "rref")
    if depth > _DEPTH or not m.dialect.by_value:
        return False
    if isinstance(t, ir.Name):
        return t.ident not in _BUILTIN and (_by_trait(m, t, env, depth) or _named(m, t, env, depth))
    if isinstance(t, ir.Scoped):
        return _by_trait(m, t, env, depth) or _qualified(m, t, env, depth)
    return isinstance(t, ir.DeclType) and t.expr is not None and _expression(m, t, t.expr, env, depth)


def field_stands(m: Machine, owner: ClassInst, decl: ir.Variable) -> bool:
    """A data member of a class is a reference."""
    if refers(decl.type) or isinstance(decl.type, ir.TypeMod):
        return refers(decl.type) or stands(m, decl.type, owner.env)
    key = ("stands", decl.name)
    known = owner.memo.get(key)
    if known is None:
        known = owner.memo[key] = stands(m, decl.type, owner.env)
    return bool(known)


def bound(m: Machine, node: ir.Expr, env: Env) -> bool:
    """What a name or member is declared as is a reference."""
    if isinstance(node, ir.Name):
        at = env.find_var(node.ident)
        if at is None or at.kind not in ("block", "function"):
            return False
        value = at.vars[node.ident]
        own = at.own is not None and node.ident in at.own
        return isinstance(value, Reference) or (isinstance(value, Object) and value.pointer is None and not own)
    if isinstance(node, ir.Attr):
        from cutecheck.source.eval import classes

        with m.recorder.rehearsing(), m.budget.aside():
            base = m.eval(node.base, env)
        if isinstance(base, Object):
            return any(d.name == node.ident and field_stands(m, o, d) for o, d in classes.fields(m, base.cls))
    return False


def _by_trait(m: Machine, t: ir.Name | ir.Scoped, env: Env, depth: int) -> bool:
    """``std::add_lvalue_reference_t<T>``, and ``::type`` of such."""
    made = t.base if isinstance(t, ir.Scoped) and t.ident == "type" else t
    if not isinstance(made, (ir.Name, ir.Scoped)) or not made.targs:
        return False
    if made.ident in _CHOOSES:
        return any(stands(m, a, env, depth + 1) for a in made.targs)
    return made.ident in _MAKES


def _named(m: Machine, t: ir.Name, env: Env, depth: int) -> bool:
    at: Env | None = env
    used: list[Scope] = []
    while at is not None:
        if t.ident in at.vars:
            return at.refs is not None and t.ident in at.refs
        if at.kind == "class" and at.cls is not None:
            found = _of_class(m, at.cls, t, env, depth)
        else:
            found = None if at.scope is None else _of_scope(m, at.scope, t, env, depth)
        if found is not None:
            return found
        used += at.usings or ()
        for other in at.seen_in(used):
            found = _of_scope(m, other, t, env, depth)
            if found is not None:
                return found
        at = at.parent
    return False


def _qualified(m: Machine, t: ir.Scoped, env: Env, depth: int) -> bool:
    if t.base is None:
        return False
    with m.recorder.rehearsing(), m.budget.aside():
        base = m.eval(t.base, env)
    if isinstance(base, ClassInst):
        return bool(_of_class(m, base, t, env, depth))
    scope = getattr(base, "scope", None)
    return isinstance(scope, Scope) and bool(_of_scope(m, scope, t, env, depth))


def _of_class(m: Machine, cls: ClassInst, t: ir.Name | ir.Scoped, env: Env, depth: int) -> bool | None:
    items = cls.index.get(t.ident)
    if items:
        return isinstance(items[0], ir.Alias) and _alias(m, items[0], cls.env, t, env, depth)
    if not cls.decl.bases or m.deriving:
        return None
    from cutecheck.source.eval.classes import bases

    for base in bases(m, cls):
        found = _of_class(m, base, t, env, depth + 1)
        if found is not None:
            return found
    return None


def _of_scope(m: Machine, scope: Scope, t: ir.Name | ir.Scoped, env: Env, depth: int) -> bool | None:
    entries = scope.decls.get(t.ident)
    if entries:
        decl = entries[0].decl
        return isinstance(decl, ir.Alias) and _alias(m, decl, entries[0].env, t, env, depth)
    return _of_scope(m, scope.children[""], t, env, depth) if "" in scope.children else None


def _alias(m: Machine, decl: ir.Alias, where: Env, t: ir.Name | ir.Scoped, env: Env, depth: int) -> bool:
    """``using R = T&;``, or ``template <class T> using R = ...`` with the arguments of ``t``."""
    names = [p.name for p in decl.tparams or ()]
    if isinstance(decl.target, ir.Name) and decl.target.ident in names:
        i = names.index(decl.target.ident)
        return t.targs is not None and i < len(t.targs) and stands(m, t.targs[i], env, depth + 1)
    return stands(m, decl.target, where, depth + 1)


def is_doubled(m: Machine, t: ir.DeclType) -> bool:
    """``decltype((x))``."""
    return _DOUBLE.match(m.recorder.text(t)) is not None


def _expression(m: Machine, t: ir.DeclType, node: ir.Expr, env: Env, depth: int) -> bool:
    """``decltype(...)`` of what can be written."""
    if isinstance(node, (ir.Name, ir.Attr)):
        return is_doubled(m, t) or bound(m, node, env)
    if isinstance(node, ir.Unary):
        return node.op in ("*", "++", "--")
    if isinstance(node, ir.Call):
        with m.recorder.rehearsing(), m.budget.aside():
            fn = m.eval(node.fn, env)
        return isinstance(fn, FuncSet) and any(stands(m, e.decl.ret, e.env, depth + 1) for e in fn.entries)
    return isinstance(node, ir.Index)
