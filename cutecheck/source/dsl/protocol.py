"""What objects of the program answer to Python's own functions: ``__len__``, ``__iter__``, ``__bool__`` ..."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import classes, enumerations
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def asked(
    m: Machine, obj: Value, method: str, args: list[Value], span: Span, kwargs: dict[str, Value] | None = None
) -> Value | None:
    """What a method of an object's class, or of a class's metaclass, returns; None where there is none."""
    from cutecheck.source.dsl import metaclasses
    from cutecheck.source.eval.calls import apply

    if not metaclasses.answers(obj, method):
        return None
    own = metaclasses if isinstance(obj, ClassInst) else classes
    made = apply(m, own.attribute(m, obj, method, span), args, kwargs or {}, span)
    return made if made is not None else Unknown(f"`{method}` returned nothing", span)


def length(m: Machine, v: Object | ClassInst, span: Span) -> Value | None:
    """``len(v)``."""
    if isinstance(v, ClassInst):
        return len(enumerations.members(v)) if v.memo.get("enum") else asked(m, v, "__len__", [], span)
    return len(v.fields) if v.cls.memo.get("namedtuple") else asked(m, v, "__len__", [], span)


def items(m: Machine, v: Object | ClassInst, span: Span) -> Value | None:
    """What iterating an object or class gives: a list or another iterable; None where it has no ``__iter__``."""
    if isinstance(v, ClassInst):
        return enumerations.members(v) or asked(m, v, "__iter__", [], span)
    if v.cls.memo.get("namedtuple"):
        return list(v.fields.values())
    return asked(m, v, "__iter__", [], span)


def truth(m: Machine, v: Object, span: Span) -> Value:
    """``bool(v)``, as a value whose truth can be told."""
    for method in ("__bool__", "__len__"):
        said = asked(m, v, method, [], span)
        if said is not None:
            return said
    return not v.cls.memo.get("namedtuple") or bool(v.fields)


def has_truth(v: Object) -> bool:
    """Whether the class says itself what is true."""
    return any(classes.find(v.cls, method) is not None for method in ("__bool__", "__len__"))


def number(m: Machine, v: Value, span: Span) -> Value:
    """An object as an index or integer; another value as it is."""
    for method in ("__index__", "__int__"):
        said = asked(m, v, method, [], span)
        if said is not None:
            return said
    return v


# -------------------------------------------------------------------- order


def ordered(m: Machine, values: list[Value], span: Span, reverse: bool = False) -> list[int] | None:
    """The indices of values in the order of their ``<``; None where that is not known."""
    values = [enumerations.plain(v) for v in values]
    if all(isinstance(v, (int, float, str, tuple)) for v in values):
        try:
            return sorted(range(len(values)), key=lambda i: values[i], reverse=reverse)
        except TypeError:
            return None

    class Unsure(Exception):
        pass

    def compare(i: int, j: int) -> int:
        for a, b, sign in ((values[i], values[j], -1), (values[j], values[i], 1)):
            less = m.dialect.truth(m.dialect.operator(m, "<", a, b, span))
            if less is None:
                raise Unsure
            if less:
                return sign
        return 0

    if not all(isinstance(v, Object) for v in values):
        return None
    try:
        return sorted(range(len(values)), key=functools.cmp_to_key(compare), reverse=reverse)
    except Unsure:
        return None
