"""Tensors and pointers: construction, views, slices, tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import inttuple as it
from cutecheck.model.atoms import relative_widths, sparse_element
from cutecheck.model.basis import X
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError, Dyn
from cutecheck.model.layout import ComposedLayout, IntTuple, Layout, SmemPtrFlag
from cutecheck.model.swizzle import offset_value
from cutecheck.source.eval.held_fields import SEEN_AS, Apart
from cutecheck.source.eval.intrinsics.block_scaled import fragment_of, in_tensor_memory
from cutecheck.source.eval.intrinsics.layouts import LAYOUTS, on_tensor, under_pointer, without_pointer_swizzle
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported, function, method_of
from cutecheck.source.eval.intrinsics.types import element, stored
from cutecheck.source.eval.leaks import leak
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record import ends_of_registers
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.slots import of_array
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.types import pointed_to, type_of
from cutecheck.source.eval.values import (
    Address,
    ArrayType,
    Extern,
    Object,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    TensorVal,
    Value,
    constant,
)

OBJECT = "object@"  # registers of an object, by where their address is taken


def pointee(p: Pointer, m: Machine | None = None) -> DType | None:
    t = p.type
    while isinstance(t, ArrayType):
        t = t.inner
    return element(t) if m is None else stored(m, t)


def _pointer(c: Call, v: Value) -> Pointer:
    if isinstance(v, Pointer):
        return v
    if isinstance(v, TensorVal) and v.pointer is not None:
        return v.pointer
    if isinstance(v, Extern):
        return Pointer(v.what, "unknown", v.type)
    raise Unsupported("this is not a pointer cutecheck follows")


@function("make_gmem_ptr", "make_smem_ptr", "make_rmem_ptr", "make_tmem_ptr", tolerant=True)
def _make_ptr(c: Call) -> Value:
    space: Any = {"g": "gmem", "s": "smem", "r": "rmem", "t": "tmem"}[c.name[5]]
    if c.args and isinstance(c.arg(0), (Unknown, Extern)):
        if not c.targs or isinstance(c.targs[0], Unknown):
            return c.arg(0) if isinstance(c.arg(0), Unknown) else Unknown("a pointer of unknown type", c.span)
        # the type is written, where it points is not known: no buffer is claimed, nor that a tensor owns its registers
        named = OBJECT if space == "rmem" else f"{space}@"
        return Pointer(f"{named}{c.span.place}", space, c.targs[0], Unknown("an unknown address", c.span))
    if not c.args or isinstance(c.arg(0), (Scalar, Dyn, int)):
        if not c.targs:
            raise Unsupported(f"{c.name} of an integer address without a type")
        return Pointer(f"{space}@{c.span.place}", space, c.targs[0])
    p = _own_storage(c, c.arg(0)) if c.name == "make_rmem_ptr" else _pointer(c, c.arg(0))
    p = cast_pointer_to(p, c.targs[0]) if c.targs else p
    type_ = p.type
    if isinstance(type_, ArrayType) and (type_.name or isinstance(type_.inner, ArrayType)):
        return Unknown("a tensor whose elements are arrays", c.span)
    return replace(p, space=space)


def _own_storage(c: Call, v: Value) -> Pointer:
    """The registers that an object of the thread's own lies in: ``make_rmem_ptr<T>(&object)``."""
    if isinstance(v, Address):
        return _of_variable(c, v)
    if not isinstance(v, Object) or v.pointer is not None:
        return _pointer(c, v if not isinstance(v, Object) else v.pointer)
    leak(c.m, v)  # a tensor of these registers writes the object
    return Pointer(f"{OBJECT}{c.span.place}", "rmem", v.cls)


def _of_variable(c: Call, v: Address) -> Pointer:
    """A number, or elements of an array of numbers, that are followed one by one, but not once a tensor holds them."""
    where, _ = v.cells[0]
    typed: Value | None = where.get(SEEN_AS) if type(where) is Apart else type_of(v)
    typed = typed.inner if isinstance(typed, PtrType) else typed
    if not isinstance(typed, (ScalarType, ClassInst)):
        raise Unsupported("this is not a pointer cutecheck follows")
    leak(c.m, v)
    names = ".".join(str(n) for where, name in v.cells for n in (*of_array(where), name))
    return Pointer(f"{OBJECT}{c.span.place}:{names}", "rmem", typed)


