"""Code that nothing calls: what is followed of the calls in it, and the objects of classes that nothing makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.source.dsl import modules
from cutecheck.source.eval.values import FuncSet, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import ClassInst, Entry, Env

_DEPTH = 8  # of values inside each other
_MAKERS = ("__init__", "__new__", "__post_init__")
_DEVICE = frozenset({"jit", "kernel"})
_CLASS = "class that is looked at"


def followed(m: Machine, entry: Entry, args: list[Value], kwargs: dict[str, Value], on_device: bool) -> bool | None:
    """How a call in code that nothing calls is followed.

    True: as in a program, since what it is called with depends on nothing that is not bound; False: with what is known
    and open, as a part of what is looked at; None: not, it is looked at on its own.
    """
    if _inner(entry):
        return False
    name, first = entry.decl.name, args[0] if args else None
    if name in _MAKERS:
        return all(map(closed, (*args[1:], *kwargs.values())))
    if all(map(closed, (*args, *kwargs.values()))):
        return True
    if not isinstance(first, Object):
        return None
    if first.cls is modules.state(m).get(_CLASS):
        return False
    if name == "__call__" and "jit" in entry.decl.flags and not on_device and first.fields:
        if closed(first):  # its tensors alone are not known: that is how a program compiles it
            return True
        look_at(m, first.cls)
        return False
    return None


def look_at(m: Machine, cls: ClassInst | None) -> None:
    """Methods of this class are followed on its objects, whatever is known of these."""
    modules.state(m)[_CLASS] = cls


def closed(v: Value, depth: int = 0) -> bool:
    """Whether a value holds nothing that is not known."""
    if isinstance(v, Unknown) or depth > _DEPTH:
        return False
    if isinstance(v, (tuple, list)):
        return all(closed(x, depth + 1) for x in v)
    if isinstance(v, dict):
        return all(closed(x, depth + 1) for x in v.values())
    if isinstance(v, Object):  # one without fields may be one that was not made
        return bool(v.fields) and all(closed(x, depth + 1) for x in v.fields.values())
    return True


def _inner(entry: Entry) -> bool:
    """Whether a function sees variables of one around it that are not known: it is looked at with that one."""
    at: Env | None = entry.env
    while at is not None and at.scope is None:
        if at.kind == "function" and not all(map(closed, at.vars.values())):
            return True
        at = at.parent
    return False


def is_host(fn: FuncSet) -> bool:
    return not fn.entries[0].decl.flags & (_DEVICE | {"generator"})


def is_kernel_class(cls: ClassInst) -> bool:
    """Whether a class has code for the device."""
    members = cls.memo["space"].values()
    return any(isinstance(f, FuncSet) and f.entries[0].decl.flags & _DEVICE for f in members)


__all__ = ["closed", "followed", "is_host", "is_kernel_class", "look_at"]
