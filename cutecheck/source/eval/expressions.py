"""Evaluation of each kind of expression."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.source.eval import calls, classes, intrinsics, ir, memory, templates
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.lookup import (
    EnumRef,
    Namespace,
    in_path,
    lookup,
    member,
    missing,
    namespace_of,
    self_of,
    type_member,
)
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.memory import align_bytes, size_bytes, tensor_bytes
from cutecheck.source.eval.record import CONFIG_NAMES
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.statements import assign, bind_target, forget, iterate, join
from cutecheck.source.eval.types import is_type, type_of
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    CuteOp,
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    Pack,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    SubstitutionFailure,
    TemplateRef,
    TensorVal,
    TraitType,
    Value,
    ValueType,
    constant,
)


@handles(ir.Lit)
def _literal(m: Machine, node: ir.Lit, env: Env) -> Value:
    return m.dialect.literal(node)


@handles(ir.Opaque)
def _opaque(m: Machine, node: ir.Opaque, env: Env) -> Value:
    for name in node.names:
        at = env.find_var(name)
        if at is not None:
            m.recorder.escape(m, [at.vars[name]], node.span)
    return Unknown(node.reason, node.span)


@handles(ir.Name)
def _name(m: Machine, node: ir.Name, env: Env) -> Value:
    value = lookup(m, node.ident, env, node.span)
    if node.targs is not None:
        value = _with_targs(m, value, node.targs, env, node.span)
    elif type(value) is Pack and len(value.items) == 1:
        value = value.items[0]
    if node.ident in CONFIG_NAMES:
        m.recorder.used(m, node.ident, node.span, value)
    return value


@handles(ir.Scoped)
def _scoped(m: Machine, node: ir.Scoped, env: Env) -> Value:
    if node.base is None:
        value = in_path(m, Namespace(m.program.root, ""), node.ident, node.span)
        if missing(value):
            value = lookup(m, node.ident, m.program.root.env, node.span)
    else:
        base = _scope_of(m, node.base, env)
        value = _member_of(m, base, node, env)
    value = _with_targs(m, value, node.targs, env, node.span)
    m.recorder.used(m, node.ident, node.span, value)
    return value


def _scope_of(m: Machine, node: ir.Expr, env: Env) -> Value:
    """What stands left of ``::``: functions do not count there, so ``gemm::`` is the namespace, not the function."""
    value = m.eval(node, env)
    if isinstance(value, (Intrinsic, FuncSet, Unknown, ExternType)) and isinstance(node, (ir.Name, ir.Scoped)):
        scope = env.namespace()
        found = namespace_of(m, node, scope if scope is not None else m.program.root)
        if found is not None and not (isinstance(value, ExternType) and found.scope is None):
            return found
    return value


def _member_of(m: Machine, base: Value, node: ir.Scoped, env: Env) -> Value:
    if isinstance(base, Unknown):
        return base
    if isinstance(base, Namespace):
        found = in_path(m, base, node.ident, node.span)
        return Unknown(f"`{base.library}::{node.ident}` is not known", node.span) if missing(found) else found
    if isinstance(base, ClassInst):
        this = self_of(env)
        found = member(
            m, base, node.ident, this if this is not None and _inherits(m, this.cls, base) else None, node.span
        )
        if missing(found):
            return Unknown(f"`{base.name}` has no member `{node.ident}` in the scanned files", node.span)
        return found
    return type_member(m, base, node.ident, node.span)


def _inherits(m: Machine, cls: ClassInst, base: ClassInst) -> bool:
    return cls is base or any(_inherits(m, b, base) for b in classes.bases(m, cls))


def _with_targs(m: Machine, value: Value, targs: tuple[ir.Expr, ...] | None, env: Env, span: Span) -> Value:
    """Apply written template arguments to what a name means."""
    if targs is None:
        if isinstance(value, Pack) and len(value.items) == 1:
            return value.items[0]
        return value
    given = templates.arguments(m, targs, env)
    if isinstance(value, TemplateRef):
        if value.entries:
            return templates.apply_template(m, value, given, span)
        return intrinsics.apply_type(m, value.name, given, span)
    if isinstance(value, FuncSet):
        return FuncSet(value.name, value.entries, value.self_, value.cls, given)
    if isinstance(value, Intrinsic):
        return Intrinsic(value.name, given, value.self_)
    if isinstance(value, ExternType):
        return ExternType(value.name, given)
    if isinstance(value, ValueType) and isinstance(value.value, CuteOp):
        return ValueType(CuteOp(value.value.name, given, value.value.traits))
    if isinstance(value, ClassInst) and value.entry is not None:
        # the injected class name used as a template
        siblings = value.entry.env.namespace()
        entries = tuple(siblings.decls.get(value.name, ())) if siblings is not None else ()
        return templates.apply_template(m, TemplateRef(value.name, entries), given, span) if entries else value
    return value


@handles(ir.Attr)
def _attr(m: Machine, node: ir.Attr, env: Env) -> Value:
    base = m.eval(node.base, env)
    value = attribute(m, base, node.ident, node.span)
    return _with_targs(m, value, node.targs, env, node.span)


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value:
    """``base.name`` for any value."""
    own = m.dialect.attribute(m, base, name, span)
    if own is not DEFER:
        return own
    if isinstance(base, Unknown):
        return base
    if isinstance(base, Object):
        found = member(m, base.cls, name, base, span)
        if not missing(found):
            return found
        if name in base.fields:
            return base.fields[name]
        return Unknown(f"`{base.cls.name}` has no member `{name}` in the scanned files", span)
    if isinstance(base, Pointer) and isinstance(base.type, ClassInst):
        return attribute(m, memory.get_object(m, base), name, span)
    if isinstance(base, Namespace):
        found = in_path(m, base, name, span)
        return Unknown(f"`{base.library}.{name}` is not known", span) if missing(found) else found
    return intrinsics.method(m, base, name, span)


@handles(ir.Call)
def _call(m: Machine, node: ir.Call, env: Env) -> Value:
    fn = m.eval(node.fn, env)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for a in node.args:
        if isinstance(a.value, ir.Expand):
            args.extend(templates.expand(m, a.value.pattern, env))
        elif a.star == "*":
            value = m.eval(a.value, env)
            args.extend(
                value if isinstance(value, (tuple, list)) else [Unknown("unpacking of an unknown sequence", node.span)]
            )
        elif a.star == "**":
            value = m.eval(a.value, env)
            kwargs.update(value if isinstance(value, dict) else {})
        elif a.name is not None:
            kwargs[a.name] = m.eval(a.value, env)
        else:
            value = m.eval(a.value, env)
            args.extend(value.items) if isinstance(value, Pack) else args.append(value)
    if node.launch is not None:
        config = [m.eval(a, env) for a in node.launch.args]
        return m.recorder.launch(m, fn, config, args, node.span)
    m.recorder.call = node
    if not isinstance(fn, (FuncSet, Closure)):
        for a in node.args:
            if isinstance(a.value, ir.Binary) and a.value.op == ",":
                m.recorder.comma(a.value)
    outs = m.outs
    m.outs = {}
    try:
        return calls.apply(m, fn, args, kwargs, node.span)
    except SubstitutionFailure as failure:
        return Unknown(f"substitution failure: {failure}", node.span)
    finally:
        _write_back(m, node, fn, env)
        m.outs = outs


def _write_back(m: Machine, node: ir.Call, fn: Value, env: Env) -> None:
    """What a call may have written: reference parameters of a followed function, anything whose address it got."""
    outs = m.outs
    for i, a in enumerate(node.args):
        at = a.value
        if i in outs and isinstance(at, (ir.Name, ir.Attr)):
            assign(m, at, outs[i], env, node.span)
        elif (
            isinstance(at, ir.Unary)
            and at.op == "&"
            and isinstance(at.operand, ir.Name)
            and not isinstance(fn, Intrinsic)
        ):
            owner = env.find_var(at.operand.ident)
            if owner is not None:
                old = owner.vars[at.operand.ident]
                m.journal.set(owner.vars, at.operand.ident, forget(m, old, at.operand.ident, ex.ANY, node.span))


@handles(ir.Construct)
def _construct(m: Machine, node: ir.Construct, env: Env) -> Value:
    type_ = m.eval(node.type, env)
    args: list[Value] = []
    names: list[str | None] = []
    for a in node.args:
        if isinstance(a.value, ir.Expand):
            more = templates.expand(m, a.value.pattern, env)
            args.extend(more)
            names.extend([None] * len(more))
        else:
            args.append(m.eval(a.value, env))
            names.append(a.name)
    if isinstance(type_, TemplateRef):
        return intrinsics.deduce_class(m, type_, args, node.span)
    if isinstance(type_, (FuncSet, Intrinsic, Closure)):
        return calls.apply(m, type_, args, {}, node.span)
    if not is_type(type_) and not isinstance(type_, Unknown):
        return type_ if not args else Unknown("braces after a value", node.span)
    return classes.construct(m, type_, args, names, node.span)


@handles(ir.Index)
def _index(m: Machine, node: ir.Index, env: Env) -> Value:
    base = m.eval(node.base, env)
    args = [m.eval(a, env) for a in node.args]
    own = m.dialect.index(m, base, args, node.span)
    if own is not DEFER:
        return own
    if isinstance(base, Unknown):
        return base
    if isinstance(base, (TemplateRef, FuncSet)):
        return base
    if isinstance(base, Object):
        method = member(m, base.cls, "operator[]", base, node.span)
        if isinstance(method, FuncSet):
            return calls.apply(m, method, args, {}, node.span)
    return intrinsics.index(m, base, args, node.span)


@handles(ir.Unary)
def _unary(m: Machine, node: ir.Unary, env: Env) -> Value:
    if node.op in ("++", "--", "p++", "p--"):
        old = m.eval(node.operand, env)
        step = (
            m.dialect.binary("+" if "+" in node.op else "-", old, Scalar(1, "int"), node.span)
            if not isinstance(old, (Unknown, Pointer))
            else intrinsics.advance(m, old, 1 if "+" in node.op else -1, node.span)
        )
        assign(m, node.operand, step, env, node.span)
        return old if node.op.startswith("p") else step
    value = m.eval(node.operand, env)
    if node.op == "&":
        if isinstance(value, Object) and value.pointer is not None:
            return value.pointer
        if isinstance(value, (Pointer, FuncSet, Unknown, TensorVal)):
            return value
        return value
    if node.op == "*":
        return intrinsics.dereference(m, value, node.span)
    if isinstance(value, (Unknown, Extern)):
        return value if isinstance(value, Unknown) else Extern(value.what, node.span)
    if isinstance(value, Object):
        return Unknown(f"operator {node.op} on `{value.cls.name}`", node.span)
    op = "!" if node.op == "not" else node.op
    return intrinsics.guarded(m, f"operator {op}", node.span, lambda: m.dialect.unary(op, value, node.span))


@handles(ir.Binary)
def _binary(m: Machine, node: ir.Binary, env: Env) -> Value:
    if node.op in ("&&", "||", "and", "or"):
        return _logical(m, node, env)
    if node.op == "=" and not m.dialect.block_scope:
        value = m.eval(node.right, env)
        assign(m, node.left, value, env, node.span)
        return value
    left = m.eval(node.left, env)
    right = m.eval(node.right, env)
    if node.op == ",":
        return right
    return binary(m, node.op, left, right, node.span)


def binary(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value:
    for v in (left, right):
        if isinstance(v, Unknown):
            return v
    own = m.dialect.operator(m, op, left, right, span)
    if own is not DEFER:
        return own
    special = intrinsics.binary(m, op, left, right, span)
    if special is not None:
        return special
    for v in (left, right):
        if isinstance(v, Extern):
            return Extern(f"{v.what} {op} ...", span)
        if isinstance(v, Object):
            method = member(m, v.cls, f"operator{op}", v, span)
            if isinstance(method, FuncSet) and v is left:
                return calls.apply(m, method, [right], {}, span)
            return Unknown(f"operator {op} on `{v.cls.name}`", span)
    return intrinsics.guarded(m, f"operator {op}", span, lambda: m.dialect.binary(op, left, right, span))


def _logical(m: Machine, node: ir.Binary, env: Env) -> Value:
    is_and = node.op in ("&&", "and")
    left = m.eval(node.left, env)
    known = m.dialect.truth(left)
    if known is not None and known != is_and:
        return left if node.op in ("and", "or") else Scalar(int(known), "bool")
    right = m.eval(node.right, env)
    if node.op in ("and", "or") and known is not None:
        return right
    if node.op in ("and", "or") and not isinstance(right, (bool, Scalar)):
        # the value of the expression is one of its operands
        return left if isinstance(left, Unknown) else join(m, left, right, "an `or`", node.span)
    other = m.dialect.truth(right)
    if known is not None and other is not None:
        return Scalar(int(other), "bool")
    if other is not None and other != is_and:
        return Scalar(int(other), "bool")
    for v in (left, right):
        if isinstance(v, Unknown):
            return v
    return Scalar(None, "bool")


@handles(ir.Select)
def _select(m: Machine, node: ir.Select, env: Env) -> Value:
    cond = m.eval(node.cond, env)
    known = m.dialect.truth(cond)
    if known is not None:
        return m.eval(node.then if known else node.other, env)
    return join(m, m.eval(node.then, env), m.eval(node.other, env), "the two branches of ?:", node.span, cond)


@handles(ir.Sequence_)
def _sequence(m: Machine, node: ir.Sequence_, env: Env) -> Value:
    items: list[Any] = []
    for a in node.items:
        value = (
            m.eval(a.value, env)
            if not isinstance(a.value, ir.Expand)
            else Pack(tuple(templates.expand(m, a.value.pattern, env)))
        )
        if a.star or isinstance(value, Pack):
            items.extend(
                value.items
                if isinstance(value, Pack)
                else value
                if isinstance(value, (tuple, list))
                else m.dialect.spread(m, value, node.span)
            )
        else:
            items.append(value)
    return items if node.kind in ("list", "set") else tuple(items)


@handles(ir.Lambda)
def _lambda(m: Machine, node: ir.Lambda, env: Env) -> Value:
    return Closure(node, env)


@handles(ir.DeclType)
def _decltype(m: Machine, node: ir.DeclType, env: Env) -> Value:
    if node.expr is None:
        return Unknown("decltype(auto)", node.span)
    with m.recorder.unevaluated():
        return type_of(m.eval(node.expr, env))


@handles(ir.SizeOf)
def _sizeof(m: Machine, node: ir.SizeOf, env: Env) -> Value:
    if node.what == "sizeof...":
        value = None
        if isinstance(node.operand, ir.Name):
            at = env.find_var(node.operand.ident)
            value = at.vars[node.operand.ident] if at is not None else None
        return (
            Scalar(len(value.items), "size_t")
            if isinstance(value, Pack)
            else Unknown("sizeof... of an unknown pack", node.span)
        )
    with m.recorder.unevaluated():
        value = m.eval(node.operand, env)
    if isinstance(value, TensorVal) and node.what == "sizeof":
        owned = tensor_bytes(value, node.span)
        return (
            owned if isinstance(owned, Unknown) else Scalar(int(owned) if isinstance(owned, int) else owned, "size_t")
        )
    size = (
        size_bytes(m, type_of(value), node.span) if node.what == "sizeof" else align_bytes(m, type_of(value), node.span)
    )
    return size if isinstance(size, Unknown) else Scalar(int(size) if isinstance(size, int) else size, "size_t")


@handles(ir.Cast)
def _cast(m: Machine, node: ir.Cast, env: Env) -> Value:
    type_ = m.eval(node.type, env)
    value = m.eval(node.operand, env)
    if isinstance(value, Unknown) and not isinstance(type_, ScalarType):
        return value
    if isinstance(type_, PtrType) and isinstance(value, Pointer):
        return intrinsics.cast_pointer(m, value, type_.inner, node.span)
    if isinstance(type_, PtrType) and not isinstance(value, TensorVal):
        return classes.convert(m, type_, value, node.span)
    if isinstance(type_, ScalarType):
        return classes.convert(m, type_, value, node.span)
    if isinstance(type_, ClassInst) and isinstance(value, Pointer):
        return memory.get_object(m, intrinsics.cast_pointer(m, value, type_, node.span))
    return value


@handles(ir.TypeMod)
def _typemod(m: Machine, node: ir.TypeMod, env: Env) -> Value:
    inner = m.eval(node.inner, env)
    if node.kind == "ptr":
        return inner if isinstance(inner, Unknown) else PtrType(inner)
    if node.kind == "array":
        extent = constant(m.eval(node.extra, env)) if node.extra is not None else None
        if extent is None:
            value = m.eval(node.extra, env) if node.extra is not None else None
            if isinstance(value, Scalar) and value.value is not None and not isinstance(value.value, float):
                return ArrayType(inner, value.value)
            return ArrayType(inner, Unknown("the array's extent is not known", node.span))
        return ArrayType(inner, extent)
    if node.kind == "function":
        return Unknown("function type", node.span)
    return inner


@handles(ir.Auto)
def _auto(m: Machine, node: ir.Auto, env: Env) -> Value:
    return Unknown("auto", node.span)


@handles(ir.Expand)
def _expand(m: Machine, node: ir.Expand, env: Env) -> Value:
    return Pack(tuple(templates.expand(m, node.pattern, env)))


@handles(ir.Fold)
def _fold(m: Machine, node: ir.Fold, env: Env) -> Value:
    values = templates.expand(m, node.pattern, env)
    if node.init is not None:
        first = m.eval(node.init, env)
        values = [first, *values] if node.left else [*values, first]
    if not values:
        empty = {"&&": Scalar(1, "bool"), "||": Scalar(0, "bool")}.get(node.op)
        return empty if empty is not None else Unknown("a fold over an empty pack", node.span)
    if node.op in ("&&", "||"):
        truths = [m.dialect.truth(v) for v in values]
        stop = node.op == "||"
        if any(t is stop for t in truths):
            return Scalar(int(stop), "bool")
        return Scalar(None if None in truths else int(not stop), "bool")
    order = values if node.left else values[::-1]
    result = order[0]
    for v in order[1:]:
        result = v if node.op == "," else binary(m, node.op, *((result, v) if node.left else (v, result)), node.span)
    return result


@handles(ir.FString)
def _fstring(m: Machine, node: ir.FString, env: Env) -> Value:
    parts = [m.eval(p, env) for p in node.parts]
    texts = [p.text if isinstance(p, Str) else str(p) if isinstance(p, (str, int)) else None for p in parts]
    return (
        Unknown("a string that is not known", node.span)
        if None in texts
        else "".join(t for t in texts if t is not None)
    )


@handles(ir.DictLit)
def _dict(m: Machine, node: ir.DictLit, env: Env) -> Value:
    out: dict[Any, Value] = {}
    for key, item in node.items:
        value = m.eval(item, env)
        if key is None:
            out.update(value if isinstance(value, dict) else {})
            continue
        k = m.eval(key, env)
        try:
            out[k] = value
        except TypeError:
            return Unknown("a dictionary key that is not known", node.span)
    return out


@handles(ir.SliceExpr)
def _slice(m: Machine, node: ir.SliceExpr, env: Env) -> Value:
    parts = [None if p is None else constant(m.eval(p, env)) for p in (node.lower, node.upper, node.step)]
    wanted = [p is not None for p in (node.lower, node.upper, node.step)]
    if any(w and p is None for w, p in zip(wanted, parts, strict=True)):
        return Unknown("a slice with unknown limits", node.span)
    return slice(*parts)


@handles(ir.Comprehension)
def _comprehension(m: Machine, node: ir.Comprehension, env: Env) -> Value:
    results: list[Any] = []
    pairs: dict[Any, Any] = {}

    def walk(level: int, at: Env) -> Unknown | None:
        if level == len(node.clauses):
            value = m.eval(node.element, at)
            if node.kind == "dict" and node.value is not None:
                pairs[value] = m.eval(node.value, at)
            else:
                results.append(value)
            return None
        clause = node.clauses[level]
        items = iterate(m, m.eval(clause.iterable, at), node.span)
        if isinstance(items, Unknown):
            return items
        for item in items:
            inner = Env(at, "block")
            bind_target(m, clause.target, item, inner, node.span)
            keep: bool | None = True
            for condition in clause.conditions:
                keep = m.dialect.truth(m.eval(condition, inner))
                if keep is not True:
                    break
            if keep is None:
                return Unknown("a comprehension's condition is not known", node.span)
            if keep:
                bad = walk(level + 1, inner)
                if bad is not None:
                    return bad
        return None

    bad = walk(0, env)
    if bad is not None:
        return bad
    if node.kind == "dict":
        return pairs
    return tuple(results) if node.kind == "generator" else results


__all__ = ["EnumRef", "TraitType", "ValueType", "attribute", "binary"]
