"""What is known of the arguments of a call beyond their types: a launch, or a call that another file defines.

As lines: of each number, pointer and member that is not just any value of its type, and of each condition that holds
of these. A call whose lines hold all those of another is an instance of it: what was found for that one holds for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from cutecheck.facts import Hypothesis, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import ANY, Expr
from cutecheck.model.ints import Condition, Dyn, Sym, as_expr
from cutecheck.records import record
from cutecheck.source.eval.record.ways import lone
from cutecheck.source.eval.tuples import Components, Vector
from cutecheck.source.eval.values import EnumVal, Object, Pointer, Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_DEEPEST = 8  # objects in objects
Leaf = tuple[str, Value]  # `@0.stride`: a member of the first argument


def leaves(args: Sequence[Value]) -> Iterator[Leaf]:
    """The arguments, those that are objects or tuples taken apart."""
    for i, value in enumerate(args):
        yield from _inside(f"@{i}", value, 0)


def _inside(path: str, value: Value, depth: int) -> Iterator[Leaf]:
    if isinstance(value, Object) and depth < _DEEPEST:
        if value.zeroed:
            yield f"{path} is zeroed", True
        for name, inner in {**value.initial, **value.fields}.items():
            yield from _inside(f"{path}.{name}", inner, depth + 1)
    elif type(value) in (tuple, Components, Vector) and depth < _DEEPEST:
        for i, inner in enumerate(value):
            yield from _inside(f"{path}.{i}", inner, depth + 1)
    else:
        yield path, value


def number(value: Value) -> Expr | None:
    """The expression of an integer."""
    held = value.value if isinstance(value, Scalar) else value
    return as_expr(held) if isinstance(held, (int, Dyn, Sym)) else None


def about(hypotheses: Sequence[Hypothesis], expressions: Sequence[Expr]) -> list[Hypothesis]:
    """The conditions on what these are made of, and on what such conditions speak of."""
    known = {v.name for e in expressions for v in e.variables()}
    left = [(h, {v.name for side in (h.condition.lhs, h.condition.rhs) for v in side.variables()}) for h in hypotheses]
    kept: set[int] = set()
    grown = True
    while grown:
        grown = False
        for i, (_, names) in enumerate(left):
            if i not in kept and not known.isdisjoint(names):
                kept.add(i)
                known |= names
                grown = True
    return [h for i, (h, _) in enumerate(left) if i in kept]


@record(frozen=True, slots=True)
class Known:
    """The lines of a call: of its arguments, and of the conditions on them, each with these."""

    arguments: frozenset[str] = frozenset()
    conditions: Mapping[str, Condition] = field(default_factory=dict)

    def lines(self) -> frozenset[str]:
        return self.arguments.union(self.conditions)


def stated(m: Machine, args: Sequence[Value]) -> Known:
    """What is known of arguments where the evaluation is."""
    found = list(leaves(args))
    numbers = [(path, e) for path, value in found if (e := number(value)) is not None]
    names: dict[str, str] = {}
    for path, e in numbers:
        variable = lone(e)
        if variable is not None:
            names.setdefault(variable.name, path)
    lines: set[str] = set()

    def spelled(e: Expr) -> str:
        own = e.variables()
        for v in own:
            if v.domain != ANY:
                lines.add(f"{names.get(v.name, v.name)} of {v.domain}")
            if v.name in m.told:
                lines.add(f"{names.get(v.name, v.name)} told {len(m.told[v.name])} {m.told[v.name]}")
        return str(e.substitute({v.name: ex.var(names[v.name], v.domain) for v in own if v.name in names}))

    for path, e in numbers:
        text = spelled(e)
        if text != path:
            lines.add(f"{path} = {text}")
    conditions: dict[str, Condition] = {}
    for h in about(m.recorder.hypotheses, [e for _, e in numbers]):
        c = h.condition
        conditions[f"{spelled(c.lhs)} {c.rel.name} {spelled(c.rhs)}"] = c
    buffers: dict[str, str] = {}
    for path, value in found:
        if isinstance(value, TensorVal):
            lines.add(f"{path} = {value.layout} {value.space} {value.dtype} {value.offset}")
            value = value.pointer
        if isinstance(value, Pointer):
            lines.update(_of_pointer(path, value, buffers))
        elif isinstance(value, EnumVal) or value is True:
            lines.add(f"{path} {value.name if isinstance(value, EnumVal) else ''}")
        elif not isinstance(value, (Scalar, Unknown, int, Dyn, Sym)) and type(value).__module__.startswith(
            "cutecheck.model."
        ):
            lines.add(f"{path} = {value}")
    return Known(frozenset(lines), conditions)


def _of_pointer(path: str, pointer: Pointer, buffers: dict[str, str]) -> Iterator[str]:
    first = buffers.setdefault(pointer.buffer, path)
    if first != path:
        yield f"{path} points where {first} does"
    if pointer.offset != 0 or pointer.align is not None or pointer.swizzle is not None:
        yield f"{path} at {pointer.offset} aligned {pointer.align} {pointer.swizzle}"


__all__ = ["Known", "about", "leaves", "number", "stated"]
