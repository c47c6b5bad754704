"""``decltype``, ``sizeof``, casts, types built from types, pack expansions."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.units import ByteCount
from cutecheck.source.eval import (
    bit_patterns,
    classes,
    constraints,
    conversions,
    enums,
    initialisation,
    intrinsics,
    ir,
    memory,
    places,
    shared_addresses,
    templates,
)
from cutecheck.source.eval.barrier_types import stands_for_place
from cutecheck.source.eval.chosen import FunctionType
from cutecheck.source.eval.machine import Machine, handles
from cutecheck.source.eval.memory import align_bytes, size_bytes, tensor_bytes
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    EnumVal,
    ExternType,
    Object,
    Pack,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    TensorVal,
    Value,
    constant,
)


@handles(ir.DeclType)
def _decltype(m: Machine, node: ir.DeclType, env: Env) -> Value:
    if node.expr is None:
        return Unknown("decltype(auto)", node.span)
    with m.recorder.unevaluated(), m.journal.forgetting():
        value = places.whole(m, node.expr, env)
        if isinstance(value, (Pointer, Elements)) and isinstance(node.expr, ir.Attr):
            declared = _declared(m, node.expr, env)
            return type_of(value) if declared is None else declared
        if isinstance(value, Pointer) and isinstance(value.type, ArrayType) and isinstance(node.expr, ir.Name):
            return value.type  # the array itself
        return type_of(value)


def _declared(m: Machine, node: ir.Attr, env: Env) -> Value | None:
    """The type that a member is declared with."""
    base = m.eval(node.base, env)
    cls = base.cls if isinstance(base, Object) else base.type if isinstance(base, Pointer) else None
    for owner, decl in classes.fields(m, cls) if isinstance(cls, ClassInst) else ():
        if decl.name == node.ident and decl.type is not None:
            return m.eval(decl.type, owner.env)
    return None


def _member_type(m: Machine, node: ir.Expr, env: Env) -> Value | None:
    """The type of the data member that ``Class::member`` names."""
    if not isinstance(node, ir.Scoped) or node.base is None or node.targs is not None:
        return None
    cls = m.eval(node.base, env)
    for owner, decl in classes.fields(m, cls) if isinstance(cls, ClassInst) else ():
        if decl.name == node.ident and decl.type is not None:
            return m.eval(decl.type, owner.env)
    return None


_CHARACTER_BYTES = {"char": 1, "char16_t": 2}


@handles(ir.SizeOf)
def _sizeof(m: Machine, node: ir.SizeOf, env: Env) -> Value:
    if node.what == "sizeof...":
        value = None
        at: Env | None = env
        while isinstance(node.operand, ir.Name) and at is not None and not isinstance(value, Pack):
            # in an expansion over the same pack, `get<sizeof...(I) - 1 - I>(t)...`, its element is found first
            value = at.vars.get(node.operand.ident)
            at = at.parent
        return (
            Scalar(len(value.items), "size_t")
            if isinstance(value, Pack)
            else Unknown("sizeof... of an unknown pack", node.span)
        )
    with m.recorder.unevaluated(), m.journal.forgetting():
        value = _member_type(m, node.operand, env)
        value = places.whole(m, node.operand, env) if value is None else value
    if isinstance(value, Str) and node.what == "sizeof":
        if not isinstance(node.operand, ir.Lit):
            return Unknown("whether this is an array or a pointer to its first character", node.span)
        character, _, count = node.operand.ctype.partition("[")
        return Scalar(_CHARACTER_BYTES.get(character, 4) * int(count[:-1]), "size_t")
    if isinstance(value, Unknown):
        return value
    if isinstance(value, TensorVal) and node.what == "sizeof":
        owned = tensor_bytes(value, node.span)
        return (
            owned if isinstance(owned, Unknown) else Scalar(int(owned) if isinstance(owned, int) else owned, "size_t")
        )
    if isinstance(value, Pointer) and node.what == "sizeof":
        found = _pointed(m, value, node, env)
        return (
            found if isinstance(found, Unknown) else Scalar(int(found) if isinstance(found, int) else found, "size_t")
        )
    size = (
        size_bytes(m, type_of(value), node.span) if node.what == "sizeof" else align_bytes(m, type_of(value), node.span)
    )
    return size if isinstance(size, Unknown) else Scalar(int(size) if isinstance(size, int) else size, "size_t")


def _pointed(m: Machine, value: Pointer, node: ir.SizeOf, env: Env) -> ByteCount | Unknown:
    """Bytes of what a pointer stands for: a member as declared, a shared array; else it may be either."""
    operand = node.operand
    if isinstance(operand, ir.Attr):
        with m.recorder.unevaluated():
            declared = _declared(m, operand, env)
        if declared is not None:
            return size_bytes(m, declared, node.span)
    if isinstance(operand, ir.Unary) and operand.op == "*":
        with m.recorder.unevaluated():
            first = m.eval(operand.operand, env)
        array = first.type if isinstance(first, Pointer) else None
        if isinstance(array, ArrayType) and not array.name:
            return size_bytes(m, array.inner, node.span)
    buffer = m.recorder.buffers.get(value.buffer)
    if isinstance(operand, ir.Name) and buffer is not None and buffer.fact.name == operand.ident:
        size = buffer.fact.size_bytes
        return Unknown("the size of this array is not known", node.span) if size is None else size
    return Unknown("whether this is an array or a pointer is not known", node.span)


@handles(ir.Cast)
def _cast(m: Machine, node: ir.Cast, env: Env) -> Value:
    type_ = m.eval(node.type, env)
    value = m.eval(node.operand, env)
    if isinstance(type_, ClassInst) and _refers(node.type) and _is_element(node.operand):
        first = m.eval(ir.Unary("&", node.operand, node.span), env)  # `reinterpret_cast<Storage&>(raw[0])`
        value = first if isinstance(first, Pointer) else value
    if isinstance(value, TensorVal):
        m.recorder.takes((value,))
    if isinstance(value, Unknown) and not isinstance(type_, ScalarType):
        return initialisation.convert(m, type_, value, node.span) if isinstance(type_, PtrType) else value
    if isinstance(type_, enums.EnumRef):
        return enums.made(m, type_, value, node.span)
    if isinstance(type_, PtrType) and isinstance(value, Pointer):
        return intrinsics.cast_pointer(m, value, type_.inner, node.span)
    if isinstance(type_, PtrType) and isinstance(value, Address) and m.dialect.by_value:
        return Address(places.aliased(m, value.cells, type_.inner, value)[1])
    if isinstance(type_, PtrType) and not isinstance(value, TensorVal):
        up = shared_addresses.rounded(m, value, type_.inner, node.span) if m.dialect.by_value else None
        return up if up is not None else initialisation.convert(m, type_, value, node.span)
    if isinstance(type_, ScalarType) and node.how == "reinterpret_cast" and _refers(node.type):
        return _bits_as(m, value, type_, node.span)
    if isinstance(type_, ScalarType) and node.how == "reinterpret_cast" and isinstance(value, Pointer):
        return initialisation.number(m, type_, value, node.span)
    if isinstance(type_, ScalarType):
        return _made(m, type_, value, node.span)
    if isinstance(type_, ClassInst) and isinstance(value, Pointer):
        return memory.get_object(m, intrinsics.cast_pointer(m, value, type_, node.span))
    return value


def _made(m: Machine, type_: Value, value: Value, span: Span) -> Value:
    """``T(value)`` of a number or enumeration."""
    if isinstance(type_, enums.EnumRef):
        return enums.made(m, type_, value, span)
    own = conversions.converted(m, value, type_, span, True) if isinstance(value, Object) else None
    return initialisation.convert(m, type_, value, span) if own is None else own


def _is_element(node: ir.Expr) -> bool:
    """``raw[0]`` and ``*raw``."""
    return isinstance(node, ir.Index) or (isinstance(node, ir.Unary) and node.op == "*")


def _refers(t: ir.Expr) -> bool:
    return isinstance(t, ir.TypeMod) and t.kind in ("ref", "rref")


def _bits_as(m: Machine, value: Value, type_: ScalarType, span: Span) -> Value:
    """``reinterpret_cast<T&>(number)``, or of what lies in memory."""
    name = type_.dtype.name
    at = value.pointer if isinstance(value, Object) else value  # of an array's element, that is an object, its place
    if isinstance(at, Pointer) and isinstance(at.type, (ClassInst, ExternType)):
        cast = intrinsics.cast_pointer(m, at, type_, span)
        return cast if stands_for_place(cast) else intrinsics.dereference(m, cast, span)
    if isinstance(value, Scalar) and value.ctype == name:
        return value
    other = bit_patterns.as_type(value, name) if isinstance(value, Scalar) else None
    return symbolic(m, type_, f"bits{PER_THREAD}{m.number()}", span) if other is None else other


@handles(ir.TypeMod)
def _typemod(m: Machine, node: ir.TypeMod, env: Env) -> Value:
    if node.kind == "array" and (element := _element(m, node, env)) is not None:
        return element
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
        given = m.eval(node.extra, env) if node.extra is not None else None
        if isinstance(given, (int, Scalar, EnumVal, Object)) and isinstance(inner, (ScalarType, enums.EnumRef)):
            return _made(m, inner, given, node.span)  # `int(I)` of a value is no type
        return FunctionType("function type", node.span)
    return inner


def _element(m: Machine, node: ir.TypeMod, env: Env) -> Value | None:
    """``sizes[1]`` in a template list is an element if ``sizes`` is a value, no type of an array."""
    base: ir.Expr = node
    at: list[ir.Expr] = []
    while isinstance(base, ir.TypeMod) and base.kind == "array" and base.extra is not None:
        at.append(base.extra)
        base = base.inner
    if not isinstance(base, ir.Attr) and (
        not isinstance(base, (ir.Name, ir.Scoped)) or not isinstance(m.eval(base, env), (tuple, Object, Pointer))
    ):
        return None
    for index in at:
        base = ir.Index(base, (index,), node.span)
    return m.eval(base, env)


@handles(ir.Requires)
def _requires(m: Machine, node: ir.Requires, env: Env) -> Value:
    return constraints.requires(m, node, env)


@handles(ir.Auto)
def _auto(m: Machine, node: ir.Auto, env: Env) -> Value:
    return Unknown("auto", node.span)


@handles(ir.Expand)
def _expand(m: Machine, node: ir.Expand, env: Env) -> Value:
    return Pack(tuple(templates.expand(m, node.pattern, env)))