@function("recast_ptr", "raw_pointer_cast", "as_position_independent_swizzle_ptr")
def _recast_ptr(c: Call) -> Value:
    first = c.arg(0)
    if c.name == "recast_ptr" and c.targs and isinstance(first, (Scalar, Dyn, int)):  # of nullptr: the type is meant
        return Pointer(f"address@{c.span.place}", "unknown", c.targs[0])
    p = _pointer(c, first)
    if c.name == "raw_pointer_cast" and isinstance(p.swizzle, ComposedLayout):
        p = replace(p, swizzle=None)
    return cast_pointer_to(p, c.targs[0]) if c.targs else p


def cast_pointer_to(p: Pointer, type_: Value) -> Pointer:
    """The same address seen as another type; the offset is rescaled where both widths are known."""
    old, new = pointee(p), element(type_)
    offset: Any = p.offset
    if offset != 0 and not isinstance(offset, Unknown):
        if old is None or new is None or old.bits is None or new.bits is None:
            offset = Unknown("the offset of a cast pointer with an unknown element width")
        elif old.bits != new.bits:
            offset = offset * int(old.bits) // int(new.bits)
    return replace(p, type=pointed_to(type_), offset=offset)


def make_tensor_value(c: Call, p: Pointer, layout: Any) -> TensorVal:
    space = p.space if p.space != "unknown" else "unknown"
    if isinstance(p.swizzle, ComposedLayout):
        layout, p = _under_swizzle(p, p.swizzle, layout, c.span), replace(p, swizzle=None)
    return TensorVal(layout, p, space, pointee(p, c.m), 0, "view", name=p.buffer.rsplit(".", 1)[-1])


def _under_swizzle(p: Pointer, swizzle: ComposedLayout, layout: Any, span: Span) -> Any:
    """A layout over a pointer that is swizzled: ``make_tensor(s.data(), ...)`` of a swizzled tensor."""
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag):
        return layout  # its swizzle takes the place of the pointer's
    kind = pointee(p)
    if not isinstance(layout, Layout) or kind is None or kind.bits is None:
        return Unknown("a tensor of another kind over a swizzled pointer", span)
    flag = cast(SmemPtrFlag, swizzle.offset)
    return ComposedLayout(swizzle.a, replace(flag, bits=kind.bits), layout)


@function("make_tensor")
def _make_tensor(c: Call) -> Value:
    if c.targs:
        kind = in_tensor_memory(c.targs[0])
        if kind is not None and len(c.args) == 1 and not isinstance(c.arg(0), (*LAYOUTS, TensorVal)):
            return fragment_of(c, kind, c.arg(0))
        layout = _layout_args(c, c.args)
        dtype = stored(c.m, c.targs[0])
        return _of_addresses(c, c.m.recorder.registers(c.m, layout, dtype, c.span, "view", None))
    first = c.arg(0)
    layout = _layout_args(c, c.args[1:])
    if isinstance(first, (tuple, int)) and not isinstance(first, bool):
        return TensorVal(layout, None, "coord", None, first)
    if isinstance(first, TensorVal) and first.pointer is None:
        return TensorVal(layout, None, "coord", None, first.offset)
    pointer = _pointer(c, first)
    _same_elements(pointer, layout)
    if c.m.dialect.replaying is not None:
        c.m.dialect.replaying.made_over(pointer, c.span)
    return make_tensor_value(c, pointer, layout)


def _same_elements(p: Pointer, layout: Any) -> None:
    """cute/pointer_flagged.hpp: a swizzle of addresses is of shared memory, for elements of one width."""
    flag = layout.offset if isinstance(layout, ComposedLayout) else None
    if not isinstance(flag, SmemPtrFlag):
        return
    if p.space in ("gmem", "rmem", "tmem"):
        raise CuteError(f"Expected smem, not {p.space}, under a layout that swizzles addresses of shared memory")
    kind = pointee(p)
    if kind is None or kind.bits is None:
        return
    raw = kind
    if flag.sparsity is not None:
        sparsity, raw = sparse_element(kind) or (None, kind)
        if sparsity != flag.sparsity:
            raise CuteError(f"Expected elements of sparsity {flag.sparsity}, not {kind.name}")
    if raw.bits != flag.bits:
        raise CuteError(f"Expected a {flag.bits}-bit pointer type, not {raw.name} of {raw.bits} bits")


