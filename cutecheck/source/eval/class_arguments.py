"""Objects that are template arguments: of all that are equal one stands for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval import classes, initialisation, ir
from cutecheck.source.eval.held_fields import Settled
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.tuples import like
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import EnumVal, Object, Scalar, Str, TemplateRef, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def is_settled(value: Value) -> bool:
    """An object that stands for all that are equal."""
    return isinstance(value, Object) and type(value.fields) is Settled


def settled(m: Machine, value: Object) -> Object:
    """The one object that stands for all of these values as a template argument; itself if they are not all known."""
    if value.pointer is not None or is_settled(value):
        return value
    held: dict[str, Value] = {}
    key: list[object] = []
    for _, decl in classes.fields(m, value.cls):
        part, own = _part(m, classes.get_field(m, value, decl.name, decl.span))
        if own is None:
            return value
        held[decl.name] = part
        key.append(own)
    known = m.functions.setdefault(("settled", value.cls.ident, *key), Object(value.cls, Settled(held)))
    return known if isinstance(known, Object) else value


def _part(m: Machine, part: Value) -> tuple[Value, object]:
    """A member as it is kept, and what is equal for equal ones; None where it is not known."""
    if isinstance(part, Object):
        part = settled(m, part)
        return part, ("object", id(part)) if is_settled(part) else None
    if isinstance(part, (Scalar, EnumVal)):
        known = isinstance(part.value, (int, float))
        return part, (type(part.value), part.value) if known else None
    if isinstance(part, (int, Layout, ComposedLayout)):
        return part, type_key(part)
    if isinstance(part, Str):
        return part, part.text
    if isinstance(part, tuple):
        parts = [_part(m, p) for p in part]
        known = all(own is not None for _, own in parts)
        return like(part, (p for p, _ in parts)), (type(part), *(own for _, own in parts)) if known else None
    return part, None


def made(m: Machine, of: ClassInst | TemplateRef, value: Value, span: Span) -> Value:
    """An argument as the class that its parameter is declared with: ``template <Config C>``, ``K<7>``."""
    if isinstance(of, TemplateRef):
        if not any(isinstance(e.decl, ir.Class) for e in of.entries):
            return value
        if not isinstance(value, Object) or not any(value.cls.decl is e.decl for e in of.entries):
            from cutecheck.source.eval.deduction import deduce_instance

            value = deduce_instance(m, of, [value], span)
    elif not isinstance(value, Object) or value.cls is not of:
        value = initialisation.convert(m, of, value, span)
    return settled(m, value) if isinstance(value, Object) else value
