"""Arrays of tensors, and members that are tensors: each has its own registers, or is a view of its own."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, TypeGuard

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.algebra import cosize
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import pointed_to
from cutecheck.source.eval.values import ArrayType, Pointer, PtrType, TensorVal, Value, ValueType

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

REGISTERS = "rmem@"  # what tensors that own their registers are named by


def owned(type_: Value) -> TensorVal | None:
    """The tensor of a type whose objects own their registers: ``decltype(partition_fragment_C(...))``."""
    value = type_.value if isinstance(type_, ValueType) else None
    if not isinstance(value, TensorVal) or value.pointer is None or isinstance(value.layout, Unknown):
        return None
    return value if value.pointer.buffer.startswith(REGISTERS) and value.offset == 0 else None


def is_view(type_: Value) -> TypeGuard[ValueType]:
    """A type of tensors that look at memory of others."""
    value = type_.value if isinstance(type_, ValueType) else None
    return isinstance(value, TensorVal) and value.pointer is not None and not value.pointer.buffer.startswith(REGISTERS)


def innermost(type_: Value) -> Value:
    while isinstance(type_, ArrayType):
        type_ = type_.inner
    return type_


def unset(m: Machine, type_: ValueType, name: str) -> TensorVal:
    """A view that nothing has been assigned to yet: no other one is at its place."""
    view = type_.value
    assert isinstance(view, TensorVal) and view.pointer is not None
    return replace(view, pointer=replace(view.pointer, buffer=f"{name}#{m.number()}"))


def member(m: Machine, type_: Value, name: str, span: Span) -> Value | None:
    """What a member holds that nothing initialises; None of anything but tensors, and arrays of these or of pointers.

    A tensor that owns its registers has them by where the member is declared; so have arrays of them.
    """
    own = owned(type_)
    if own is not None:
        return m.recorder.registers(m, own.layout, own.dtype, span, own.provenance, own.source)
    if not isinstance(type_, ArrayType) or type_.name:
        return None
    if owned(innermost(type_)) is not None:
        return m.recorder.array(m, type_, span, name)
    return _views(m, type_, name)


def _views(m: Machine, type_: Value, name: str, most: int = 64) -> Value | None:
    if is_view(type_):
        return unset(m, type_, name)
    if isinstance(type_, PtrType):
        return Pointer(f"{name}#{m.number()}", "unknown", pointed_to(type_.inner))
    if not isinstance(type_, ArrayType) or type_.name or not isinstance(type_.extent, int) or type_.extent > most:
        return None
    parts = [_views(m, type_.inner, name, most // max(type_.extent, 1)) for _ in range(type_.extent)]
    return Elements(parts) if parts and all(p is not None for p in parts) else None


def element(p: Pointer) -> TensorVal | None:
    """The tensor of an array of those that own their registers, where a pointer into it leads to.

    The array's registers are one buffer, in which they lie one behind the other.
    """
    own = owned(p.type)
    if own is None or own.pointer is None or not p.buffer.startswith(REGISTERS):
        return None
    if isinstance(own.layout, Unknown) or isinstance(p.offset, Unknown):
        return replace(own, pointer=replace(own.pointer, buffer=p.buffer))
    at = ex.mul(as_expr(p.offset), as_expr(cosize(own.layout)))
    offset = at.constant if at.constant is not None else Dyn(at)
    return replace(own, pointer=replace(own.pointer, buffer=p.buffer), offset=offset)


def one_of(m: Machine, array: Value, index: object) -> TensorVal | None:
    """An element of an array of views at an index that is not constant; exact where they lie evenly in one buffer."""
    views = [v for v in array if isinstance(v, TensorVal)] if isinstance(array, Elements) else []
    if not isinstance(array, Elements) or not views or len(views) != len(array):
        return None
    first, *rest = views
    if first.pointer is None or any((v.layout, v.dtype, v.space) != _seen(first) or v.pointer is None for v in rest):
        return None
    pointers = [v.pointer for v in views if v.pointer is not None]
    alike = all((p.buffer, p.swizzle, p.type) == _kept(pointers[0]) for p in pointers)
    offsets = [(v.offset, p.offset) for v, p in zip(views, pointers, strict=True)]
    numbers = [as_expr(a) for a, _ in offsets if isinstance(a, (int, Dyn, Sym))]
    bases = [as_expr(b) for _, b in offsets if not isinstance(b, Unknown)]
    if alike and len(numbers) == len(bases) == len(views) and isinstance(index, (Dyn, Sym)):
        within, moved = _evenly(numbers, index), _evenly(bases, index)
        if within is not None and moved is not None:
            aligned = [p.align for p in pointers if p.align is not None]
            align = gcd(*aligned) if len(aligned) == len(pointers) else None
            return replace(first, offset=within, pointer=replace(pointers[0], offset=moved, align=align))
    away = Pointer(f"*{PER_THREAD}{m.number()}", first.space, first.pointer.type, 0, None, first.pointer.swizzle)
    return replace(first, pointer=away, offset=0)


def _seen(v: TensorVal) -> tuple[object, ...]:
    return v.layout, v.dtype, v.space


def _kept(p: Pointer) -> tuple[object, ...]:
    return p.buffer, p.swizzle, p.type


def _evenly(numbers: list[ex.Expr], index: Dyn | Sym) -> int | Dyn | None:
    """``begin + index * step`` of numbers that go up by one step; None of others."""
    begin = numbers[0]
    step = ex.sub(numbers[1], begin) if len(numbers) > 1 else ex.const(0)
    if any(n != ex.add(begin, ex.mul(step, ex.const(i))) for i, n in enumerate(numbers)):
        return None
    at = ex.add(begin, ex.mul(step, as_expr(index)))
    return at.constant if at.constant is not None else Dyn(at)
