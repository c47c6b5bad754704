"""Addresses in shared memory as numbers: where a buffer starts is a variable, what is added to it are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Dyn, Int, Sym, as_expr, known_value
from cutecheck.source.eval.class_layout import class_layout
from cutecheck.source.eval.memory import size_bytes
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Address, ArrayType, Object, ObjectPointer, Pointer, Scalar, Seen, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_HERE, _THERE = "&", "&&"  # start the names: of this block, and of another one of the cluster
_BARRIER = 8  # bytes
_WRAPS = (("mod", (ex.const(1 << 32),)), ("and", (ex.const((1 << 32) - 1),)))
_WINDOW = Domain(0, (1 << 24) - 1)


def located(m: Machine, value: Value, span: Span) -> tuple[str, Expr] | None:
    """The buffer in shared memory that an object or what a pointer points to is in, and the bytes before it there."""
    if isinstance(value, Object) and isinstance(value.fields, Seen) and value.fields.within is not None:
        return value.fields.within
    if isinstance(value, (Object, ObjectPointer)):
        value = value.to.pointer if isinstance(value, ObjectPointer) else value.pointer
    if isinstance(value, Address):
        return _of_member(m, value, span) if len(value.cells) == 1 else None
    if not isinstance(value, Pointer) or value.space != "smem" or value.swizzle is not None:
        return None
    inner = value.type.inner if isinstance(value.type, ArrayType) else value.type
    if value.offset == 0:
        return value.buffer, ex.const(0)
    size = size_bytes(m, inner, span)
    if isinstance(value.offset, Unknown) or not isinstance(size, int):
        return None
    return value.buffer, ex.mul(as_expr(value.offset), ex.const(int(size)))


def _of_member(m: Machine, value: Address, span: Span) -> tuple[str, Expr] | None:
    fields, name = value.cells[0]
    at = fields.at if isinstance(fields, Seen) else None
    if at is None or not isinstance(at.type, ClassInst) or not isinstance(name, str):
        return None
    laid = class_layout(m, at.type, span)
    if isinstance(fields, Seen) and fields.within is not None:
        inside = laid.offsets.get(name)
        buffer, before = fields.within
        return (buffer, ex.add(before, ex.const(int(inside)))) if isinstance(inside, int) else None
    if at.space == "smem" and at.offset == 0 and not _of_array(m, at, laid.size):
        return f"{at.buffer}.{name}", ex.const(0)  # as arrays that are members have buffers of their own
    whole, inside = located(m, at, span), laid.offsets.get(name)
    return None if whole is None or not isinstance(inside, int) else (whole[0], ex.add(whole[1], ex.const(int(inside))))


def member_within(m: Machine, obj: Object, at: Int | Unknown, span: Span) -> tuple[str, Expr] | None:
    """Where a member of an array's element is in the array; None of other objects."""
    pointer = obj.pointer
    if pointer is None or pointer.space != "smem" or not isinstance(at, int):
        return None
    before = obj.fields.within if isinstance(obj.fields, Seen) else None
    if before is None:
        if pointer.offset == 0 and not _of_array(m, pointer, class_layout(m, obj.cls, span).size):
            return None
        before = located(m, pointer, span)
    return None if before is None else (before[0], ex.add(before[1], ex.const(int(at))))


def _of_array(m: Machine, first: Pointer, size: Int | Unknown) -> bool:
    """Whether an object is, or may be, an element of an array: one that is as long as a barrier, or shorter than it."""
    known = m.recorder.buffers.get(first.buffer)
    whole = None if known is None else known.fact.size_bytes
    held = None if whole is None else known_value(whole)
    return size == _BARRIER or (isinstance(size, int) and held is not None and held >= 2 * size)


def as_number(m: Machine, value: Value, span: Span, far: bool = False) -> Dyn | None:
    """The address of what a value points to."""
    found = located(m, value, span)
    if found is None:
        return None
    return Dyn(ex.add(ex.var(f"{_THERE if far else _HERE}{found[0]}", _WINDOW), found[1]))


def place(value: Value) -> tuple[str, Expr] | None:
    """What `as_number` was made of, and moved on since."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, (Dyn, Sym)):
        return None
    starts = [v for v in number.expr.variables() if v.name.startswith(_HERE)]
    own = ex.atom_expr(starts[0]) if len(starts) == 1 else None
    if own is None:
        return None
    rest = ex.sub(_unwrapped(number.expr), own)
    return None if starts[0] in rest.variables() else (starts[0].name.lstrip(_HERE), rest)


def _unwrapped(expr: Expr) -> Expr:
    """Without the wrap-around of registers, which no address comes to."""
    found = ex.const(0)
    for monomial, factor in expr.terms:
        term = Expr(((monomial, factor),))
        atom = monomial[0] if len(monomial) == 1 else None
        if isinstance(atom, Op) and (atom.kind, atom.args[1:]) in _WRAPS and any(map(_is, atom.args[0].variables())):
            term = ex.mul(_unwrapped(atom.args[0]), ex.const(factor))
        found = ex.add(found, term)
    return found


def buffers(value: Value) -> list[str]:
    """The buffers that a number is an address in, or was made of."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, (Dyn, Sym)):
        return []
    return sorted({v.name.lstrip(_HERE) for v in number.expr.variables() if v.name.startswith(_HERE)})


def moved(value: Value) -> Dyn | None:
    """The same address in another block of the cluster."""
    found = place(value)
    return None if found is None else Dyn(ex.add(ex.var(f"{_THERE}{found[0]}", _WINDOW), found[1]))


def is_start(name: str) -> bool:
    """Whether a variable is where a buffer starts."""
    return name.startswith(_HERE)


def _is(variable: Var) -> bool:
    return is_start(variable.name)


__all__ = ["as_number", "buffers", "is_start", "located", "moved", "place"]
