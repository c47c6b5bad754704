"""Addresses in shared memory as numbers: where a buffer starts is a variable, what is added to it are bytes."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Dyn, Int, Sym, as_expr, known_value
from cutecheck.source.eval.class_layout import class_layout
from cutecheck.source.eval.held_fields import Seen
from cutecheck.source.eval.memory import size_bytes
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import pointed_to
from cutecheck.source.eval.values import Address, ArrayType, Object, ObjectPointer, Pointer, Scalar, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

# start the names: of this block, of another one of the cluster, of the first one, which this one is, from each of them
_HERE, _THERE, _FIRST = "&", "&&", "&&&"
_BARRIER = 8  # bytes
_ALIGNED = (0, 1 << 20, 5 << 20)  # starts that are multiples of all that kernels align to
_ANYWHERE = (16, 48, 1 << 10 | 16, 5 << 16)
_POINTERS = frozenset({"uintptr_t", "intptr_t", "size_t", "unsigned long", "long", "unsigned long long", "long long",
                       "uint64_t", "int64_t"})  # fmt: skip
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


def as_integer(m: Machine, type_: ScalarType, pointer: Value, span: Span) -> Value | None:
    """``reinterpret_cast<uintptr_t>(smem)``: the address, which lacks the start of the window, aligned as any is."""
    if type_.dtype.name not in _POINTERS or not isinstance(pointer, Pointer) or pointer.space != "smem":
        return None
    number = as_number(m, pointer, span)
    return None if number is None else Scalar(number, type_.dtype.name)


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


def rounded(m: Machine, value: Value, to: Value, span: Span) -> Pointer | None:
    """The pointer that an address becomes that was rounded up: ``(T*)((uintptr_t(smem) + 1023) & ~1023)``."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, (Dyn, Sym)):
        return None
    found = place(value)
    if found is not None:
        return _pointer(m, found[0], found[1], None, to, span)
    starts = [v for v in number.expr.variables() if _is(v) and not v.name.startswith(_THERE)]
    before = _before(number.expr, starts[0]) if len(starts) == 1 else None
    if before is None:
        return None
    return _pointer(m, starts[0].name.lstrip(_HERE), before[0], before[1], to, span)


def settled(pointer: Pointer, size: int | None) -> Pointer:
    """A pointer that was moved by what rounding up its own address takes: ``smem + (up - address)``."""
    if not isinstance(pointer.offset, (Dyn, Sym)) or size is None or pointer.space != "smem":
        return pointer
    own = f"{_HERE}{pointer.buffer}"
    starts = [v for v in pointer.offset.expr.variables() if v.name == own]
    if len(starts) != 1:
        return pointer
    before = _before(ex.add(ex.mul(pointer.offset.expr, ex.const(size)), ex.atom_expr(starts[0])), starts[0])
    moved_by = None if before is None else _divided(before[0], size)
    if before is None or moved_by is None:
        return pointer
    return replace(pointer, offset=moved_by, align=before[1])


def _before(address: Expr, start: Var) -> tuple[Expr, int | None] | None:
    """Bytes between a buffer's start and an address, where the start is aligned as the address is made to be; and this.

    What is rounded up is where the buffer starts, so a start that is no multiple moves all behind it alike.
    """
    at = [ex.sub(address.substitute({start.name: ex.const(b)}), ex.const(b)) for b in _ALIGNED]
    if any(other != at[0] for other in at[1:]):
        return None
    anywhere = [address.substitute({start.name: ex.const(b)}).constant for b in (*_ALIGNED, *_ANYWHERE)]
    known = [a for a in anywhere if a is not None]
    align = gcd(*known) if len(known) == len(anywhere) else 0
    offset = at[0].constant
    return at[0], (align if offset is None else gcd(align, offset)) or None


def _pointer(m: Machine, buffer: str, before: Expr, align: int | None, to: Value, span: Span) -> Pointer | None:
    kind = pointed_to(to)
    size = size_bytes(m, kind.inner if isinstance(kind, ArrayType) else kind, span)
    known = None if isinstance(size, Unknown) else known_value(size)
    offset = 0 if before.constant == 0 else _divided(before, known)
    return None if offset is None else Pointer(buffer, "smem", kind, offset, align)


def _divided(bytes_: Expr, size: int | None) -> Int | None:
    """So many bytes in objects of a size, where it divides them."""
    if not size or any(factor % size for _, factor in bytes_.terms):
        return None
    elements = Expr(tuple((monomial, factor // size) for monomial, factor in bytes_.terms))
    return elements.constant if elements.constant is not None else Dyn(elements)


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


def moved(value: Value, first: bool = False) -> Dyn | None:
    """The same address in another block of the cluster, or in the first one, where each block means that."""
    found = place(value)
    there = _FIRST if first else _THERE
    return None if found is None else Dyn(ex.add(ex.var(f"{there}{found[0]}", _WINDOW), found[1]))


def is_far(value: Value) -> bool:
    """Whether a number is an address in another block of the cluster."""
    return any(name.startswith(_THERE) and not name.startswith(_FIRST) for name in _names(value))


def is_first(value: Value) -> bool:
    """Whether it is one in the first block of the cluster, from each of its blocks."""
    return any(name.startswith(_FIRST) for name in _names(value))


def _names(value: Value) -> list[str]:
    number = value.value if isinstance(value, Scalar) else value
    return [v.name for v in number.expr.variables()] if isinstance(number, (Dyn, Sym)) else []


def is_start(name: str) -> bool:
    """Whether a variable is where a buffer starts."""
    return name.startswith(_HERE)


def _is(variable: Var) -> bool:
    return is_start(variable.name)


__all__ = [
    "as_integer",
    "as_number",
    "buffers",
    "is_far",
    "is_first",
    "is_start",
    "located",
    "moved",
    "place",
    "rounded",
    "settled",
]