def _layout_args(c: Call, args: list[Value]) -> Any:
    if not args:
        raise Unsupported("a tensor without a layout")
    if isinstance(args[0], TensorVal):
        return args[0].layout
    if isinstance(args[0], LAYOUTS):
        return args[0]
    return alg.make_layout(*args)


@function("make_tensor_like", "make_fragment_like")
def _like(c: Call) -> Value:
    t = c.arg(0)
    if not isinstance(t, TensorVal):
        if c.name == "make_tensor_like" and not c.targs:
            raise CuteError("make_tensor_like: no overload for this argument", t)
        plain = alg.make_fragment_like(t) if c.name == "make_fragment_like" else alg.make_layout_like(t)
        return _owning(c, plain, stored(c.m, c.targs[0]), None) if c.targs else plain
    if isinstance(t.layout, Unknown):
        return t.layout
    layout: Any = alg.make_fragment_like(t.layout)
    if c.name == "make_tensor_like":
        layout = alg.make_layout_like(cast(Layout, without_pointer_swizzle(t.layout)))
    return replace(_owning(c, layout, stored(c.m, c.targs[0]) if c.targs else t.dtype, t.source), root=t.root)


def _owning(c: Call, layout: Any, dtype: Any, source: Any) -> TensorVal:
    """A tensor of registers."""
    if not alg.is_static(alg.shape(layout)):
        raise CuteError("Dynamic owning tensors not supported", layout)
    return _of_addresses(c, c.m.recorder.registers(c.m, layout, dtype, c.span, "fragment", source))


def _of_addresses(c: Call, made: TensorVal) -> TensorVal:
    """A tensor of registers, whose elements may be pointers."""
    if c.targs and isinstance(c.targs[0], PtrType) and made.pointer is not None:
        c.m.recorder.addresses[made.pointer.buffer] = c.targs[0]
    return made


@function("make_identity_tensor", "make_coord_tensor", "make_counting_tensor")
def _identity(c: Call) -> Value:
    first = c.arg(0)
    if c.name == "make_identity_tensor":
        layout = alg.make_identity_layout(first)
        return TensorVal(layout, None, "coord", None, tuple(0 for _ in first) if isinstance(first, tuple) else 0)
    if isinstance(first, LAYOUTS):
        return TensorVal(first, None, "coord", None, 0)
    if len(c.args) > 1 and isinstance(c.arg(1), LAYOUTS):
        return TensorVal(c.arg(1), None, "coord", None, first)
    raise Unsupported(f"{c.name} on these operands")


def sliced(c: Call, t: TensorVal, coord: Any) -> Value:
    """``tensor(coord)``: a sub-tensor where the coordinate has ``_``, else one element."""
    if isinstance(t.layout, Unknown):
        return t.layout
    if not alg.has_underscore(coord):
        if t.pointer is None:
            return c.m.dialect.from_model(_shift(t.offset, alg.apply_layout(t.layout, coord)))
        c.m.recorder.takes_element(t, c.span)
        ends_of_registers.asked(c.m, t, coord, c.span)
        if c.m.dialect.replaying is not None:
            c.m.dialect.replaying.touched(t.pointer.buffer, t.pointer.space)
        held = c.m.recorder.addresses.get(t.pointer.buffer)
        if held is not None:  # some address, another one for each element
            return symbolic(c.m, held, f"{t.name or 'pointer'}#{c.m.number()}", c.span)
        return Scalar(None, t.dtype.name if t.dtype is not None else "value")
    layout, offset = under_pointer(t.layout, lambda plain: alg.slice_and_offset(coord, plain))
    made = t.derive(layout, _shift(t.offset, offset), "slice" if t.provenance == "view" else t.provenance)
    replay = c.m.dialect.replaying
    if replay is None or made.past is not None:
        return made
    past = replay.slices.at(coord, t, made)
    return made if past is None else replace(made, past=past)


