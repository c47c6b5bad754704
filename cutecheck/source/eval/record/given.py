"""What a kernel is given that is run pass by pass."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts.replayed import Step
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record.running import FEWER, FLAG
from cutecheck.source.eval.values import Object, Scalar, Value

_SIZES = ("int", "unsigned int", "long", "unsigned long", "int64_t", "uint64_t", "size_t", "int32_t", "uint32_t")


def with_flags(m: Machine, value: Value, name: str) -> Value:
    """An argument whose flags that are not known are variables, so that each has one value in a run."""
    if isinstance(value, Scalar) and value.ctype == "bool" and value.value is None:
        return Scalar(Dyn.named(name, FLAG), "bool")
    if not isinstance(value, Object) or value.pointer is not None:
        return value
    for _, decl in classes.fields(m, value.cls):
        if isinstance(decl.type, ir.Name) and decl.type.ident == "bool":
            classes.get_field(m, value, decl.name, decl.span)
    held = {n: with_flags(m, v, f"{name}.{n}") for n, v in value.fields.items()}
    if all(held[n] is v for n, v in value.fields.items()):
        return value
    made = Object(value.cls, {}, None, value.name, value.initial, value.zeroed)
    made.fields.update(held)
    return made


def with_fewer(value: Value) -> Value:
    """An argument with its large even numbers, the sizes of a ``main`` say, halved as often as leaves some tiles."""
    if isinstance(value, Scalar) and type(value.value) is int and value.ctype in _SIZES:
        number = value.value
        while number % 2 == 0 and number >= 2 * FEWER:
            number //= 2
        return value if number == value.value else Scalar(number, value.ctype)
    if not isinstance(value, Object) or value.pointer is not None or value.name:
        return value
    held = {n: with_fewer(v) for n, v in value.fields.items()}
    if all(held[n] is v for n, v in value.fields.items()):
        return value
    made = Object(value.cls, {}, None, value.name, value.initial, value.zeroed)
    made.fields.update(held)
    return made


def apart_from_ends(steps: list[Step]) -> list[Step]:
    """Steps without where tensors end: other numbers that go with those of :func:`with_fewer` need not fit."""
    return [replace(s, places=tuple(replace(p, past=None) for p in s.places)) for s in steps]
