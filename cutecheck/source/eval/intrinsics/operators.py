"""Subscripts, pointer arithmetic and operators on values that are not scalars."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import Major
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import slots, tensor_arrays
from cutecheck.source.eval.barrier_types import is_barrier_type, is_number, stands_for_place
from cutecheck.source.eval.intrinsics import strings, tensors
from cutecheck.source.eval.intrinsics.dispatch import call_value
from cutecheck.source.eval.intrinsics.refusals import describe, guarded
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, method_of
from cutecheck.source.eval.intrinsics.tuples import COORDINATES, any_coordinate
from cutecheck.source.eval.threads import of_shared, varies
from cutecheck.source.eval.tuples import Elements, Held, Pair
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Extern,
    ExternType,
    Object,
    ObjectPointer,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    Tag,
    TensorVal,
    Value,
    ValueType,
    VoidType,
    constant,
    is_zero,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_NOWHERE = Span("", 1, 1, 1, 1)


def held_element(m: Machine, base: Extern, span: Span) -> Value | None:
    """Some element of a container of a library: of a tuple or layout what its type says, each time another."""
    from cutecheck.source.eval.symbolic import symbolic

    kind = base.type
    if not isinstance(kind, ExternType) or not kind.name.endswith("vector") or not kind.args:
        return None
    inner = kind.args[0]
    if not isinstance(inner, ValueType) or not isinstance(inner.value, (tuple, Layout)):
        return None
    return symbolic(m, inner, base.what, span)


@method_of("Extern", "at", "front", "back")
def _of_container(c: Call) -> Value:
    kept = held_element(c.m, c.arg(0), c.span)
    return Extern(f"{c.arg(0).what}.{c.name}(...)", c.span) if kept is None else kept


def index(m: Machine, base: Value, args: list[Value], span: Span) -> Value:
    """``base[args]``."""
    from cutecheck.source.eval.scope import ClassInst

    bad = next((a for a in args if isinstance(a, Unknown)), None)
    if bad is not None:
        return bad
    if isinstance(base, TensorVal):
        return call_value(m, base, args, span)
    if isinstance(base, Address) and len(args) == 1:
        return dereference(m, slots.moved(m, base, args[0], span), span)
    if isinstance(base, Pointer):
        if isinstance(base.type, ArrayType) and args:
            element = element_of(m, base, args[0], span)
            own = isinstance(base.type.inner, (ScalarType, PtrType, ValueType))
            own = own and (base.space != "smem" or is_number(base.type.inner))
            return dereference(m, element, span) if own or isinstance(base.type.inner, ClassInst) else element
        element = (
            element_of(m, base, args[0], span)
            if args and isinstance(base.type, (ScalarType, ClassInst, PtrType))
            else base
        )
        return element if stands_for_place(element) else dereference(m, element, span)
    if isinstance(base, (list, tuple, dict)) and len(args) == 1:
        key = args[0]
        try:
            if isinstance(base, dict):
                return base[key]
            number = constant(key)
            if number is None and not isinstance(key, slice):
                return Unknown("an index that is not known", span)
            return m.dialect.from_model(base[key if isinstance(key, slice) else cast(int, number)])
        except (KeyError, IndexError, TypeError):
            return Unknown("an index that is not known or out of range", span)
    if isinstance(base, Str) and len(args) == 1:
        return strings.index(base, args[0], span)
    if isinstance(base, Extern):
        kept = held_element(m, base, span)
        return Extern(f"{base.what}[...]", span) if kept is None else kept
    if is_type(base):
        return base
    return Unknown(f"indexing {describe(base)}", span)


def element_of(m: Machine, p: Pointer, at: Value, span: Span) -> Value:
    """Where ``p[at]`` is: of an array, or of what a pointer leads to."""
    if not isinstance(p.type, ArrayType):
        return advance(m, p, at, span)
    return advance(m, replace(p, type=p.type.inner), _elements(m, p.type.inner, at, span), span)


def _past(m: Machine, p: Pointer | Address, by: Value, span: Span) -> Value:
    """``p + n``: an array decays to a pointer to its first element, a class of an array does not."""
    if isinstance(p, Address):
        return advance(m, p, by, span)
    decays = isinstance(p.type, ArrayType) and not p.type.name
    return advance(m, p, _elements(m, p.type.inner if decays else p.type, by, span), span)


def _elements(m: Machine, t: Value, count: Value, span: Span) -> Value:
    """So many objects of a type in units of a pointer's offset: of an array its innermost elements."""
    from cutecheck.source.eval.memory import size_bytes

    inner = t
    while isinstance(inner, ArrayType):
        inner = inner.inner
    n = m.dialect.to_model(Scalar(count, "int") if isinstance(count, int) else count)
    if inner is t or (isinstance(n, int) and n == 0) or not isinstance(n, (int, Dyn, Sym)):
        return count
    whole, one = size_bytes(m, t, span), size_bytes(m, inner, span)
    bits = inner.dtype.bits if isinstance(inner, ScalarType) else 8 * int(one) if isinstance(one, int) else None
    if not isinstance(whole, int) or not bits or 8 * int(whole) % int(bits):
        return Unknown("elements of an array of a size that is not known", span)
    times = n * (8 * int(whole) // int(bits))
    return m.dialect.from_model(times)


def advance(m: Machine, p: Value, by: Value, span: Span) -> Value:
    """``pointer + n``."""
    if isinstance(p, Address):
        return slots.moved(m, p, by, span)
    if isinstance(p, Str):
        return strings.rest(p, by, span)
    if not isinstance(p, Pointer):
        return p
    n = m.dialect.to_model(Scalar(by, "int") if isinstance(by, int) else by)
    if isinstance(p.offset, Unknown) or not isinstance(n, (int, Dyn, Sym)):
        return Pointer(p.buffer, p.space, p.type, Unknown("pointer arithmetic with an unknown operand", span), p.align)
    total = p.offset + (Dyn(n.expr) if isinstance(n, Dyn) else n)  # whatever type the number has
    moved = Pointer(
        p.buffer, p.space, p.type, total if isinstance(total, int) else Dyn(as_expr(total)), p.align, p.swizzle
    )
    if isinstance(n, Dyn) and any(v.name.startswith("&") for v in n.expr.variables()):
        from cutecheck.source.eval import shared_addresses

        bits = _bits(m, _innermost(p.type), span)
        return shared_addresses.settled(moved, None if bits is None else bits // 8)
    return moved


def dereference(m: Machine, v: Value, span: Span) -> Value:
    """``*pointer``."""
    from cutecheck.source.eval.memory import get_object
    from cutecheck.source.eval.places import read
    from cutecheck.source.eval.scope import ClassInst
    from cutecheck.source.eval.symbolic import symbolic

    if isinstance(v, Address):
        return read(m, v.cells, span)
    if isinstance(v, Str):
        return strings.index(v, 0, span)
    if isinstance(v, ObjectPointer):
        return v.to
    if isinstance(v, Pointer):
        if isinstance(v.type, ClassInst):
            return get_object(m, v)
        held = tensor_arrays.element(v)
        if held is not None:
            return held
        if isinstance(v.type, (ScalarType, PtrType, ValueType)):
            own = v.space == "rmem" or isinstance(v.offset, Unknown) or varies(v.offset)
            replay = m.dialect.replaying
            scalar = isinstance(v.type, ScalarType) and v.space != "smem"
            if replay is not None and scalar and not own and not isinstance(v.offset, Unknown):
                name = replay.loaded(v.buffer, as_expr(v.offset))
                if name is not None:
                    return symbolic(m, v.type, name, span)
            name = f"*{v.buffer}{PER_THREAD if own else '#'}{m.number()}"
            if replay is not None and v.space == "smem":
                replay.read_from[name] = v
            return symbolic(m, v.type, name, span)
        if isinstance(v.type, ArrayType) and not v.type.name and isinstance(v.type.inner, ArrayType):
            return replace(v, type=v.type.inner)  # the first of an array of arrays
        return v
    if isinstance(v, Elements) and type(v) is not Held:
        return v[0] if v else Unknown("the first element of an array without any", span)
    if isinstance(v, Extern) and isinstance(v.type, ExternType) and v.type.name == COORDINATES:
        return any_coordinate(m, v.type.args[0])
    return v


def cast_pointer(m: Machine, p: Pointer, inner: Value, span: Span) -> Value:
    found = tensors.cast_pointer_to(p, inner)
    if isinstance(found.offset, Unknown) and not isinstance(p.offset, Unknown):
        old, new = _bits(m, _innermost(p.type), span), _bits(m, inner, span)
        if old is not None and new is not None:
            if old % new == 0:
                return replace(found, offset=p.offset * (old // new))
            terms = as_expr(p.offset).terms
            if all(factor * old % new == 0 for _, factor in terms):
                moved = Expr(tuple((monomial, factor * old // new) for monomial, factor in terms))
                return replace(found, offset=Dyn(moved) if moved.constant is None else moved.constant)
    return found


def _innermost(t: Value) -> Value:
    """What offsets in an array are counted in."""
    while isinstance(t, ArrayType):
        t = t.inner
    return t


def _bits(m: Machine, t: Value, span: Span) -> int | None:
    """Of an object of a class, too: `reinterpret_cast<uint64_t*>(&barriers[i])`."""
    from cutecheck.source.eval.memory import size_bytes

    if is_barrier_type(t):
        return 64  # where its header is not read
    size = size_bytes(m, t, span)
    known = None if isinstance(size, Unknown) else known_value(size)
    return 8 * known if known else None


def binary(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value | None:
    """Operators on values that are not scalars; None when scalars decide."""
    if op in ("+", "-") and isinstance(left, (Pointer, Address)) and isinstance(right, (Scalar, int, Dyn, Sym)):
        by = right if op == "+" else m.dialect.unary("-", right, span)
        return _past(m, left, by, span)
    if op == "+" and isinstance(left, Str) and isinstance(right, (Scalar, int)):
        return strings.rest(left, right, span)
    if op == "+" and isinstance(left, Pointer) and isinstance(right, Pointer):
        return Unknown("a number in shared memory that stands for its place is added to a pointer", span)
    if op == "+" and isinstance(right, (Pointer, Address)):
        return _past(m, right, left, span)
    if isinstance(left, Address) and isinstance(right, Address):
        known = slots.compared(op, left, right)
        if known is not None:
            return known
    if isinstance(left, (Address, ObjectPointer)) or isinstance(right, (Address, ObjectPointer)):
        return Scalar(None, "bool") if op in ("==", "!=", "<", ">") else Unknown("arithmetic on an address", span)
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        known = _apart(m, op, left, right)
        if known is not None:
            return known
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        pointer, other = (left, right) if isinstance(left, Pointer) else (right, left)
        if m.dialect.replaying is not None and op in ("==", "!=") and is_zero(other):
            return Scalar(int(m.dialect.replaying.is_null(pointer) == (op == "==")), "bool")
        return of_shared("bool" if op in ("==", "!=", "<", ">") else "ptrdiff_t", op, left, right)
    if op in ("+", "*", "-") and (isinstance(left, (ScaledBasis, tuple)) or isinstance(right, (ScaledBasis, tuple))):
        a, b = m.dialect.to_model(left), m.dialect.to_model(right)
        f = {"+": it.plus, "-": it.minus, "*": it.times}[op]
        return guarded(m, f"operator {op}", span, lambda: f(a, b))
    if isinstance(left, TensorVal) or isinstance(right, TensorVal):
        return Unknown(f"operator {op} on a tensor", span)
    if type(left) is type(right) and isinstance(left, (Held, Pair)) and op in _ORDERS:
        parts = [[constant(v) for v in side] for side in (left, right)]
        if len(left) == len(right) and all(n is not None for side in parts for n in side):
            return Scalar(int(_ORDERS[op](*parts)), "bool")
    if isinstance(left, (Major, Underscore, Tag, Str)) or isinstance(right, (Major, Underscore, Tag, Str)):
        if isinstance(left, Str) and isinstance(right, Str) and op in ("==", "!="):
            equal = strings.same(left, right)
            return Scalar(None if equal is None else int(equal == (op == "==")), "bool")
        if op in ("==", "!=") and type(left) is type(right):
            return Scalar(int((left == right) == (op == "==")), "bool")
        return Scalar(None, "bool")
    if is_type(left) and is_type(right) and op in ("==", "!="):
        from cutecheck.source.eval.types import same_type

        return Scalar(int(same_type(left, right) == (op == "==")), "bool")
    if isinstance(left, (Object, Extern)) or isinstance(right, (Object, Extern)):
        return None
    if isinstance(left, ValueType):
        return binary(m, op, left.value, right, span) or m.dialect.binary(op, left.value, right, span)
    return None


def _apart(m: Machine, op: str, left: Pointer, right: Pointer) -> Value | None:
    """``p - q``, ``p < q`` ... of pointers to elements of one array, as many as are told apart by their numbers."""
    if left.buffer != right.buffer or isinstance(left.offset, Unknown) or isinstance(right.offset, Unknown):
        return None
    alike = isinstance(left.type, ScalarType) and left.type == right.type and left.swizzle is None is right.swizzle
    if not alike or op not in ("-", "==", "!=", "<", ">", "<=", ">="):
        return None
    if op == "-":
        return m.dialect.binary("-", Scalar(left.offset, "long"), Scalar(right.offset, "long"), _NOWHERE)
    if isinstance(left.offset, int) and isinstance(right.offset, int):
        return m.dialect.binary(op, Scalar(left.offset, "long"), Scalar(right.offset, "long"), _NOWHERE)
    return None


@function("__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv")
def _load(c: Call) -> Value:
    """What a pointer points to, by another path to memory."""
    p = c.arg(0)
    if isinstance(p, Pointer) and isinstance(p.type, ScalarType):
        return dereference(c.m, p, c.span)
    raise Unsupported("what is loaded is not known")


@function("malloc", "calloc", "realloc", "aligned_alloc", tolerant=True)
def _allocated(c: Call) -> Value:
    """Memory that nothing else leads to."""
    return Pointer(f"{c.name}#{c.m.number()}", "unknown", VoidType())
