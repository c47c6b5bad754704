"""``std::array`` and ``cute::array`` of numbers, enumerators and objects: values, until a pointer leads to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval.chosen import FunctionType
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tensor_arrays import is_view
from cutecheck.source.eval.tuples import Designated, Elements, Held
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import (
    ArrayType,
    Closure,
    ExternType,
    FuncSet,
    Object,
    ScalarType,
    TensorVal,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

NAME = "array"
LENDS = frozenset({"data", "begin", "end", "rbegin", "rend", "fill", "swap", "cbegin", "cend"})
_LONGEST = 256


def followed(type_: Value) -> bool:
    """A type of arrays that are kept as values."""
    if not isinstance(type_, ArrayType) or type_.name != NAME or not isinstance(type_.extent, int):
        return False
    inner = type_.inner
    numbers = isinstance(inner, ScalarType) and inner.dtype.name in INTEGERS
    kept = numbers or isinstance(inner, (EnumRef, ClassInst)) or is_view(inner)
    kept = kept or _is_tuple(inner) or _is_function(inner)
    return 0 < type_.extent <= _LONGEST and (kept or followed(inner))


def _is_tuple(type_: Value) -> bool:
    """``std::pair`` and tuples of numbers."""
    return isinstance(type_, ValueType) and isinstance(type_.value, tuple) and bool(type_.value)


def _is_function(type_: Value) -> bool:
    """A pointer to a function, or ``std::function``."""
    if isinstance(type_, ExternType):
        return type_.name == "std::function"
    return isinstance(type_, FunctionType) or (isinstance(type_, ValueType) and isinstance(type_.value, FuncSet))


def deduced(m: Machine, values: Sequence[Value], span: Span) -> Value:
    """``std::array t{a, b}``: of the first one's type, as many as there are; a copy of an array alone."""
    if len(values) == 1 and isinstance(values[0], Held):
        return values[0]
    held = made(m, ArrayType(type_of(values[0]), len(values), name=NAME), values, span)
    return Unknown("an array of elements that are not followed", span) if held is None else held


def made(m: Machine, type_: ArrayType, values: Sequence[Value], span: Span) -> Value | None:
    """What the values in a pair of braces initialise; None where it is not followed."""
    from cutecheck.source.eval.elision import regrouped
    from cutecheck.source.eval.initialisation import convert

    if not m.dialect.by_value or not followed(type_) or not isinstance(type_.extent, int):
        return None
    given = list(values)
    if len(given) == 1 and isinstance(given[0], tuple) and not isinstance(given[0], (Elements, Designated)):
        single = isinstance(type_.inner, ScalarType) or _is_function(type_.inner)  # which no braces initialise
        if single or not given[0] or all(isinstance(v, (tuple, Object, TensorVal)) for v in given[0]):
            given = list(given[0])  # of the array that is inside
    if len(given) == 1 and isinstance(given[0], Held) and not followed(type_.inner):
        return given[0] if len(given[0]) == type_.extent else None
    given = regrouped(m, [type_.inner] * type_.extent, given)
    if len(given) > type_.extent:
        return None
    plain = isinstance(type_.inner, (ScalarType, EnumRef))
    whole: tuple[type, ...] = (TensorVal,) if is_view(type_.inner) else (tuple, Object)
    if _is_function(type_.inner):
        if len(given) < type_.extent:
            return None  # some are null
        whole = (FuncSet, Closure)
    nested = followed(type_.inner)
    if any(isinstance(v, Unknown) or (not plain and not isinstance(v, whole)) for v in given):
        return None
    if any(isinstance(v, Elements) and not (nested and isinstance(v, Held)) for v in given):
        return None
    more = [()] * (type_.extent - len(given))
    return Held(convert(m, type_.inner, v, span) for v in (*given, *more))
