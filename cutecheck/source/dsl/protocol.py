"""What objects of the program answer to Python's own functions: ``__len__``, ``__iter__``, ``__bool__`` ..."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import classes
from cutecheck.source.dsl.values import BuiltinType, Enumerator
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NUMBERS = ("IntEnum", "IntFlag", "int", "str", "StrEnum")
_FLAGS = ("Flag", "IntFlag")


def asked(m: Machine, obj: Value, method: str, args: list[Value], span: Span) -> Value | None:
    """What a method of an object's class returns; None where the class has none."""
    from cutecheck.source.eval.calls import apply

    if not isinstance(obj, Object) or not isinstance(classes.find(obj.cls, method), FuncSet):
        return None
    made = apply(m, classes.attribute(m, obj, method, span), args, {}, span)
    return made if made is not None else Unknown(f"`{method}` returned nothing", span)


def length(m: Machine, v: Object | ClassInst, span: Span) -> Value | None:
    """``len(v)``."""
    if isinstance(v, ClassInst):
        return len(classes.enumerators(m, v)) if v.memo.get("enum") else None
    return len(v.fields) if v.cls.memo.get("namedtuple") else asked(m, v, "__len__", [], span)


def items(m: Machine, v: Object, span: Span) -> Value | None:
    """What iterating an object gives: a list or another iterable; None where it has no ``__iter__``."""
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


# -------------------------------------------------------------------- enumerations


def _bases(cls: ClassInst) -> set[str]:
    return {b.name for c in classes.mro(cls) for b in c.memo["foreign"] if isinstance(b, BuiltinType)}


def plain(v: Value) -> Value:
    """The number or text that a member of ``IntEnum``, ``IntFlag`` or ``(str, Enum)`` is; another value as it is."""
    if isinstance(v, Enumerator) and not _bases(v.cls).isdisjoint(_NUMBERS):
        return v.value
    return v


def is_flag(v: Value) -> bool:
    """Whether a value is a member, or a set of members, of a ``Flag``."""
    return isinstance(v, Enumerator) and isinstance(v.value, int) and not _bases(v.cls).isdisjoint(_FLAGS)


def flags(op: str, a: Value, b: Value) -> Enumerator | bool | None:
    """``a | b``, ``a in b`` and the like of members of a ``Flag``; those of an ``IntFlag`` go with numbers, too."""
    of = next((v for v in (a, b) if is_flag(v)), None)
    if of is None:
        return None
    left, right = (_bits(v, of.cls) for v in (a, b))
    if left is None or right is None:
        return None
    if op in ("in", "not in") and is_flag(a) and is_flag(b):
        return (left & right == left) == (op == "in")
    value = {"|": left | right, "&": left & right, "^": left ^ right}.get(op)
    return None if value is None else _flag(of.cls, value)


def _bits(v: Value, cls: ClassInst) -> int | None:
    """The flags that are set in a member of ``cls``, or in a number beside one of an ``IntFlag``."""
    if is_flag(v) and v.cls is cls:
        return int(v.value)
    return v if isinstance(v, int) and "IntFlag" in _bases(cls) else None


def inverted(v: Enumerator) -> Enumerator:
    """``~v`` of a ``Flag``: the other members."""
    every = 0
    for e in v.cls.memo["space"].values():
        every |= e.value if is_flag(e) else 0
    return _flag(v.cls, every & ~v.value)


def _flag(cls: ClassInst, value: int) -> Enumerator:
    own = [e for e in cls.memo["space"].values() if isinstance(e, Enumerator)]
    found = next((e for e in own if e.value == value), None)
    return found or Enumerator(cls, f"{cls.name} {value}", value)


def empty(v: Enumerator) -> bool:
    """Whether a member of a ``Flag`` has no flag set."""
    return v.value == 0 and not _bases(v.cls).isdisjoint(_FLAGS)


def next_member(cls: ClassInst) -> int | Unknown:
    """The value of ``enum.auto()`` after the members so far."""
    values = [e.value for e in cls.memo["space"].values() if isinstance(e, Enumerator)]
    if not values:
        return 1
    if not all(isinstance(v, int) for v in values):
        return Unknown("`enum.auto()` after a member that is no number")
    top: int = max(values)
    return 1 << top.bit_length() if not _bases(cls).isdisjoint(_FLAGS) else top + 1


# -------------------------------------------------------------------- order


def ordered(m: Machine, values: list[Value], span: Span, reverse: bool = False) -> list[int] | None:
    """The indices of values in the order of their ``<``; None where that is not known."""
    values = [plain(v) for v in values]
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
