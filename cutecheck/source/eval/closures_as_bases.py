"""Classes that derive from lambdas: ``overloaded{[](int) {...}, [](auto) {...}}`` is called as one of these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst, Entry
from cutecheck.source.eval.values import Closure, FuncSet, Object, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

CALL = "operator()"


def operators(m: Machine, cls: ClassInst, self_: Object | None) -> FuncSet | None:
    """The operators of the lambdas among a class's bases."""
    found = [
        _entry(m, cls, b.value) for b in cls.known_bases if isinstance(b, ValueType) and isinstance(b.value, Closure)
    ]
    return FuncSet(CALL, tuple(found), self_, cls) if found else None


def _entry(m: Machine, cls: ClassInst, fn: Closure) -> Entry:
    """A lambda as the member function that it has; a parameter of type ``auto`` makes it a template."""
    key = ("operator", id(fn.node))
    if key not in m.functions:
        more: list[ir.TParam] = []
        params = tuple(_typed(p, i, more) for i, p in enumerate(fn.node.params))
        tparams = (*fn.node.tparams, *more)
        m.functions[key] = ir.Function(
            CALL, tparams or None, None, params, fn.node.ret, fn.node.body, frozenset({"const", "constexpr"}),
            fn.node.span, fn.node.span,
        )  # fmt: skip
    unit = fn.env.frame.unit if fn.env.frame is not None else None
    return Entry(m.functions[key], fn.env, unit or cls.entry.unit)


def _typed(p: ir.Param, index: int, more: list[ir.TParam]) -> ir.Param:
    for inner in _inside(p.type):
        if not isinstance(inner, ir.Auto):
            return p
    name = f"auto {index}"
    more.append(ir.TParam(name, "type", None, None, p.pack, p.span))
    own: ir.Expr = ir.Name(name, None, p.span)
    for part in reversed(list(_around(p.type))):
        own = replace(part, inner=own)
    return replace(p, type=own)


def _around(t: ir.Expr | None) -> Iterator[ir.TypeMod]:
    while isinstance(t, ir.TypeMod):
        yield t
        t = t.inner


def _inside(t: ir.Expr | None) -> Iterator[ir.Expr]:
    while isinstance(t, ir.TypeMod):
        t = t.inner
    if t is not None:
        yield t
