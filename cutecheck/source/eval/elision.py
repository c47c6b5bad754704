"""Braces that a braced list leaves out: ``struct { int a[2]; int b; } x = {1, 2, 3};``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecheck.source.eval import classes, ir, std_arrays
from cutecheck.source.eval.references import field_stands
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import ArrayType, EnumVal, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_LONGEST = 256


def regrouped(m: Machine, types: Sequence[Value], args: list[Value]) -> list[Value]:
    """What each of these types is initialised with, of a list that may have left out the braces around some."""
    if not any(_is_aggregate(m, t) for t in types) or not any(isinstance(a, (Scalar, EnumVal)) for a in args):
        return args
    rest = list(args)
    made = [_taken(m, t, rest) for t in types if rest]
    return [*made, *rest]


def _taken(m: Machine, t: Value, rest: list[Value]) -> Value:
    """What initialises a value of a type, taken from the front of the list."""
    if not isinstance(rest[0], (Scalar, EnumVal)) or not _is_aggregate(m, t):
        return rest.pop(0)
    if isinstance(t, ArrayType) and isinstance(t.extent, int):
        return tuple(_taken(m, t.inner, rest) for _ in range(t.extent) if rest)
    assert isinstance(t, ClassInst)
    return tuple(_taken(m, inner, rest) for inner in members(m, t) if rest)


def _is_aggregate(m: Machine, t: Value) -> bool:
    if isinstance(t, ArrayType):
        return (not t.name or std_arrays.followed(t)) and isinstance(t.extent, int) and 0 < t.extent <= _LONGEST
    if not isinstance(t, ClassInst) or t.decl.kind == "union" or t.decl.bases:
        return False
    made = any(isinstance(d, ir.Function) for d in t.index.get(t.name, ()))
    return not made and bool(classes.fields(m, t))


def members(m: Machine, cls: ClassInst) -> list[Value]:
    """The types of the data members; None of references, which take one initialiser."""
    key = ("types of members",)
    if key not in cls.memo:
        every = classes.fields(m, cls)
        cls.memo[key] = [
            m.eval(d.type, o.env) if d.type is not None and not field_stands(m, o, d) else None for o, d in every
        ]
    found: list[Value] = cls.memo[key]
    return found
