"""Enumerations of the tree: their members, the numbers and texts that these are, flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import classes
from cutecheck.source.dsl.equality import equal
from cutecheck.source.dsl.values import BuiltinType, Enumerator
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NUMBERS = ("IntEnum", "IntFlag", "int", "str", "StrEnum")
_FLAGS = ("Flag", "IntFlag")
_KINDS = {"IntEnum": ("int", "Enum"), "IntFlag": ("int", "Flag", "Enum"), "Flag": ("Enum",), "StrEnum": ("str", "Enum")}


def members(cls: ClassInst) -> list[Enumerator]:
    """The members of an enumeration; a further name of one is no member."""
    spaces = [c.memo["space"] for c in reversed(classes.mro(cls))]
    return [v for space in spaces for k, v in space.items() if isinstance(v, Enumerator) and v.name == k]


def member(m: Machine, cls: ClassInst, args: list[Value], span: Span) -> Value:
    """``Class(value)``."""

    given = args[0] if len(args) == 1 else tuple(args)
    same = [equal(e.value, given) for e in members(cls)]
    for e, answer in zip(members(cls), same, strict=True):
        if answer or e is given:
            return e
        if answer is None:
            return Unknown(f"which member of `{cls.name}` has this value", span)
    if isinstance(classes.find(cls, "_missing_"), FuncSet):
        from cutecheck.source.eval.calls import apply

        return apply(m, classes.attribute(m, cls, "_missing_", span), [given], {}, span)
    if isinstance(given, int) and not bases(cls).isdisjoint(_FLAGS):
        return _flag(cls, given)
    return Unknown(f"no member of `{cls.name}` has this value", span)


def complete(m: Machine, cls: ClassInst, span: Span) -> None:
    """What ``__new__`` or ``__init__`` of an enumeration sets in its members."""
    from cutecheck.source.eval.calls import apply

    new, init = (classes.find(cls, word) for word in ("__new__", "__init__"))
    for e in members(cls) if isinstance(new, FuncSet) or isinstance(init, FuncSet) else ():
        given = list(e.value) if isinstance(e.value, tuple) else [e.value]
        obj: Value = Object(cls)
        if isinstance(new, FuncSet):
            obj = apply(m, FuncSet(new.name, new.entries, None, new.cls), [cls, *given], {}, span)
        if isinstance(init, FuncSet) and isinstance(obj, Object):
            apply(m, FuncSet(init.name, init.entries, obj, init.cls), given, {}, span)
        fields = dict(obj.fields) if isinstance(obj, Object) else {}
        if isinstance(new, FuncSet):  # it may choose another value
            unknown = Unknown(f"the value that `__new__` of `{cls.name}` gives", span)
            cls.memo["space"][e.name] = e = Enumerator(cls, e.name, fields.get("_value_", unknown))
        cls.memo[e.name, "fields"] = fields


def attribute(m: Machine, e: Enumerator, name: str, span: Span) -> Value | None:
    """What a member has of its own, or its class; None where neither has it."""
    if name in ("value", "_value_"):
        return e.value
    if name in ("name", "_name_"):
        return e.name
    own = e.cls.memo.get((e.name, "fields"), {})
    if name in own:
        return own[name]
    found = classes.find(e.cls, name)
    if found is not None:
        return classes.bind(m, found, e, e.cls, span)
    return None if plain(e) is e else m.dialect.attribute(m, plain(e), name, span)


def is_a(e: Enumerator, name: str) -> bool:
    """Whether a member is of a class of Python."""
    own = bases(e.cls)
    return name in own or name in ("Enum", "object") or any(name in _KINDS.get(b, ()) for b in own)


def bases(cls: ClassInst) -> set[str]:
    """The names of the classes of Python that an enumeration is made of."""
    return {b.name for c in classes.mro(cls) for b in c.memo["foreign"] if isinstance(b, BuiltinType)}


def plain(v: Value) -> Value:
    """The number or text that a member of ``IntEnum``, ``IntFlag`` or ``(str, Enum)`` is; another value as it is."""
    if isinstance(v, Enumerator) and not bases(v.cls).isdisjoint(_NUMBERS):
        return v.value
    return v


def is_flag(v: Value) -> bool:
    """Whether a value is a member, or a set of members, of a ``Flag``."""
    return isinstance(v, Enumerator) and isinstance(v.value, int) and not bases(v.cls).isdisjoint(_FLAGS)


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
    return v if isinstance(v, int) and "IntFlag" in bases(cls) else None


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
    return v.value == 0 and not bases(v.cls).isdisjoint(_FLAGS)


def next_member(cls: ClassInst, name: str) -> int | str | Unknown:
    """The value of ``enum.auto()`` after the members so far."""
    if classes.find(cls, "_generate_next_value_") is not None:
        return Unknown("`enum.auto()` of an enumeration with values of its own")
    if "StrEnum" in bases(cls):
        return name.lower()
    values = [e.value for e in cls.memo["space"].values() if isinstance(e, Enumerator)]
    if not values:
        return 1
    if not all(isinstance(v, int) for v in values):
        return Unknown("`enum.auto()` after a member that is no number")
    top: int = max(values)
    return 1 << top.bit_length() if not bases(cls).isdisjoint(_FLAGS) else top + 1
