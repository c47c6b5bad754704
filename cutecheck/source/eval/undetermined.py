"""Integers that the program may have as constants: which it has is not known.

Such a number is a run-time integer with a mark in its name. Where it indexes something it is as good as any other; a
layout whose extents or strides are made of it is not known: the program's own may be static.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.model import expr as ex
from cutecheck.model import inttuple as it
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.eval.values import Extern, Scalar, Shared, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MARK = "!"


def undetermined(m: Machine, name: str, domain: Domain = ex.ANY) -> Dyn:
    """A number of its own that is one constant, of which no more is known than its domain."""
    return m.fresh(name.strip("`") + _MARK, domain)


def part(value: Value) -> str | None:
    """The name of an undetermined number (or foreign value) among the extents and strides of a value, or None."""
    if isinstance(value, (Dyn, Sym)):
        return next((v.name.split(_MARK)[0] for v in value.expr.variables() if _MARK in v.name), None)
    if isinstance(value, Extern):
        return value.what
    parts: tuple[Any, ...] = ()
    if isinstance(value, (tuple, list)):
        parts = tuple(value)
    elif isinstance(value, Layout):
        parts = (*it.leaves(value.shape), *it.leaves(value.stride))
    elif isinstance(value, ComposedLayout):
        parts = (value.a, value.b)
    elif isinstance(value, TensorVal):
        parts = (value.layout,)
    elif isinstance(value, TiledMMA):
        parts = (value.atom_layout_mnk, *value.permutation_mnk)
    elif isinstance(value, TiledCopy):
        parts = (value.layout_tv, value.tiler_mn)
    return next((name for p in parts if (name := part(p)) is not None), None)


def decided_by(op: str, left: Any, right: Any) -> Scalar:
    """A comparison of which an undetermined number is one side: the program may know its outcome."""
    return Shared(None, "bool", f"{_MARK}{op}({left}, {right})")


def opposite(cond: Value) -> Scalar:
    """``not`` of a condition that is not known."""
    return decided_by("not", cond.of, "") if isinstance(cond, Shared) and decides(cond) else Scalar(None, "bool")


def decides(cond: Value) -> bool:
    """Whether Python may know what a condition is, which is not known here."""
    return isinstance(cond, (Unknown, Extern)) or (isinstance(cond, Shared) and _MARK in cond.of)
