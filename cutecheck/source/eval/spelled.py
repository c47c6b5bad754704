"""Types as they are spelled: what names, members, traits and ``decltype`` say of qualifiers and references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.source.eval import ir, qualifiers, repeatable
from cutecheck.source.eval.declared_later import in_order
from cutecheck.source.eval.qualified import deduced, made, may_be, parts, plain, qualify
from cutecheck.source.eval.scope import ClassInst, Entry, Env, Scope
from cutecheck.source.eval.types import is_type, same_type, type_of
from cutecheck.source.eval.values import (
    TYPE_TAG,
    ArrayType,
    Closure,
    ExternType,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    PtrType,
    Reference,
    TraitType,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ASSIGNS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
_DEPTH = 20  # aliases of aliases
_NO_ALIAS = Unknown("a name of something else")
# of a variable: its type, whether it is ``constexpr``, and what it is made of (or what that is)
Declared = tuple[ir.Expr | None, bool, "ir.Expr | str | None"]


def written(m: Machine, node: ir.Expr, env: Env, depth: int = 0) -> Value:
    """What an expression evaluates to, a type with the qualifiers and references that it is spelled with."""
    if isinstance(node, ir.TypeMod):
        return _built(m, node, env, depth)
    if not m.dialect.by_value or depth > _DEPTH:
        return m.eval(node, env)
    if isinstance(node, ir.Name) and node.targs is None:
        at = env.find_var(node.ident)
        if at is not None and may_be(at.vars[node.ident]):
            return at.vars[node.ident]
    value = m.eval(node, env)
    if not is_type(value):
        return value
    found: Value = None
    if isinstance(node, ir.DeclType):
        found = _declared(m, node, value, env, depth)
    elif isinstance(node, (ir.Name, ir.Scoped)):
        if node.targs is not None:
            found = m.spelled[1] if m.spelled[0] is node else None
        elif isinstance(node, ir.Scoped):
            found = _member(m, node, m.owner[1], depth) if m.owner[0] is node else None
        elif env.find_var(node.ident) is None:
            found = _named(m, node.ident, env, depth)
    return value if found is None or isinstance(found, Unknown) else found


def _built(m: Machine, node: ir.TypeMod, env: Env, depth: int) -> Value:
    value = m.eval(node, env)
    if not is_type(value) or node.kind == "function":
        return value
    inner = written(m, node.inner, env, depth)
    if not is_type(inner):
        return value
    if node.kind == "ptr":
        return PtrType(inner)
    if node.kind == "array":
        return replace(value, inner=inner) if isinstance(value, ArrayType) else value
    return qualify(inner, node.kind)


def _named(m: Machine, name: str, env: Env, depth: int) -> Value:
    at: Env | None = env
    while at is not None:
        if at.kind == "class" and at.cls is not None:
            found = _of_class(m, at.cls, name, depth)
        else:
            found = None if at.scope is None else _of_scope(m, at.scope, name, depth)
        if found is not None:
            return found
        at = at.parent
    return None


def _target(m: Machine, alias: ir.Alias, env: Env, memo: dict[Any, Value], depth: int) -> Value:
    key = ("spelled", id(alias))
    if key not in memo:
        memo[key] = None  # in terms of itself
        try:
            found = written(m, alias.target, in_order(m, alias, env), depth + 1)
        finally:
            del memo[key]
        memo[key] = found
    return memo[key]


def _of_scope(m: Machine, scope: Scope, name: str, depth: int) -> Value:
    entries = scope.decls.get(name)
    if entries:
        decl = entries[0].decl
        return _target(m, decl, entries[0].env, scope.memo, depth) if isinstance(decl, ir.Alias) else _NO_ALIAS
    return _of_scope(m, scope.children[""], name, depth) if "" in scope.children else None


def _of_class(m: Machine, cls: ClassInst, name: str, depth: int) -> Value:
    """The type that a class calls so, itself or by its bases."""
    items = cls.index.get(name)
    if items:
        alias = items[0]
        ours = isinstance(alias, ir.Alias) and alias.tparams is None
        return _target(m, alias, cls.env, cls.memo, depth) if ours else None
    if not cls.decl.bases or m.deriving:
        return None
    from cutecheck.source.eval.classes import bases

    for base in bases(m, cls):
        found = _of_class(m, base, name, depth + 1)
        if found is not None:
            return found
    return None


def _member(m: Machine, node: ir.Scoped, base: Value, depth: int) -> Value:
    """``base::name``, where what stands before is known; ``::type`` of a trait is what the trait gives."""
    if isinstance(base, ClassInst):
        return _of_class(m, base, node.ident, depth)
    scope = getattr(base, "scope", None)
    if isinstance(scope, Scope):
        return _of_scope(m, scope, node.ident, depth)
    if isinstance(base, ExternType) and base.name == TYPE_TAG and node.ident == "type":
        return base.args[0]
    return base if node.ident == "type" and is_type(base) and not isinstance(base, TraitType) else None


def _declared(m: Machine, node: ir.DeclType, value: Value, env: Env, depth: int) -> Value:
    """``decltype(x)``: what a name or member is declared as; of other expressions whether they name an object."""
    from cutecheck.source.eval import constness, ranking, references

    expr = node.expr
    if expr is None:
        return None
    if isinstance(expr, (ir.Name, ir.Attr, ir.Scoped)):
        own = _variable(m, expr, value, env, depth)
        own = _constant(m, expr, value, env, depth) if own is None else own
        if not references.is_doubled(m, node):
            return own
        return None if own is None else qualify(own, "ref")
    if (isinstance(expr, ir.Unary) and expr.op in ("*", "++", "--")) or isinstance(expr, ir.Index):
        known = constness.constant(m, expr, env)
        return made(value, known, False, "ref")
    if isinstance(expr, ir.Unary) and expr.op == "&" and isinstance(value, PtrType):
        return PtrType(made(value.inner, constness.constant(m, expr.operand, env), False, ""))
    if isinstance(expr, ir.Cast):
        return written(m, expr.type, env, depth)
    if isinstance(expr, ir.Call) and isinstance(expr.fn, (ir.Name, ir.Scoped)) and expr.fn.ident == "declval":
        (of,) = expr.fn.targs or (None,)
        return None if of is None else qualify(written(m, of, env, depth), "rref")
    if isinstance(expr, ir.Call) and repeatable.passes_on(expr):
        what = ranking.given(m, expr.args[0].value, None, env)
        of = (getattr(expr.fn, "targs", None) or (None,))[0]
        if of is not None:
            return qualify(written(m, of, env, depth), "rref")
        return made(value, None if not what else what == "constant", False, "rref")
    if isinstance(expr, ir.Select):
        return _chosen(m, expr, value, env)
    if isinstance(expr, ir.Binary) and expr.op in _ASSIGNS and not isinstance(value, (ClassInst, ValueType)):
        return qualify(value, "ref")
    if isinstance(expr, ir.Call) and (isinstance(expr.fn, (ir.Name, ir.Scoped)) or repeatable.quiet(expr.fn)):
        fn = m.eval(expr.fn, env)
        if isinstance(fn, Closure) and fn.node.ret is not None:
            ret = fn.node.ret
            by_body = isinstance(ret, ir.DeclType)
            return made(value, None, False, None) if by_body else written(m, ret, fn.env, depth)
        return _returned(m, fn, value, depth) if isinstance(fn, FuncSet) else None
    return None


def _chosen(m: Machine, node: ir.Select, value: Value, env: Env) -> Value:
    """``decltype(c ? a : b)``: a reference where both name objects of one type."""
    from cutecheck.source.eval import ranking

    sides = [(m.eval(side, env), side) for side in (node.then, node.other) if repeatable.quiet(side)]
    if isinstance(node.then, ir.Lit) or isinstance(node.other, ir.Lit):
        return None
    if len(sides) < 2:
        return made(value, None, False, None)
    what = [ranking.given(m, side, v, env) for v, side in sides]
    if any(w in ("value", "null") for w in what) or not same_type(*(type_of(v) for v, _ in sides)):
        return None
    return made(value, None if "" in what else "constant" in what, False, None if "" in what else "ref")


def _returned(m: Machine, fn: FuncSet, value: Value, depth: int) -> Value:
    """What a call gives; where one of several, or a template, returns a reference, whether this does is open."""
    own = [(e, e.decl.ret) for e in fn.entries]
    if len(own) == 1 and own[0][0].decl.tparams is None and isinstance(own[0][1], ir.TypeMod):
        return written(m, own[0][1], own[0][0].env, depth)
    refers = any(
        isinstance(ret, ir.DeclType) or (isinstance(ret, ir.TypeMod) and ret.kind in ("ref", "rref")) for _, ret in own
    )
    return made(value, None, False, None) if refers else None


def _variable(m: Machine, node: ir.Name | ir.Attr | ir.Scoped, value: Value, env: Env, depth: int) -> Value:
    """The type that a variable or data member is declared with."""
    from cutecheck.source.eval import classes

    if isinstance(node, ir.Name):
        at = env.find_var(node.ident)
        if at is not None:
            known = None if at.types is None else at.types.get(node.ident)
            return _by_note(m, node.ident, known, value, at, depth) if known is not None else None
        cls: Value = _class_around(env, node.ident)
    elif isinstance(node, ir.Attr):
        quiet = repeatable.quiet(node.base) or isinstance(node.base, ir.Construct)
        base = m.eval(node.base, env) if quiet else None
        base = base.to if isinstance(base, ObjectPointer) else base
        cls = base.cls if isinstance(base, Object) else base.type if isinstance(base, Pointer) else None
    else:
        cls = None if node.base is None else m.eval(node.base, env)
    if isinstance(cls, ClassInst):
        for owner, decl in classes.fields(m, cls):
            if decl.name == node.ident and decl.type is not None:
                return written(m, decl.type, owner.env, depth)
    return None


def _constant(m: Machine, node: ir.Name | ir.Attr | ir.Scoped, value: Value, env: Env, depth: int) -> Value:
    """The type of a variable outside of functions: a namespace's, a class's own, a trait's ``value``."""
    if isinstance(node, ir.Attr):
        return None
    entries: Sequence[Entry] = ()
    if isinstance(node, ir.Name):
        cls: Value = _class_around(env, node.ident)
        at = env.namespace()
        while at is not None and not entries and cls is None:
            entries, at = at.decls.get(node.ident, ()), at.parent
    else:
        cls = None if node.base is None else m.eval(node.base, env)
        scope = getattr(cls, "scope", None)
        entries = scope.decls.get(node.ident, ()) if isinstance(scope, Scope) else ()
    decl: object = entries[0].decl if entries else None
    where = entries[0].env if entries else env
    if isinstance(cls, ClassInst):
        found = next((c for c in _with_bases(m, cls) if node.ident in c.index), None)
        decl, where = (None, env) if found is None else (found.index[node.ident][0], found.env)
    elif not entries and (node.ident.endswith("_v") or isinstance(cls, (ValueType, TraitType))):
        return qualify(value, "const") if is_type(value) else None
    if not isinstance(decl, ir.Variable):
        return None
    always = "constexpr" in decl.flags or qualifiers.never_written(decl)
    plain_ = decl.type is None or qualifiers.is_auto(decl.type) or decl.tparams is not None
    own = value if plain_ else written(m, decl.type, where, depth)  # type: ignore[arg-type]
    return qualify(own, "const") if always and is_type(own) else own


