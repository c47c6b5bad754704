"""Tensors of the DSL: construction, recasts, copies and gemms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.atoms import MMAAtom
from cutecheck.model.basis import Underscore
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledMMA
from cutecheck.source.eval.intrinsics import tensors
from cutecheck.source.eval.intrinsics.dsl_layouts import layout_of, number
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function
from cutecheck.source.eval.threads import some, varies
from cutecheck.source.eval.values import Extern, Pointer, ScalarType, Slice, TensorVal, Value


def dtype_of(v: Value) -> DType:
    if isinstance(v, ScalarType):
        return v.dtype
    raise Unsupported("the element type is not known")


def plain_layout(c: Call, v: Value) -> Any:
    """A layout argument: a layout, or a shape that makes one."""
    v = layout_of(v)
    if isinstance(v, Extern):
        raise Unsupported(f"a layout of `{v.what}`, which is not followed")
    v = number(c, v)
    return v if isinstance(v, (Layout, ComposedLayout)) else alg.make_layout(v)


@function("dsl.make_tensor")
def _make_tensor(c: Call) -> Value:
    first = c.arg(0)
    layout = plain_layout(c, c.args[1] if len(c.args) > 1 else c.kwargs["layout"])
    if isinstance(first, TensorVal):
        if first.pointer is None:
            return TensorVal(layout, None, "coord", None, first.offset)
        first = first.pointer
    if isinstance(first, Pointer):
        c.m.recorder.made_over(first, c.span)
        same = c.m.recorder.begun.get((first.buffer, first.offset, first.swizzle))
        if same is not None and same.pointer is not None and same.layout == layout and same.pointer.type == first.type:
            # ``make_tensor(t.iterator.align(16), t.layout)``: the tensor, of which more is known
            return replace(same, pointer=replace(same.pointer, align=first.align))
        return with_pointer(first, layout)
    if isinstance(first, (tuple, int)):
        return TensorVal(layout, None, "coord", None, number(c, first))
    raise Unsupported("a tensor on something that is not a pointer cutecheck follows")


def with_pointer(p: Pointer, layout: Any) -> TensorVal:
    """A view of memory; the offset of the pointer becomes the tensor's."""
    return TensorVal(layout, p, p.space, tensors.pointee(p), 0, "view", name=p.buffer.rsplit(".", 1)[-1])


@function("dsl.make_rmem_tensor", "dsl.make_fragment")
def _rmem(c: Call) -> Value:
    layout = plain_layout(c, c.arg(0))
    dtype = dtype_of(c.args[1] if len(c.args) > 1 else c.kwargs["dtype"])
    if isinstance(layout, ComposedLayout):
        raise Unsupported("a register tensor with a composed layout")
    return c.m.recorder.registers(c.m, layout, dtype, c.span, "view", None)


def _ordered_like(layout: Any) -> Any:
    """The compact layout with strides in the same order, mode 0 among them: what C++'s ``make_layout_like`` gives."""
    plain: Any = layout.b if isinstance(layout, ComposedLayout) else layout
    return alg.make_layout_like(plain)


@function("dsl.make_fragment_like", "dsl.make_rmem_tensor_like")
def _like(c: Call) -> Value:
    t = c.arg(0)
    given = c.args[1] if len(c.args) > 1 else c.kwargs.get("dtype")
    if not isinstance(t, TensorVal) and c.name == "dsl.make_fragment_like":
        made_of = alg.make_fragment_like(t)
        typed = given is not None and not isinstance(given, Underscore)
        return c.m.recorder.registers(c.m, made_of, dtype_of(given), c.span, "view", None) if typed else made_of
    if not isinstance(t, TensorVal):
        return c.m.recorder.registers(c.m, _ordered_like(plain_layout(c, t)), dtype_of(given), c.span, "view", None)
    dtype = t.dtype if given is None or isinstance(given, Underscore) else dtype_of(given)
    layout = alg.make_layout(alg.shape(layout_of(t))) if t.space == "coord" else _ordered_like(layout_of(t))
    made = c.m.recorder.registers(c.m, layout, dtype, c.span, "fragment", t.source)
    return replace(made, root=t.root)


@function("dsl.make_identity_tensor")
def _identity(c: Call) -> Value:
    shape = number(c, c.arg(0))
    return TensorVal(alg.make_identity_layout(shape), None, "coord", None, _zeros(shape))


def _zeros(shape: Any) -> Any:
    return tuple(_zeros(s) for s in shape) if isinstance(shape, tuple) else 0


@function("dsl.recast_tensor")
def _recast(c: Call) -> Value:
    t, new = c.arg(0), dtype_of(c.args[1] if len(c.args) > 1 else c.kwargs["dtype"])
    if not isinstance(t, TensorVal):
        raise Unsupported("recast of something that is not a tensor")
    if t.dtype is None or t.dtype.bits is None or new.bits is None:
        raise Unsupported("recast between element types of unknown width")
    layout = alg.recast_layout(layout_of(t), t.dtype.bits, new.bits)
    offset = t.offset
    if offset != 0 and new.bits != t.dtype.bits:
        offset = offset * int(t.dtype.bits) // int(new.bits)
    pointer = tensors.cast_pointer_to(t.pointer, ScalarType(new)) if t.pointer is not None else None
    return replace(t, layout=layout, dtype=new, offset=offset, pointer=pointer)


