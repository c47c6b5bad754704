"""Types with ``const``, ``volatile`` and references, and without.

What an expression evaluates to is a type without them (:func:`plain`), since the value of a variable does not depend on
them. Template arguments keep them (``source/eval/spelled.py``): specialisations and traits tell such types apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import ArrayType, Pack, PtrType, Qualified, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.ranking import Given

_OPEN = ("", "other")
_MAY_BE = (Qualified, PtrType, ArrayType, Pack)


def plain(v: Value) -> Value:
    """A type without qualifiers and references, and so what it points to."""
    if type(v) is Qualified:
        return plain(v.inner)
    if type(v) in (PtrType, ArrayType):
        inner = plain(v.inner)
        return v if inner is v.inner else replace(v, inner=inner)
    if type(v) is Pack:
        items = tuple(plain(x) for x in v.items)
        return v if all(a is b for a, b in zip(items, v.items, strict=True)) else Pack(items)
    return v


def may_be(v: Value) -> bool:
    return type(v) in _MAY_BE


def qualify(v: Value, kind: str) -> Value:
    """``T const``, ``T volatile``, ``T&`` or ``T&&``: references collapse, and a constant reference is one."""
    if not is_type(v):
        return v
    q = v if isinstance(v, Qualified) else Qualified(v)
    if kind in ("ref", "rref"):
        return q if q.ref in ("ref", None) else replace(q, ref="ref" if kind == "ref" or q.ref == "ref" else "rref")
    if q.ref:
        return q
    if isinstance(q.inner, ArrayType) and not q.inner.name:
        return replace(q.inner, inner=qualify(q.inner.inner, kind))
    return replace(q, const=True) if kind == "const" else replace(q, volatile=True)


def made(inner: Value, const: bool | None, volatile: bool, ref: str | None) -> Value:
    return Qualified(inner, const, volatile, ref) if const is not False or volatile or ref != "" else inner


def note(env: Env, name: str) -> None:
    """A parameter of a template that is a reference: what is declared with it stands for something else."""
    value = env.vars[name]
    if isinstance(value, Qualified) and value.ref:
        env.refer(name)


def without(v: Value, kind: str) -> Value | None:
    """What stands inside of ``const``, ``volatile``, ``&`` or ``&&`` in a type; None where it has no such mark."""
    if isinstance(v, ArrayType) and not v.name and kind in ("const", "volatile"):
        inner = without(v.inner, kind)
        return None if inner is None else replace(v, inner=inner)
    if not isinstance(v, Qualified):
        return None
    if kind in ("ref", "rref"):
        return made(v.inner, v.const, v.volatile, "") if v.ref == kind else None
    if v.ref or not (v.const if kind == "const" else v.volatile):
        return None
    return made(v.inner, v.const and kind != "const", v.volatile and kind != "volatile", "")


def parts(v: Value) -> Qualified:
    return v if isinstance(v, Qualified) else Qualified(v)


def open_marks(v: Value) -> bool:
    """Whether it is not known how a type is qualified."""
    if isinstance(v, Qualified):
        return v.const is None or v.ref is None or open_marks(v.inner)
    if isinstance(v, Pack):
        return any(map(open_marks, v.items))
    return isinstance(v, (PtrType, ArrayType)) and open_marks(v.inner)


def assumed(v: Value) -> Value:
    """A type without the marks that are not known."""
    if isinstance(v, Qualified):
        return made(assumed(v.inner), v.const or False, v.volatile, v.ref or "")
    if isinstance(v, Pack):
        return Pack(tuple(map(assumed, v.items)))
    return replace(v, inner=assumed(v.inner)) if isinstance(v, (PtrType, ArrayType)) else v


def deduced(t: ir.Expr | None, actual: Value, given: Given, leads: bool | None = None) -> Value:
    """What ``T`` of a parameter ``T&`` or ``T&&`` is for an argument of a type; of ``T*`` for one to a constant."""
    if isinstance(t, ir.TypeMod) and t.kind == "ptr" and leads and not isinstance(t.inner, ir.TypeMod):
        return qualify(actual, "const")
    if not isinstance(t, ir.TypeMod) or t.kind not in ("ref", "rref") or not is_type(actual):
        return actual
    if isinstance(t.inner, ir.TypeMod):
        return actual
    if t.kind == "ref":
        return (
            qualify(actual, "const")
            if given == "constant"
            else actual
            if given not in _OPEN
            else made(actual, None, False, "")
        )
    if given in ("value", "null"):
        return actual
    if given in _OPEN:
        return made(actual, None, False, None)
    return qualify(qualify(actual, "const") if given == "constant" else actual, "ref")
