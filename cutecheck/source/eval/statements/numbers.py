"""The integers inside values of one shape: scalars, pointers, tensors, objects and tuples of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.source.eval.containers import Holding, same_items
from cutecheck.source.eval.leaks import forgotten
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.statements.alike import alike
from cutecheck.source.eval.statements.pointers import either_buffer
from cutecheck.source.eval.tuples import like
from cutecheck.source.eval.values import Address, Extern, Object, ObjectPointer, Pointer, Scalar, TensorVal, Value

# of one integer: its value before a loop, before an iteration and after it (after each way through it), and its name
Numbers: TypeAlias = Callable[[Int, Int, Sequence[Int], str], Int]


_NESTED = 16  # objects in one another; beyond that they hold themselves
_OBJECTS = 256  # that one value holds


def same(a: Value, b: Value) -> bool:
    """Whether two values are known to be equal."""
    try:
        return a is b or (type(a) is type(b) and bool(a == b))
    except TypeError:
        return False


def snapshot(value: Value, copies: dict[int, Object] | None = None) -> Value:
    """The value with the fields that its objects have now: undoing writes empties the objects themselves.

    ``copies``: of the objects met so far, by the identity of what they are copies of; past ``_OBJECTS`` the objects
    themselves are left.
    """
    copies = {} if copies is None else copies
    if isinstance(value, Object):
        if id(value) not in copies:
            if len(copies) >= _OBJECTS:
                return value
            copies[id(value)] = made = replace(value, fields={})
            made.fields.update({k: snapshot(v, copies) for k, v in value.fields.items()})
        return copies[id(value)]
    if isinstance(value, tuple) and any(isinstance(v, (Object, tuple)) for v in value):
        return like(value, (snapshot(v, copies) for v in value))
    if isinstance(value, Holding) and not value.of and any(isinstance(v, (Object, tuple)) for v in value.items):
        return replace(value, items=tuple(snapshot(v, copies) for v in value.items), of=value.items)
    return value


def combine(
    m: Machine, f: Numbers, start: Value, before: Value, afters: Sequence[Value], name: str, span: Span,
    whole: bool = False, made: dict[tuple[int, ...], Object] | None = None,
) -> Value:  # fmt: skip
    """A value of the shape of ``start`` with ``f`` of every integer that differs (``whole``: of every integer).

    ``made``: the objects combined so far, by the identity of what they are combined of.
    """
    made = {} if made is None else made
    if not whole and all(same(before, a) for a in afters) and same(start, before):
        return start
    name = str(name)
    if name.count(".") > _NESTED:
        return Unknown(f"`{name.split('.', maxsplit=1)[0]}` holds itself and changes in a loop", span)
    own = (
        None if isinstance(before, (TensorVal, Object, tuple, Holding)) else m.dialect.forgotten(m, before, name, span)
    )
    if own is not None:
        return own
    values = (start, before, *afters)
    if all(isinstance(v, Scalar) for v in values):
        numbers = [v.value for v in values]
        if any(n is None or isinstance(n, float) for n in numbers):
            own = getattr(f, "untracked", None)  # of what counts or looks for integers there is none
            return Scalar(None, start.ctype) if own is None else own(start, before, afters, name)
        found = f(numbers[0], numbers[1], numbers[2:], name)
        return Scalar(Dyn.of(found) if isinstance(found, int) else found, start.ctype)
    if all(isinstance(v, (int, Dyn, Sym)) and not isinstance(v, bool) for v in values):
        return f(start, before, tuple(afters), name)

    if isinstance(start, (int, Dyn, Sym)) and all(isinstance(v, (int, Dyn, Sym, Scalar, Extern)) for v in values):
        return m.fresh(name)  # a loop keeps the types of its variables; some of these are not known

    def inner(part: Callable[[Any], Value], at: str) -> Value:
        return combine(m, f, part(start), part(before), [part(a) for a in afters], at, span, whole, made)

    if isinstance(start, Holding) and all(isinstance(v, Holding) and same_items(start, v) for v in values):
        held = (inner(lambda v, i=i: v.items[i], f"{name}.{i}") for i in range(len(start.items)))  # type: ignore[misc]
        return Holding(tuple(held), start.keys)
    if all(isinstance(v, tuple) and len(v) == len(start) for v in values):
        parts = (inner(lambda v, i=i: v[i], f"{name}.{i}") for i in range(len(start)))  # type: ignore[misc]
        return like(start, parts)
    if all(isinstance(v, Object) and v.cls is start.cls for v in values):
        key = tuple(map(id, values))
        if key not in made:
            if len(made) >= _OBJECTS:
                return Unknown(f"`{name.split('.', maxsplit=1)[0]}` holds many objects and changes in a loop", span)
            made[key] = Object(start.cls, {}, start.pointer, start.name)
            made[key].fields.update(
                {k: inner(lambda v, k=k: v.fields.get(k), f"{name}.{k}") for k in start.fields}  # type: ignore[misc]
            )
        return made[key]
    if all(isinstance(v, Pointer) and v.buffer == start.buffer and v.type == start.type for v in values):
        if any(isinstance(v.offset, Unknown) for v in values):
            return replace(start, offset=Unknown(f"`{name}` moves by an unknown distance", span))
        return replace(start, offset=inner(lambda v: v.offset, name))
    if all(isinstance(v, TensorVal) and v.layout == start.layout for v in values):
        return replace(start, pointer=inner(lambda v: v.pointer, name), offset=inner(lambda v: v.offset, name))
    if all(v is None for v in values):
        return None
    if isinstance(start, (Extern, Unknown)):
        return start
    if isinstance(start, Scalar):
        return Scalar(None, start.ctype)
    if isinstance(start, Pointer) and any(isinstance(v, (Address, ObjectPointer)) for v in values):
        forgotten(m, *values)
        return Unknown(f"`{name}` points to a variable after some iteration", span)
    if isinstance(start, Pointer):
        why = f"`{name}` moves by an unknown distance"
        if all(isinstance(v, Pointer) for v in values):
            either = either_buffer(m, values, name, span, why, m.recorder.in_kernel())
            if either is not None:
                return either
        return replace(start, offset=Unknown(why, span))
    if isinstance(start, TensorVal):
        return replace(start, layout=Unknown(f"`{name}` is another tensor in each iteration", span))
    made = alike(values, lambda ints, at: f(ints[0], ints[1], ints[2:], at), name, whole)
    if made is None and m.dialect.by_value:
        forgotten(m, *values)
    return made if made is not None else Unknown(f"`{name}` changes in a loop", span)
