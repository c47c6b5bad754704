"""Putting numbers for open parameters: a symbolic layout at one point of its domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Dyn, Sym, wrap
from cutecheck.model.layout import ComposedLayout, Layout, MixedBits


def bind(value: Any, values: Mapping[str, int]) -> Any:
    """The value with the named variables replaced by numbers; static ones become plain integers.

    Variables without a number stay open.
    """
    if isinstance(value, tuple):
        return tuple(bind(v, values) for v in value)
    if isinstance(value, (Dyn, Sym)):
        return wrap(_replaced(value.expr, values), isinstance(value, Dyn))
    if isinstance(value, ScaledBasis):
        return ScaledBasis(bind(value.value, values), value.path)
    if isinstance(value, Layout):
        return Layout(bind(value.shape, values), bind(value.stride, values))
    if isinstance(value, ComposedLayout):
        return ComposedLayout(bind(value.a, values), bind(value.offset, values), bind(value.b, values))
    if isinstance(value, MixedBits):
        return MixedBits(value.static, value.flags, _replaced(value.dynamic, values))
    return value


def _replaced(e: Expr, values: Mapping[str, int]) -> Expr:
    return e.substitute({name: ex.const(n) for name, n in values.items()})


def variables(value: Any) -> Iterator[Var]:
    """The open parameters of a value, repeated as they occur."""
    if isinstance(value, tuple):
        for v in value:
            yield from variables(v)
    elif isinstance(value, (Dyn, Sym)):
        yield from value.expr.variables()
    elif isinstance(value, ScaledBasis):
        yield from variables(value.value)
    elif isinstance(value, Layout):
        yield from variables(value.shape)
        yield from variables(value.stride)
    elif isinstance(value, ComposedLayout):
        for part in (value.a, value.offset, value.b):
            yield from variables(part)
    elif isinstance(value, MixedBits):
        yield from value.dynamic.variables()
