"""Classes of classes: what a metaclass makes of a class, and what it answers for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import classes
from cutecheck.source.dsl.builtins import builtin
from cutecheck.source.dsl.flow import unless_raised
from cutecheck.source.dsl.values import NONE, BuiltinType
from cutecheck.source.eval.containers import unsure
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MAKING = "dsl classes that are being made"
_PLAIN = ("type", "ABCMeta", "EnumMeta", "EnumType")  # they add nothing that is not followed anyway


def choose(inst: ClassInst, given: Value) -> None:
    """Note the metaclass of a class: the one that is given, or that of a base; a foreign one may add anything."""
    if isinstance(given, ClassInst):
        inst.memo["metaclass"] = given
        return
    name = given.name if isinstance(given, BuiltinType) else given.what if isinstance(given, Extern) else ""
    if given is not None and name.rpartition(".")[2] not in _PLAIN:
        inst.memo["foreign"].append(given)
    inst.memo["metaclass"] = next((found for b in inst.bases or () if (found := b.memo.get("metaclass"))), None)


def made(m: Machine, inst: ClassInst, named: dict[str, Value], span: Span) -> Value:
    """The class that comes out of a definition, after its metaclass and ``__init_subclass__``."""
    meta = inst.memo.get("metaclass")
    new, init = (classes.find(meta, word) if meta is not None else None for word in ("__new__", "__init__"))
    given: list[Value] = [inst.decl.name, tuple(inst.bases or ()), dict(inst.memo["space"])]
    value: Value = inst
    if isinstance(new, FuncSet):
        making = m.functions.setdefault(_MAKING, [])
        making.append(inst)
        try:
            answer = _call(m, new, meta, given, named, span)
        finally:
            making.remove(inst)
        value = inst if isinstance(answer, (Unknown, Extern)) or answer is None else answer
    else:
        classes.initialized(m, inst, span, {} if isinstance(init, FuncSet) else named)
    if isinstance(init, FuncSet) and isinstance(value, ClassInst):
        _call(m, init, value, given, named, span)
    return value


def _call(m: Machine, fn: FuncSet, first: Any, args: list[Value], named: dict[str, Value], span: Span) -> Value:
    from cutecheck.source.eval.calls import apply

    return apply(m, FuncSet(fn.name, fn.entries, None, fn.cls), [first, *args], named, span)


@builtin("type.__new__")
def new(m: Machine, args: list[Value], named: dict[str, Value], span: Span) -> Value:
    """``type.__new__(metaclass, name, bases, namespace)``: the class that is being defined, or one more."""
    from cutecheck.source.dsl.made_classes import type_of_three

    meta, name, bases, space = args[:4]
    making: list[ClassInst] = m.functions.get(_MAKING, [])
    inst = making[-1] if making and making[-1].decl.name == name else None
    if inst is None:
        another = type_of_three(m, [name, bases, space], {}, span)
        if isinstance(another, ClassInst) and isinstance(meta, ClassInst):
            another.memo["metaclass"] = meta
        return another
    if isinstance(space, dict) and unsure(space) is None:
        own = inst.memo["space"]
        for key in [k for k in own if k not in space]:
            del own[key]
        own.update({k: v for k, v in space.items() if isinstance(k, str)})
    classes.initialized(m, inst, span, named)
    return inst


@builtin("type.__call__")
def _instance(m: Machine, args: list[Value], named: dict[str, Value], span: Span) -> Value:
    """``super().__call__(...)`` of a metaclass."""
    return classes.construct(m, args[0], args[1:], named, span)


def attribute(m: Machine, cls: ClassInst, name: str, span: Span) -> Value | None:
    """What the metaclass of a class has under a name, of that class; ``NONE`` for None."""
    meta = cls.memo.get("metaclass")
    if meta is None:
        return None
    found = classes.find(meta, name)
    hook = classes.find(meta, "__getattr__") if found is None and not name.startswith("__") else None
    if isinstance(hook, FuncSet):
        own: FuncSet = hook
        why = f"class `{cls.name}` has no attribute `{name}` here"
        answer = unless_raised(m, lambda: _call(m, own, cls, [name], {}, span), why, span)
        return NONE if answer is None else answer
    return bound(m, found, cls, span)


def bound(m: Machine, found: Value | None, cls: ClassInst, span: Span) -> Value | None:
    """An attribute of a metaclass as one of its class."""
    if not isinstance(found, FuncSet):
        return found
    flags = found.entries[0].decl.flags
    if "property" in flags:
        answer = _call(m, found, cls, [], {}, span)
        return NONE if answer is None else answer
    owner: Any = cls.memo["metaclass"] if "classmethod" in flags else cls
    return found if "static" in flags else FuncSet(found.name, found.entries, owner, found.cls)


def answers(value: Value, method: str) -> bool:
    """Whether the class of an object, or the metaclass of a class, has a method."""
    cls = (
        value.cls
        if isinstance(value, Object)
        else value.memo.get("metaclass")
        if isinstance(value, ClassInst)
        else None
    )
    return cls is not None and isinstance(classes.find(cls, method), FuncSet)
