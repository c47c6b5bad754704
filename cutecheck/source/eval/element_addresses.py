"""Addresses of elements: ``&p[i]`` of pointers and arrays, ``&tensor(i, j)`` of tensors, of swizzled ones, too."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from cutecheck.model import algebra as alg
from cutecheck.model.expr.ranges import divisor
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.swizzle import apply_swizzle, downcast_swizzle, upcast_swizzle
from cutecheck.source.eval import intrinsics, ir, places, predicates, repeatable
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import ArrayType, Intrinsic, Pointer, ScalarType, TensorVal, Value

_BYTE = 8  # bits


def element_address(m: Machine, node: ir.Expr, env: Env) -> Value | None:
    """``&p[i]`` of a pointer or array in memory: the pointer to that element."""
    if isinstance(node, ir.Unary) and node.op == "*" and repeatable.changes_nothing(node.operand):
        pointer = m.eval(node.operand, env)
        return pointer if isinstance(pointer, Pointer) and isinstance(pointer.type, ScalarType) else None
    if isinstance(node, ir.Call) and node.launch is None and isinstance(node.fn, ir.Name) and not node.fn.targs:
        tensor = m.eval(node.fn, env)
        return _of_tensor(m, tensor, node, env) if isinstance(tensor, TensorVal) else None
    if not isinstance(node, ir.Index) or len(node.args) != 1:
        return None
    if not _again(node.base):
        return None
    base = places.whole(m, node.base, env)
    if isinstance(base, TensorVal):
        return _of_tensor(m, base, node, env)
    if not isinstance(base, Pointer):
        return None
    inner = base.type.inner if isinstance(base.type, ArrayType) else base.type
    if not isinstance(inner, ScalarType):
        return None
    return intrinsics.advance(m, replace(base, type=inner), m.eval(node.args[0], env), node.span)


def _again(node: ir.Expr) -> bool:
    """Whether an array can be looked up once more: ``s[(t + 1) % 2]``, too."""
    if repeatable.quiet(node) or repeatable.changes_nothing(node):
        return True
    return isinstance(node, ir.Index) and _again(node.base) and all(map(repeatable.changes_nothing, node.args))


def _swizzles_elements(layout: ComposedLayout, tensor: TensorVal) -> bool:
    """The layout itself says where an element is, and no pointer to bytes does."""
    by = layout.a
    elements = isinstance(by, Swizzle) and by.unit is SwizzleUnit.ELEMENT and isinstance(layout.offset, (int, Dyn))
    return elements and tensor.offset == 0 and tensor.pointer is not None and tensor.pointer.swizzle is None


def _of_tensor(m: Machine, tensor: TensorVal, node: ir.Call | ir.Index, env: Env) -> Value | None:
    """``&tensor(i, j)``: the pointer to that element."""
    layout = tensor.layout
    if tensor.pointer is None or not isinstance(layout, (Layout, ComposedLayout)) or tensor.dtype is None:
        return None
    swizzle = _of_addresses(layout, tensor) if isinstance(layout, ComposedLayout) else None
    if swizzle is not None:
        layout = cast(Layout, cast(ComposedLayout, layout).b)
    elif isinstance(layout, ComposedLayout) and not _swizzles_elements(layout, tensor):
        return None
    given = [a.value if isinstance(a, ir.Arg) else a for a in node.args]
    if not all((isinstance(a, ir.Construct) and not a.args) or predicates.asks(m, a, env) for a in given):
        return None
    coord = [m.dialect.to_model(m.eval(a, env)) for a in given]
    if any(not isinstance(c, (int, Dyn, Sym, tuple)) for c in coord):
        return None
    start = intrinsics.call_method(m, Intrinsic("data", None, tensor), [], {}, node.span)
    at = coord[0] if len(coord) == 1 else tuple(coord)
    by = intrinsics.guarded(m, "tensor", node.span, lambda: alg.apply_layout(layout, at))
    if not isinstance(start, Pointer) or not isinstance(by, (int, Dyn, Sym)):
        return None
    start = replace(start, type=ScalarType(tensor.dtype))
    if swizzle is not None:
        if not isinstance(start.offset, (int, Dyn, Sym)):
            return None
        at_element, period = start.offset + by, _period(swizzle)
        begins = start.align is not None and start.align * _BYTE % (period * int(tensor.dtype.bits or 1)) == 0
        if not begins and divisor(as_expr(at_element)) % period:
            return None
        return replace(start, offset=apply_swizzle(swizzle, at_element), swizzle=None)
    return intrinsics.advance(m, start, m.dialect.from_model(by), node.span)


def _of_addresses(layout: ComposedLayout, tensor: TensorVal) -> Swizzle | None:
    """The swizzle of addresses that a tensor's pointer has, of elements.

    It is the one of offsets where the buffer starts at a multiple of its period; elsewhere offsets that are multiples
    of it stay, as those of stages and of TMA's boxes, if where the buffer starts does.
    """
    by, flag = layout.a, layout.offset
    if not isinstance(by, Swizzle) or not isinstance(flag, SmemPtrFlag) or not isinstance(layout.b, Layout):
        return None
    bits = int(tensor.dtype.bits) if tensor.dtype is not None and tensor.dtype.bits else 0
    if not bits or bits & (bits - 1):
        return None
    return upcast_swizzle(by, bits // _BYTE) if bits >= _BYTE else downcast_swizzle(by, _BYTE // bits)


def _period(swizzle: Swizzle) -> int:
    """Elements after which it repeats itself."""
    return 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))


__all__ = ["element_address"]
