"""Code that nothing calls: what is followed of the calls in it, and the objects of classes that nothing makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Unknown
from cutecheck.model.ints import Dyn, Sym
from cutecheck.source.dsl import modules
from cutecheck.source.dsl.values import HostCute, HostTensor
from cutecheck.source.eval import ir
from cutecheck.source.eval.undetermined import part, undetermined
from cutecheck.source.eval.values import FuncSet, Object, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import ClassInst, Entry, Env

_NOBODY = "nothing in the scanned files calls `{}`"
_DEPTH = 8  # of values inside each other
_MAKERS = ("__init__", "__new__", "__post_init__")
_DEVICE = frozenset({"jit", "kernel"})
_CLASS = "class that is looked at"
_UNMADE = "<made>"  # no name that Python has


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
        look_at(m, first.cls)  # its tensors are not known
        return False
    return None


def look_at(m: Machine, cls: ClassInst | None) -> None:
    """Methods of this class are followed on its objects, whatever is known of these."""
    modules.state(m)[_CLASS] = cls


def unmade(cls: ClassInst) -> Object:
    """An object of which nothing is known; that a method sets a field of it does not mean that ``__init__`` ran."""
    return Object(cls, {}, None, cls.name, {_UNMADE: Unknown(f"nothing in the scanned files makes a `{cls.name}`")})


def closed(v: Value, depth: int = 0) -> bool:
    """Whether a value holds nothing that is not known."""
    if isinstance(v, Unknown) or depth > _DEPTH:
        return False
    if isinstance(v, (Dyn, Sym)):
        return part(v) is None
    if isinstance(v, HostCute):
        return all(closed(x, depth + 1) for x in (v.dtype, v.shape, v.stride))
    if isinstance(v, HostTensor):
        return all(closed(x, depth + 1) for x in (v.dtype, v.shape, v.strides))
    if isinstance(v, (tuple, list)):
        return all(closed(x, depth + 1) for x in v)
    if isinstance(v, dict):
        return all(closed(x, depth + 1) for x in v.values())
    if isinstance(v, Object):  # one without fields may be one that was not made
        return bool(v.fields) and _UNMADE not in v.initial and all(closed(x, depth + 1) for x in v.fields.values())
    return True


def _inner(entry: Entry) -> bool:
    """Whether a function sees variables of one around it that are not known: it is looked at with that one."""
    at: Env | None = entry.env
    while at is not None and at.scope is None:
        if at.kind == "function" and not all(map(closed, at.vars.values())):
            return True
        at = at.parent
    return False


def argument(m: Machine, decl: ir.Function, p: ir.Param) -> Value:
    """What a function that nothing calls is given: a number where it says so, of which nothing is known."""
    kind = p.type.ident if isinstance(p.type, ir.Name) and not decl.flags & _DEVICE else ""
    if kind == "int":
        return undetermined(m, p.name)
    return Scalar(None, "float") if kind == "float" else Unknown(_NOBODY.format(decl.name), p.span)


def is_host(fn: FuncSet) -> bool:
    return not fn.entries[0].decl.flags & (_DEVICE | {"generator"})


__all__ = ["argument", "closed", "followed", "is_host", "look_at", "unmade"]