def moved(c: Call, t: TensorVal, coord: Any) -> Value:
    if isinstance(t.layout, Unknown):
        return t.layout
    layout, offset = under_pointer(t.layout, lambda plain: alg.domain_offset(coord, plain))
    return t.derive(layout, _shift(t.offset, offset), t.provenance)


def _shift(a: Any, b: Any) -> Any:
    return a if isinstance(a, Unknown) else it.plus(a, cast("IntTuple", offset_value(b)))


@function("local_tile", "local_partition", "inner_partition", "outer_partition")
def _local(c: Call) -> Value:
    t = c.arg(0)
    if not isinstance(t, TensorVal):
        raise Unsupported(f"{c.name} of something that is not a tensor")
    if isinstance(t.layout, Unknown):
        return t.layout
    tiler, coord = c.arg(1), c.arg(2)
    if len(c.args) > 3:
        tiler = alg.dice(c.arg(3), tiler)
        if c.name != "local_partition":
            coord = alg.dice(c.arg(3), coord)
    if c.name == "local_partition":
        coord = alg.get_flat_coord(tiler, coord)
        tiler = it.product_each(alg.shape(tiler))
    zipped = under_pointer(t.layout, lambda plain: (alg.zipped_divide(plain, tiler), 0))[0]
    inner, outer = alg.rank(zipped, 0), alg.rank(zipped, 1)
    kept = inner if c.name in ("local_tile", "inner_partition") else outer
    # the DSL slices what is kept, if it is of one mode, by (_,), C++ by _: one pair of brackets less
    whole = (X,) if kept == 1 and c.name.startswith("local_") and c.m.dialect.name == "dsl" else it.repeat(X, kept)
    if c.name in ("local_tile", "inner_partition"):
        rest = it.append(coord, X, outer) if isinstance(coord, tuple) else coord
        full, provenance = (whole, rest), "tile"
    else:
        own = it.append(coord, X, inner) if isinstance(coord, tuple) else coord
        full, provenance = (own, whole), "partition"
    layout, offset = under_pointer(zipped, lambda plain: alg.slice_and_offset(full, plain))
    made = t.derive(layout, _shift(t.offset, offset), provenance)  # type: ignore[arg-type]
    return replace(made, tile=t.layout) if provenance == "partition" else made


@function("recast", "as_position_independent_swizzle_tensor", "tensor", "make_view", "max_common_vector_tensor")
def _views(c: Call) -> Value:
    t = c.arg(0)
    if not isinstance(t, TensorVal):
        raise Unsupported(f"{c.name} of something that is not a tensor")
    if isinstance(t.layout, Unknown):
        return t.layout
    if c.name == "as_position_independent_swizzle_tensor":
        if t.space in ("gmem", "rmem", "tmem"):
            raise CuteError(f"Expected smem tensor, not {t.space}")
        flagged = isinstance(t.layout, ComposedLayout) and isinstance(t.layout.offset, SmemPtrFlag)
        return replace(t, layout=alg.position_independent(t.layout)) if flagged else t  # type: ignore[arg-type]
    if c.name == "tensor":
        return replace(t, layout=alg.layout(t.layout, *c.ints()))
    if c.name == "recast":
        new = stored(c.m, c.targs[0])
        if new is None:
            raise Unsupported("recast between element types of unknown width")
        return recast_tensor(t, ScalarType(new) if isinstance(c.targs[0], ClassInst) else c.targs[0])
    return t