def _with_bases(m: Machine, cls: ClassInst) -> Iterator[ClassInst]:
    from cutecheck.source.eval import classes

    yield cls
    for base in classes.bases(m, cls):
        yield from _with_bases(m, base)


def _class_around(env: Env, name: str) -> ClassInst | None:
    at: Env | None = env
    while at is not None:
        if at.cls is not None and name in at.cls.index:
            return at.cls
        at = at.parent
    return None


def _by_note(m: Machine, name: str, note: Declared, value: Value, at: Env, depth: int) -> Value:
    from cutecheck.source.eval import constness, ranking

    t, always, of = note
    if isinstance(t, ir.DeclType) and t.expr is None:  # `decltype(auto)`
        return qualify(value, "ref") if isinstance(at.vars[name], Reference) else None
    if t is None or qualifiers.is_auto(t):
        found = _auto(t, value)
        inner = t
        while isinstance(inner, ir.TypeMod) and inner.kind in ("const", "volatile"):
            inner = inner.inner
        if isinstance(inner, ir.TypeMod) and inner.kind in ("ref", "rref") and not qualifiers.constant(inner):
            held = at.vars[name]
            what = of if isinstance(of, str) else "" if of is None else ranking.given(m, of, held, at)
            own = deduced(ir.TypeMod(inner.kind, inner.inner, inner.span), plain(value), what)  # type: ignore[arg-type]
            if isinstance(inner.inner, ir.Auto):
                found = (
                    qualify(own, inner.kind) if parts(own).ref is not None else made(plain(value), None, False, None)
                )
        elif isinstance(inner, ir.TypeMod) and inner.kind == "ptr" and constness.to_constant(t) is False:
            fixed = at.fixed is not None and f"*{name}" in at.fixed
            found = PtrType(qualify(plain(value).inner, "const")) if fixed and isinstance(value, PtrType) else found
    else:
        found = written(m, t, at, depth)
        if not is_type(found) and not isinstance(found, Unknown):  # `TiledCopy x = ...`: the template that x is of
            found = _auto(t, value)
    return qualify(found, "const") if always else found


def _auto(t: ir.Expr | None, value: Value) -> Value:
    """``auto const&`` around the type of a value."""
    if not isinstance(t, ir.TypeMod):
        return value
    if t.kind == "ptr":
        return PtrType(_auto(t.inner, value.inner)) if isinstance(value, PtrType) else value
    return qualify(_auto(t.inner, value), t.kind)
