"""Enumerations of the tree: their enumerators, and the integers that they are kept as."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import DType
from cutecheck.model.integers import promoted
from cutecheck.model.units import Bits
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Enumeral, EnumVal, Scalar, ScalarType, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


@record(frozen=True, slots=True)
class EnumRef:
    """An enumeration type of the tree."""

    name: str
    decl: ir.Enum
    env: Env


def enumerator(m: Machine, decl: ir.Enum, position: int, env: Env) -> Value:
    """The value of one enumerator: explicit, or one more than the one before."""
    offset = 0
    of = EnumRef(decl.name, decl, env)
    for index in range(position, -1, -1):
        _, init, _ = decl.enumerators[index]
        if init is not None:
            base = constant(m.eval(init, _among(m, decl, index, init, env)))
            number = None if base is None else base + offset
            return EnumVal(decl.name, decl.enumerators[position][0], number, _promoted(m, decl, number, env), of)
        offset += 1
    return EnumVal(decl.name, decl.enumerators[position][0], offset - 1, _promoted(m, decl, offset - 1, env), of)


def brought(m: Machine, target: ir.Expr, name: str, env: Env) -> Value | None:
    """The enumerator of a name that ``using enum`` brings to a scope."""
    of = m.eval(target, env)
    for position, (own, _, _) in enumerate(of.decl.enumerators if isinstance(of, EnumRef) else ()):
        if own == name:
            return enumerator(m, of.decl, position, of.env)
    return None


def _promoted(m: Machine, decl: ir.Enum, number: int | None, env: Env) -> str:
    """The type of ``+e``: of what is written as the type behind an enumeration, else one that holds the number."""
    if decl.underlying is not None:
        kept = m.eval(decl.underlying, env)
        return promoted(kept.dtype.name) if isinstance(kept, ScalarType) else "int"
    if number is None or -(1 << 31) <= number < 1 << 31:
        return "int"
    return "unsigned" if 0 <= number < 1 << 32 else "long"


def _among(m: Machine, decl: ir.Enum, position: int, init: ir.Expr, env: Env) -> Env:
    """Where an enumerator's value is written: those before it are plain numbers there."""
    used = set(names_in(init))
    earlier = [(i, name) for i, (name, *_) in enumerate(decl.enumerators[:position]) if name in used]
    if not earlier:
        return env
    inside = Env(env, "template")
    for i, name in earlier:
        value = enumerator(m, decl, i, env)
        number = value.value if isinstance(value, EnumVal) else None
        inside.vars[name] = (
            Unknown(f"the value of `{name}` is not known", decl.span) if number is None else Scalar(number, "int")
        )
    return inside


def underlying(m: Machine, of: EnumRef) -> Value:
    """The integer type behind an enumeration: as written, else ``int``, where that holds all its values."""
    if of.decl.underlying is not None:
        return m.eval(of.decl.underlying, of.env)
    values = [enumerator(m, of.decl, i, of.env) for i in range(0 if of.decl.scoped else len(of.decl.enumerators))]
    known = [v.value for v in values if isinstance(v, EnumVal)]
    if any(v is None or not -(1 << 31) <= v < 1 << 31 for v in known):
        return Unknown(f"the type that `{of.name}` is kept as is not known", of.decl.span)
    return ScalarType(DType("int", Bits(32)))


def made(m: Machine, of: EnumRef, value: Value, span: Span) -> Value:
    """``E(value)``."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, EnumVal) and value.enum == of.name:
        return value
    kept = underlying(m, of)
    number = kept if isinstance(kept, Unknown) else m.dialect.cast(kept, value, span)
    if not isinstance(number, Scalar):
        return number
    if not isinstance(number.value, int):
        return Enumeral(number.value, number.ctype, of)
    every = (enumerator(m, of.decl, i, of.env) for i in range(len(of.decl.enumerators)))
    named = (v for v in every if isinstance(v, EnumVal) and v.value == number.value)
    return next(named, EnumVal(of.name, str(int(number.value)), int(number.value), promoted(number.ctype), of))