@function("dsl.recast_ptr")
def _recast_ptr(c: Call) -> Value:
    p = c.arg(0)
    swizzle = c.kwargs.get("swizzle_", c.args[1] if len(c.args) > 1 else None)
    dtype = c.kwargs.get("dtype", c.args[2] if len(c.args) > 2 else None)
    if not isinstance(p, Pointer):
        raise Unsupported("recast_ptr of something that is not a pointer")
    if isinstance(dtype, ScalarType):
        p = tensors.cast_pointer_to(p, dtype)
    if isinstance(swizzle, Swizzle):
        return replace(p, swizzle=swizzle)
    return replace(p, swizzle=None) if swizzle is None or isinstance(swizzle, Underscore) else p


@function("dsl.make_ptr", tolerant=True)
def _make_ptr(c: Call) -> Value:
    dtype = c.arg(0)
    space = getattr(c.kwargs.get("mem_space", c.args[2] if len(c.args) > 2 else None), "name", "unknown")
    align = c.kwargs.get("assumed_align", c.args[3] if len(c.args) > 3 else None)
    known: Any = space if space in ("gmem", "smem", "rmem", "tmem") else "unknown"
    if not isinstance(dtype, ScalarType):
        raise Unsupported("a pointer to an unknown element type")
    align = align if isinstance(align, int) else None
    address = c.kwargs.get("value", c.args[1] if len(c.args) > 1 else 0)
    bits = dtype.dtype.bits
    at: Any = 0
    computed = not isinstance(address, int) and c.m.recorder.in_kernel()  # each block may have another
    if varies(address) or computed or (isinstance(address, Dyn) and known != "gmem"):  # of each thread its own
        at = some(c.m, "address", Domain(step=max(1, (align or 1) * 8 // int(bits)) if bits else 1), True)
    return Pointer(f"ptr@{c.span.line}:{c.span.column}", known, dtype, at, align)


def addressed(v: Value) -> Value:
    """A tensor as events show it: a byte swizzle of the pointer becomes part of the layout, in elements."""
    if not isinstance(v, TensorVal) or v.pointer is None or not isinstance(v.pointer.swizzle, Swizzle):
        return v
    swizzle = v.pointer.swizzle
    if isinstance(v.layout, Unknown) or v.dtype is None or v.dtype.bits is None or swizzle.bits == 0:
        return v
    width = int(v.dtype.bits)
    shift = width.bit_length() - 4  # log2 of the element's bytes
    if width & (width - 1) or isinstance(v.layout, ComposedLayout):
        return v
    base = swizzle.base - shift
    if base < 0:
        return replace(v, layout=Unknown("a swizzle below the element width"))
    if isinstance(v.offset, Unknown) or isinstance(v.pointer.offset, Unknown):
        return replace(v, layout=Unknown("the address of a swizzled tensor is not known"))
    # the swizzle acts on addresses: where the tensor starts is inside of it
    inside = v.offset + v.pointer.offset
    layout = ComposedLayout(Swizzle(swizzle.bits, base, swizzle.shift), inside, v.layout)
    return replace(v, layout=layout, offset=0, pointer=replace(v.pointer, offset=0))


@function("dsl.gemm", "dsl.mma_atom_call", tolerant=True)
def _gemm(c: Call) -> Value:
    args = list(c.args)
    first = args.pop(0)
    tiled = first.tiled if isinstance(first, Slice) else first
    flat = [a[0] if isinstance(a, tuple) and a else a for a in args[:4]]  # [A, SFA]: the operand with its scales
    c.m.recorder.takes(part for a in args[:4] if isinstance(a, tuple) for part in a[1:])
    if not isinstance(tiled, (TiledMMA, MMAAtom, Unknown)):
        tiled = Unknown("an MMA operation that is not modelled", c.span)
    c.m.recorder.takes([beside for a in args[:4] if isinstance(a, tuple) for beside in a[1:]])  # scale factors are read
    operands = [addressed(a) for a in flat if isinstance(a, (TensorVal, Unknown))]
    reason = _miscounted(tiled, args[1:3])
    if reason is not None:
        c.m.recorder.called(c.m, Call(c.m, "gemm", (), [], c.span), Unknown(reason, c.span, True))
    call = Call(c.m, "gemm", (), args, c.span, {}, c.raw)
    c.m.recorder.event(c.m, "gemm", call, tiled, operands, None)
    return None


def _miscounted(tiled: Value, given: list[Value]) -> str | None:
    """Why the DSL refuses the tensors of A and B: one each, or with scale factors two each."""
    atom = tiled.atom if isinstance(tiled, TiledMMA) else tiled
    if not isinstance(atom, MMAAtom) or len(given) < 2:
        return None
    counts = tuple(len(a) if isinstance(a, tuple) else 1 for a in given)
    scaled = "BLOCKSCALED" in atom.op or "_MX" in atom.op
    if counts == (1, 1) or (scaled and counts == (2, 2)):
        return None
    wanted = "1 and 1, or 2 and 2 with scale factors" if scaled else "1 and 1: it takes no scale factors"
    return f"the DSL rejects gemm: {counts[0]} and {counts[1]} tensors for A and B, {atom.op} takes {wanted}"


def is_foreign(v: Value) -> bool:
    return isinstance(v, Extern)
