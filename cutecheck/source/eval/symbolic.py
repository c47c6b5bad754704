"""Values of which only the type is known: parameters of what is evaluated for itself, members of such objects."""

from __future__ import annotations

import re

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import atom_expr
from cutecheck.model.expr.terms import NATURAL
from cutecheck.model.integers import domain_of, is_narrow, whole_domain_of
from cutecheck.model.ints import Dyn
from cutecheck.model.prove.domains import PER_THREAD, WITHIN
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.renaming import renamed
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.tuples import Components
from cutecheck.source.eval.types import is_type, pointed_to
from cutecheck.source.eval.values import (
    ArrayType,
    Extern,
    ExternType,
    Object,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Shared,
    Value,
    ValueType,
)

_NUMBERED = re.compile(r"([#~])")
_UNNAMED = re.compile(r"value@\d+:\d+('?[#~]\w*)$")


def symbolic(m: Machine, type_: Value, name: str, span: Span | None) -> Value:
    """A value of which only the type is known: a function parameter of a root, a field of an argument."""
    if isinstance(type_, ScalarType):
        kind = type_.dtype.name
        if kind == "bool":
            return _untracked(kind, name)
        if (
            type_.dtype.bits is None
            or kind in ("float", "double")
            or (kind.endswith("_t") and "int" not in kind and kind not in ("size_t", "ptrdiff_t"))
        ):
            return _untracked(kind, name)
        return Scalar(Dyn.named(_of_type(name, kind), domain_of(kind)), kind)
    if isinstance(type_, ValueType) and type(type_.value) is tuple and any(map(is_type, type_.value)):
        parts = (v if is_type(v) else ValueType(v) for v in type_.value)  # pointers and objects in a tuple
        return tuple(symbolic(m, t, f"{name}.{i}", span) for i, t in enumerate(parts))
    if isinstance(type_, ValueType):
        return renamed(m, type_.value, name)
    if isinstance(type_, PtrType):
        return Pointer(name, "unknown", pointed_to(type_.inner))
    if isinstance(type_, ClassInst):
        return Object(type_, {}, None, name)
    if isinstance(type_, ArrayType):
        own = isinstance(type_.inner, ClassInst) and m.dialect.by_value  # its members are remembered by its name
        return Pointer(f"{name}#{m.number()}" if own else name, "unknown", pointed_to(type_.inner))
    if isinstance(type_, ExternType) and type_.name == "dim3":
        return Components(Scalar(Dyn.named(f"{name}.{axis}", NATURAL), "unsigned int") for axis in "xyz")
    if isinstance(type_, ExternType):
        return Extern(type_.name, span, type_)
    if type_ is None:
        return Unknown(f"the type of `{name}` is not known", span)
    return type_ if isinstance(type_, Unknown) else Extern(name, span, type_)


def _of_type(name: str, kind: str) -> str:
    """The name of a number of which the type alone says the range."""
    marked = WITHIN not in name and not name.startswith("*") and is_narrow(kind)
    return _NUMBERED.sub(rf"{WITHIN}\1", name, count=1) if marked else name


def _untracked(kind: str, name: str) -> Scalar:
    return Scalar(None, kind) if PER_THREAD in name else Shared(None, kind, name)


def any_of(m: Machine, type_: ScalarType, span: Span, varying: bool) -> Value:
    """A number that was made of one which is not known: it may have been negative.

    It is another one each time that its place is come to; ``varying``: in each thread, too.
    """
    # ``called`` knows it by this
    name = f"value@{span.line}:{span.column}{PER_THREAD if varying else '#'}{m.number()}"
    value = symbolic(m, type_, name, span)
    if isinstance(value, Scalar) and isinstance(value.value, Dyn):
        return Scalar(Dyn.named(_of_type(name, value.ctype), whole_domain_of(type_.dtype.name)), value.ctype)
    return value


def called(value: Value, name: str) -> Value:
    """A number that has no name but its place, by the name of the variable that it was made for."""
    number = value.value if isinstance(value, Scalar) else None
    own = [*number.expr.variables()] if isinstance(number, Dyn) else []
    if not isinstance(value, Scalar) or type(number) is not Dyn or len(own) != 1:
        return value
    found = _UNNAMED.match(own[0].name) if number.expr == atom_expr(own[0]) else None
    return Scalar(Dyn.named(f"{name}{found[1]}", own[0].domain), value.ctype) if found and name else value


def symbolic_parameter(m: Machine, p: ir.Param, env: Env, span: Span | None = None) -> Value:
    """What a function that is evaluated for itself gets as a parameter: a value of its type."""
    typed = m.eval(p.type, env) if p.type is not None and not isinstance(p.type, ir.Auto) else None
    if typed is not None and not is_type(typed):
        typed = Unknown(f"the type of `{p.name}` is not known", p.span)
    return symbolic(m, typed, p.name or "argument", span or p.span)
