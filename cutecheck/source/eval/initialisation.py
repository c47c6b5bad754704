"""What a variable of a type holds that is initialised with a value: numbers, pointers, objects and braced lists."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import classes, conversions, enums, leaks, places, std_arrays, vectors
from cutecheck.source.eval.barrier_types import stands_for_place
from cutecheck.source.eval.chosen import OneOf
from cutecheck.source.eval.fitting import decayed, fitted
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.symbolic import any_of
from cutecheck.source.eval.tuples import Elements, Held, Vector, designators
from cutecheck.source.eval.types import is_type, pointed_to
from cutecheck.source.eval.values import (
    VARIANT,
    Address,
    ArrayType,
    EnumVal,
    Extern,
    ExternType,
    Object,
    ObjectPointer,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Value,
    ValueType,
    is_variant,
)

LONGEST = 256  # elements of an array that are told apart


def convert(m: Machine, type_: Value, value: Value, span: Span) -> Value:
    """The value of an initialisation ``T x = value``."""
    if isinstance(value, OneOf) and not isinstance(type_, ScalarType):
        return value  # as a function is
    if isinstance(value, Unknown):
        if isinstance(type_, ScalarType):
            return any_of(m, type_, span, m.recorder.in_kernel())
        return _some_pointer(m, type_, span) if isinstance(type_, PtrType) and m.recorder.on_host() else value
    # On the host `T* x = {}` stays open: known to be null, it makes CUTLASS's test beds walk every problem size.
    kinds = (ValueType, ScalarType) if m.recorder.on_host() else (ValueType, ScalarType, PtrType)
    if isinstance(value, tuple) and not value and isinstance(type_, kinds):
        return classes.default_value(m, type_, span)  # `T x = {};`
    if isinstance(type_, ScalarType) and not is_type(value):
        if isinstance(value, Vector):
            return value
        vector = vectors.filled(m, type_.dtype.name, value, span) if isinstance(value, tuple) else None
        if vector is not None:
            return vector  # `uint2 v = {x, y};`
        if isinstance(value, (Address, ObjectPointer)):
            leaks.leak(m, value)
        if isinstance(value, Object):
            own = conversions.converted(m, value, type_, span)
            if own is not None:
                return own
        if isinstance(value, (Extern, Object)):
            return any_of(m, type_, span, False)
        if m.dialect.by_value and stands_for_place(value):
            return any_of(m, type_, span, True)  # what lies there: no pointer becomes a number by itself
        return number(m, type_, value, span)
    if isinstance(type_, (PtrType, enums.EnumRef)) and isinstance(value, Object):
        own = conversions.converted(m, value, type_, span)
        if own is not None:
            return convert(m, type_, own, span) if isinstance(own, Unknown) else own
    if isinstance(type_, PtrType) and isinstance(value, Pointer):
        return decayed(type_, value)
    if isinstance(type_, PtrType) and isinstance(value, (Extern, Scalar)):
        return _some_pointer(m, type_, span)
    if isinstance(type_, ValueType):
        return fitted(m, type_.value, value)
    if isinstance(type_, ArrayType):
        floats = isinstance(type_.inner, ScalarType) and not classes.integral(type_.inner.dtype)
        if floats and isinstance(value, tuple) and not type_.name:
            return m.recorder.array(m, type_, span)  # numbers that are not followed, behind a pointer that is
        return elements(m, type_, value, span)
    if isinstance(type_, enums.EnumRef) and m.dialect.by_value:
        return enums.made(m, type_, value[0] if isinstance(value, tuple) and len(value) == 1 else value, span)
    if is_variant(type_) and not isinstance(value, (Object, Extern)):
        return Extern(VARIANT, span, type_)  # of numbers and tuples, as of sizes: the value would not tell which it is
    if isinstance(type_, ExternType) and type_.name.endswith((leaks.WRAPPER, *places.BOXES)):
        return Extern(type_.name, span, type_)
    if isinstance(type_, ClassInst):
        from cutecheck.source.eval.constructors import construct_object, part_of

        if isinstance(value, tuple):
            return construct_object(m, type_, list(value), designators(value), span)
        if isinstance(value, (Scalar, EnumVal)) and m.dialect.by_value and classes.has_constructors(type_):
            return construct_object(m, type_, [value], [None], span)
        if isinstance(value, Object) and m.dialect.by_value:
            if classes.derives(m, value.cls, type_):
                return part_of(m, type_, value, span)
            own = conversions.converted(m, value, type_, span)
            if own is None and classes.derives(m, type_, value.cls) and classes.has_constructors(type_):
                return construct_object(m, type_, [value], [None], span)  # `Derived d = base;`
            return value if own is None else own
    return value


def number(m: Machine, type_: ScalarType, value: Value, span: Span) -> Value:
    """A value as a number of a type; of a pointer to shared memory its address."""
    if isinstance(value, Pointer) and m.dialect.by_value:
        from cutecheck.source.eval.shared_addresses import as_integer

        address = as_integer(m, type_, value, span)
        if address is not None:
            return address
    return m.dialect.cast(type_, value, span)


def _some_pointer(m: Machine, type_: PtrType, span: Span) -> Value:
    """A pointer of which host code says the type alone: what objects of headers that are not there gave, say."""
    inner, name = pointed_to(type_.inner), f"pointer@{span.place}#{m.number()}"
    return inner if isinstance(inner, Unknown) else Pointer(name, "unknown", inner)


def elements(m: Machine, type_: Value, value: Value, span: Span) -> Value:
    """What a plain array of a type holds that is made of a braced list."""
    if not isinstance(type_, ArrayType) or not isinstance(value, tuple):
        return value
    if type_.name:
        held = std_arrays.made(m, type_, list(value), span) if not isinstance(value, Held) else value
        return value if held is None else held
    if isinstance(value, tuple) and value and not isinstance(value, Elements) and isinstance(type_.extent, int):
        from cutecheck.source.eval.elision import regrouped

        value = tuple(regrouped(m, [type_.inner] * type_.extent, list(value)))
    extent = type_.extent if isinstance(type_.extent, int) else len(value)
    if extent > LONGEST:
        return m.recorder.array(m, type_, span)
    more = (convert(m, type_.inner, (), span) for _ in range(extent - len(value)))
    return Elements((*(convert(m, type_.inner, v, span) for v in value), *more))