def recast_tensor(t: TensorVal, type_: Value) -> TensorVal:
    """The same elements seen as others of another width."""
    new = element(type_)
    if new is None or t.dtype is None or (ratio := relative_widths(t.dtype, new)) is None:
        raise Unsupported("recast between element types of unknown width")
    was, becomes = ratio
    layout = t.layout
    if isinstance(layout, ComposedLayout) and isinstance(layout.offset, SmemPtrFlag) and layout.offset.sparsity:
        if new.bits is None:
            raise Unsupported("recast to a sparse element")
        # the tensor's pointer has the swizzle, and its layout is but the inner one
        seen = cast(Layout, alg.recast_layout(layout.b, was, becomes))
        layout = replace(layout, offset=SmemPtrFlag(new.bits), b=seen)
    else:
        layout = alg.recast_layout(layout, was, becomes)
    offset = t.offset
    if offset != 0 and not isinstance(offset, Unknown) and becomes != was:
        offset = offset * int(was) // int(becomes)
    pointer = cast_pointer_to(t.pointer, type_) if t.pointer is not None else None
    return replace(t, layout=layout, dtype=new, offset=offset, pointer=pointer)


# ------------------------------------------------------------------ methods


@method_of("tensor", "data", "begin", "engine")
def _data(c: Call) -> Value:
    t = c.arg(0)
    if t.pointer is None:
        return t.offset if isinstance(t.offset, tuple) else t
    if t.space != "tmem":  # whose elements instructions alone reach, which are given tensors
        c.m.recorder.takes((t,))
    from cutecheck.source.eval.statements.assignments import data

    own = data(t, c.span)
    flagged = isinstance(t.layout, ComposedLayout) and isinstance(t.layout.offset, SmemPtrFlag)
    found = replace(own, swizzle=replace(t.layout, b=Layout(1, 0))) if flagged else own
    if c.m.dialect.replaying is not None:
        c.m.dialect.replaying.pointed_at(found, c.span)
    return found


@method_of("tensor", "layout", "shape", "stride", "size", "rank", "cosize")
def _parts(c: Call) -> Value:
    t = c.arg(0)
    if isinstance(t.layout, Unknown):
        return t.layout
    layout = without_pointer_swizzle(t.layout)
    return layout if c.name == "layout" else getattr(alg, c.name)(layout, *(c.ints() if c.targs else ()))


@method_of("tensor", "tile", "compose")
def _tile(c: Call) -> Value:
    t = c.arg(0)
    args = c.args[1] if len(c.args) == 2 else tuple(c.args[1:])
    f = alg.tiled_divide if c.name == "tile" else alg.composition
    return on_tensor(Call(c.m, c.name, (), [t, args], c.span), f)


@method_of("pointer", "get", "data", "begin", "release")
def _get(c: Call) -> Value:
    p = _of_one(c.arg(0))
    return replace(p, type=replace(p.type, name="")) if isinstance(p.type, ArrayType) else p


def _of_one(p: Pointer) -> Pointer:
    """The object that a member is asked of: that of ``p->data()`` is the first of several."""
    several = isinstance(p.type, ArrayType) and not p.type.name and isinstance(p.type.inner, ArrayType)
    return replace(p, type=p.type.inner) if several and p.type.inner.name else p


@method_of("pointer", "size", "end")
def _extent(c: Call) -> Value:
    p = _of_one(c.arg(0))
    if c.name == "size" and isinstance(p.type, ArrayType) and isinstance(p.type.extent, int):
        return Scalar(p.type.extent, "size_t") if c.m.dialect.by_value else p.type.extent
    raise Unsupported("the extent of this pointer")


@method_of("Held", "size", "max_size", "empty")
def _size_of_array(c: Call) -> Value:
    return Scalar(int(c.name == "empty" and not c.arg(0)) if c.name == "empty" else len(c.arg(0)), "size_t")


@method_of("Held", "at", "front", "back")
def _of_array(c: Call) -> Value:
    held = c.arg(0)
    at = constant(c.raw[1]) if c.name == "at" else 0 if c.name == "front" else len(held) - 1
    if at is None or not 0 <= at < len(held):
        raise Unsupported("an index that is not known or out of range")
    return held[at]


@function("as_tensor", "make_cute_packed_stride")
def _unsupported(c: Call) -> Value:
    raise Unsupported(f"{c.name}")


def composed(x: Any) -> bool:
    return isinstance(x, ComposedLayout)


def scalar_element(t: TensorVal) -> ScalarType | None:
    return ScalarType(t.dtype) if t.dtype is not None else None
