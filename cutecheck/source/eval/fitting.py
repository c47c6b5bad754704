"""A CuTe value from a braced list or from other values: what the type says of each part is kept.

``Stride<int64_t, _1>{ld, {}}`` is ``(ld,_1)``, and ``Shape<int, int>{m, _64{}}`` has a run-time 64.
"""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.model.basis import Underscore
from cutecheck.model.integers import INTEGERS
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.source.eval.enums import EnumRef
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tuples import Pair, like
from cutecheck.source.eval.types import type_of
from cutecheck.source.eval.values import ArrayType, CuteOp, Pointer, PtrType, Scalar, ScalarType, Value, is_zero, null

_NOWHERE = Span("", 1, 1, 1, 1)
_MADE = (ClassInst, EnumRef)
_STATELESS = (int, Sym, Swizzle, Underscore, CuteOp)


def of_nothing(m: Machine, template: Value, span: Span) -> Value:
    """``T{}`` of a CuTe value's type: the value itself; a tuple has of the other types in it (``std::tuple<Config>{}``)
    one object each."""
    from cutecheck.source.eval import classes

    if isinstance(template, (*_MADE, PtrType)):
        return classes.construct(m, template, [], [], span)
    if isinstance(template, tuple) and any(isinstance(t, (*_MADE, PtrType, tuple)) for t in template):
        return like(template, (of_nothing(m, t, span) for t in template))
    return template


def fitted(m: Machine, target: Value, value: Value) -> Value:
    """``value``, a braced list or another value, as one of the type of ``target``; itself where that is not known."""
    if isinstance(target, tuple):
        return _tuple(m, target, value)
    if isinstance(target, _MADE) and isinstance(value, tuple):
        from cutecheck.source.eval import initialisation

        return of_nothing(m, target, _NOWHERE) if not value else initialisation.convert(m, target, value, _NOWHERE)
    if isinstance(target, (int, Sym)):
        return target if value == () or isinstance(value, (Scalar, Dyn, int)) else value
    if isinstance(target, Dyn):
        return _number(m, value, target)
    if isinstance(target, Layout):
        return _layout(m, target, value)
    if isinstance(target, PtrType) and (is_zero(value) or (isinstance(value, Dyn) and value.value == 0)):
        return null(target.inner)
    return target if value == () and isinstance(target, (*_STATELESS, ComposedLayout)) else value


def _number(m: Machine, value: Value, target: Dyn) -> Value:
    """A number as one of the type of an element (``Stride<int64_t, _1>``)."""
    if value == ():
        value = Scalar(0, "int")
    if isinstance(value, tuple):
        return _number(m, value[0], target) if len(value) == 1 else value  # `{n}`
    typed = type_of(target)
    if isinstance(typed, ScalarType) and isinstance(value, (Scalar, int, Dyn)) and not isinstance(value, bool):
        number = Scalar(value, "int") if isinstance(value, int) else m.dialect.from_model(value)
        if isinstance(number, Scalar) and number.ctype in INTEGERS and typed.dtype.name in INTEGERS:
            return m.dialect.to_model(m.dialect.cast(typed, number, _NOWHERE))
    model = m.dialect.to_model(value)
    return Dyn.of(model) if isinstance(model, int) else model


def _tuple(m: Machine, target: tuple[Value, ...], value: Value) -> Value:
    if not isinstance(value, tuple):
        return value
    if not value or len(value) == len(target):
        parts = (fitted(m, t, v) for t, v in zip(target, value or ((),) * len(target), strict=True))
        return Pair(parts) if type(target) is Pair else tuple(parts)
    return _tuple(m, target, value[0]) if len(value) == 1 else value  # `{other}`


def _layout(m: Machine, target: Layout, value: Value) -> Value:
    """Of nothing, another layout, a shape, or a shape and its stride."""
    if value == ():
        return Layout(fitted(m, target.shape, ()), fitted(m, target.stride, ()))
    if not isinstance(value, tuple):
        return value
    if len(value) == 1 and isinstance(value[0], (Layout, ComposedLayout)):
        return value[0]
    parts = value if len(value) <= 2 and fits(target.shape, value[0]) else None
    if parts is not None and len(parts) == 2 and not fits(target.stride, parts[1]):
        parts = None
    if fits(target.shape, value):
        if parts is not None and parts != (value,) and len(parts) == 2:
            return Unknown("a shape and a stride, or a shape of two modes")
        parts = (value,)
    if parts is None:
        return value
    shape, stride = parts if len(parts) == 2 else (parts[0], ())
    return Layout(fitted(m, target.shape, shape), fitted(m, target.stride, stride))


def fits(target: Value, value: Value) -> bool:
    """Whether a value, or a braced list, could initialise one of the type of ``target``."""
    if value == ():
        return True
    if isinstance(target, tuple):
        if not isinstance(value, tuple):
            return False
        return len(value) == len(target) and all(fits(t, v) for t, v in zip(target, value, strict=True))
    return not isinstance(value, (tuple, Layout, ComposedLayout))


def decayed(target: PtrType, value: Pointer) -> Pointer:
    """A pointer as one of a type: of an array, which has no class of its own, to its first element."""
    array = isinstance(value.type, ArrayType) and not value.type.name and not isinstance(target.inner, ArrayType)
    return replace(value, type=value.type.inner) if array else value
