"""Arguments of a call into the frame of the function that is called."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import (
    classes,
    constness,
    conversions,
    copies,
    initialisation,
    ir,
    leaks,
    named_bases,
    observed,
    places,
    qualifiers,
    references,
)
from cutecheck.source.eval.containers import ANY_NAME, Lost, include, new
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.held_fields import Apart
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.qualifiers import is_auto
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import (
    Closure,
    Extern,
    Object,
    ObjectPointer,
    Pack,
    PtrType,
    Reference,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
    ValueType,
    is_zero,
    null,
)

_BY_NAME = ("normal", "keyword")  # parameters that an argument may name; `f(a, /)`, `*a` and `**a` are not


def bind_parameters(
    m: Machine, params: tuple[ir.Param, ...], args: list[Value], kwargs: dict[str, Value], env: Env, span: Span
) -> None:
    cells = places.of_arguments(m, args) if m.dialect.by_value else []
    m.lvalues = ([], [])
    of, constants = m.constants
    kinds = m.kinds[1] if m.kinds[0] is args else ()
    for i, p in enumerate(params):
        inner = p.type.pattern if isinstance(p.type, ir.Expand) else p.type
        stands = references.stands(m, inner, env)
        if m.dialect.by_value and p.name and not p.pack:
            env.declare_as(p.name, (inner, False, kinds[i] if i < len(kinds) else ""))
        if qualifiers.settled(inner) and (not stands or qualifiers.refers(inner)):
            env.fix(p.name)
        if constness.to_constant(inner):
            env.fix(f"*{p.name}")
        if of is args and i in constants and qualifiers.refers(inner):
            env.fix(p.name)
        where = cells[i] if i < len(cells) and stands else None
        if where is not None and type(where[0][0]) is Apart and qualifiers.constant(inner):
            where = None
        if where is not None and isinstance(args[i], Scalar):
            _deduced(inner, env)
        if (
            where is not None
            and not p.pack
            and p.name
            and not isinstance(args[i], Object)
            and _stays(m, p, args[i], env)
        ):
            m.journal.set(env.vars, p.name, Reference(where))
            continue
        if p.pack or p.kind == "varargs":
            rest = args[i:]
            if p.pack and stands:
                more = [*cells[i:], *[None] * (len(rest) - len(cells[i:]))]
                rest = [
                    v if w is None or isinstance(v, Object) else Reference(w) for v, w in zip(rest, more, strict=True)
                ]
            if p.pack and not stands and m.dialect.by_value and inner is not None:
                rest = _converted(m, inner, rest, env, span)
            value: Value = Pack(tuple(rest)) if p.pack else tuple(rest)
            if isinstance(kwargs.get(ANY_NAME), Lost):  # as many as nobody knows
                value = kwargs[ANY_NAME]
        elif i < len(args) and p.kind != "keyword":
            value = args[i]
            if type(value) is Elements and not stands:
                value = leaks.decayed(m, cells[i] if i < len(cells) else None, span)
            # an annotation of Python converts nothing
            written = None if p.type is None or is_auto(p.type) or not m.dialect.by_value else p.type
            if written is not None and isinstance(value, (Scalar, int, Extern, tuple)):
                typed = m.eval(written, env)
                if is_zero(value) and isinstance(typed, PtrType):
                    value = symbolic(m, typed, p.name or "argument", p.span)  # any pointer would do
                elif isinstance(typed, (ClassInst, ValueType) if isinstance(value, tuple) else (ScalarType, ClassInst)):
                    value = initialisation.convert(m, typed, value, span)
                elif isinstance(value, Extern) and isinstance(typed, PtrType) and not stands:
                    value = initialisation.convert(m, typed, value, span)  # `x.data_ptr<int8_t>()`
            elif isinstance(value, Unknown) and p.type is not None and not stands and m.recorder.on_host():
                typed = m.eval(p.type, env) if m.dialect.by_value and not is_auto(p.type) else None
                value = initialisation.convert(m, typed, value, span) if isinstance(typed, PtrType) else value
            elif isinstance(value, Object) and p.type is not None and conversions.functions(m, value.cls):
                typed = None if is_auto(p.type) else m.eval(p.type, env)
                other = isinstance(typed, ClassInst) and not classes.derives(m, value.cls, typed)
                made = other and not (stands and not qualifiers.constant(inner))
                if made or isinstance(typed, (ScalarType, PtrType, EnumRef)):
                    value = initialisation.convert(m, typed, value, span)
        elif p.name in kwargs and p.kind in _BY_NAME:
            value = kwargs[p.name]
        elif ANY_NAME in kwargs and p.kind != "varkw":
            value = kwargs[ANY_NAME]
        elif p.default is not None:
            value = m.dialect.default(m, p, env)
            if value == () and p.type is not None and not is_auto(p.type):
                value = initialisation.convert(m, m.eval(p.type, env), value, span)
            elif isinstance(value, Scalar) and p.type is not None and not is_auto(p.type) and m.dialect.by_value:
                typed = m.eval(p.type, env)
                if isinstance(typed, PtrType) and is_zero(value):
                    value = null(typed.inner)
                elif isinstance(typed, (ScalarType, ClassInst)):
                    value = initialisation.convert(m, typed, value, span)
        else:
            value = Unknown(f"no argument for `{p.name}`", span)
        if p.kind == "varkw":
            named = {q.name for q in params if q.kind in _BY_NAME}
            value = new(m, {k: v for k, v in kwargs.items() if k not in named and k != ANY_NAME})
            if ANY_NAME in kwargs:
                include(value, kwargs[ANY_NAME], span)
        if isinstance(value, TensorVal) and not value.name:
            value = replace(value, name=p.name)
        if isinstance(value, (Object, tuple, Closure)) and not stands and not _is_this(p.type, value):
            written = p.type if m.dialect.by_value and not p.pack else None
            if isinstance(value, Object) and written is not None and not is_auto(written):
                typed = m.eval(written, env)
                if isinstance(typed, ClassInst):
                    from cutecheck.source.eval.constructors import part_of

                    value = part_of(m, typed, value, span)
            value = copies.copied(m, value)
            if isinstance(value, Object) and p.name:
                env.hold(p.name)
        if leaks.points(value) and i < len(args) and stands and not qualifiers.constant(inner):
            value = leaks.apart(value, p.name)  # to an element of something that is not followed, perhaps
        if isinstance(value, (Object, ObjectPointer)) and not p.pack and m.dialect.by_value:
            named_bases.note(m, p.name, p.type, value, env)
        if p.name:
            m.journal.set(env.vars, p.name, value)  # as everything that a loop may change
            observed.copied(m, cells[i] if i < len(cells) else None, value, env.vars, p.name)


def _is_this(t: ir.Expr | None, value: Value) -> bool:
    """``this``, given to a parameter that is a pointer: of an object that lies in memory it is the object itself."""
    while isinstance(t, ir.TypeMod) and t.kind in ("const", "volatile"):
        t = t.inner
    in_memory = isinstance(value, Object) and value.pointer is not None
    return in_memory and isinstance(t, ir.TypeMod) and t.kind == "ptr"


def _converted(m: Machine, pattern: ir.Expr, values: list[Value], env: Env, span: Span) -> list[Value]:
    """The arguments of a pack whose types are known already: ``X(Ts... xs)`` of a ``template <class... Ts> X``."""
    if is_auto(pattern) or not any(isinstance(v, (Scalar, tuple)) for v in values):
        return values
    from cutecheck.source.eval.templates import expand

    types = expand(m, pattern, env)
    if len(types) != len(values):
        return values
    return [
        initialisation.convert(m, t, v, span)
        if isinstance(t, (ScalarType, ClassInst)) and isinstance(v, (Scalar, tuple))
        else v
        for t, v in zip(types, values, strict=True)
    ]


def _deduced(t: ir.Expr | None, env: Env) -> None:
    """``T&& x`` of a variable: ``T`` itself is a reference."""
    name = t.inner.ident if isinstance(t, ir.TypeMod) and t.kind == "rref" and isinstance(t.inner, ir.Name) else ""
    at = env.parent
    if name and at is not None and at.kind == "template" and name in at.vars:
        at.refer(name)


def _stays(m: Machine, p: ir.Param, value: Value, env: Env) -> bool:
    """A reference parameter is bound to the argument itself, not to one made of it by a conversion."""
    if not isinstance(value, Scalar) or p.type is None or is_auto(p.type):
        return True
    typed = m.eval(p.type, env)
    return not isinstance(typed, ScalarType) or typed.dtype.name == value.ctype
