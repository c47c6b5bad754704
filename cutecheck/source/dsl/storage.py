"""Shared memory: ``cute.struct`` classes and ``SmemAllocator``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.units import byte_count, bytes_to_hold
from cutecheck.records import record
from cutecheck.source.dsl import modules
from cutecheck.source.dsl.values import Builtin, BuiltinType
from cutecheck.source.eval import ir
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import ArrayType, Object, Pointer, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


_BARRIER_BITS = 64


@record(frozen=True, slots=True)
class Aligned:
    """``cute.struct.Align[type, bytes]``."""

    type: Value
    align: int


@dataclass(eq=False, slots=True)
class Allocator:
    """``SmemAllocator()``: bump allocation of shared memory; ``array`` of what ``alloc_smem`` declares."""

    name: str = "smem"
    places: dict[str, int] = field(default_factory=dict)  # how often each place has allocated


def field_type(m: Machine, cls: ClassInst, name: str) -> Value:
    """The type of a struct's field: an element type, an array, another struct, with alignment."""
    key = ("field", name)
    if key not in cls.memo:
        decl: ir.Variable = dict(cls.memo["fields"])[name]
        cls.memo[key] = m.eval(decl.type, cls.env) if decl.type is not None else Unknown("an untyped field", decl.span)
    return cls.memo[key]


def typed(m: Machine, base: Value, key: Value, span: Span) -> Value:
    """``MemRange[type, count]`` and ``Align[type, bytes]``."""
    assert isinstance(base, BuiltinType)
    if not isinstance(key, tuple) or len(key) != 2:
        return Unknown(f"{base.name} takes two arguments", span)
    inner, number = key
    if base.name == "Align":
        return Aligned(inner, number) if isinstance(number, int) else Unknown("an alignment that is not known", span)
    return ArrayType(inner, number)


def layout(m: Machine, cls: ClassInst, span: Span) -> tuple[dict[str, Int | Unknown], Int | Unknown, int]:
    """Byte offsets of the fields, the size and the alignment of a struct or union."""
    offsets: dict[str, Int | Unknown] = {}
    at: Int | Unknown = 0
    largest: Any = 0
    align = 1
    for name, _ in cls.memo["fields"]:
        size, own = extent(m, field_type(m, cls, name), span)
        align = max(align, own)
        if cls.memo.get("union"):
            offsets[name] = 0
            largest = size if isinstance(size, Unknown) else max(largest, size) if isinstance(size, int) else size
            continue
        if isinstance(at, int):
            at = (at + own - 1) // own * own
        offsets[name] = at
        at = at if isinstance(at, Unknown) else size if isinstance(size, Unknown) else at + size
    total = largest if cls.memo.get("union") else at
    if isinstance(total, int):
        total = (total + align - 1) // align * align
    return offsets, total, align


def extent(m: Machine, t: Value, span: Span) -> tuple[Int | Unknown, int]:
    """Size and alignment of a field's type in bytes."""
    if isinstance(t, Aligned):
        size, own = extent(m, t.type, span)
        return size, max(own, t.align)
    if isinstance(t, ArrayType):
        if isinstance(t.inner, ScalarType) and t.inner.dtype.bits is not None:
            own = min(16, int(bytes_to_hold(t.inner.dtype.bits)))
            if isinstance(t.extent, (int, Dyn, Sym)):
                return byte_count(t.extent, t.inner.dtype.bits), own
            return Unknown("how many elements this field has is not known", span), own
        return Unknown("the size of this field is not known", span), 1
    if isinstance(t, ScalarType) and t.dtype.bits is not None:
        own = bytes_to_hold(t.dtype.bits)
        return own, int(own)
    if isinstance(t, ClassInst) and t.memo.get("struct"):
        _, total, align = layout(m, t, span)
        return total, align
    return Unknown("the size of this field is not known", span), 1


def construct(m: Machine, cls: ClassInst, args: list[Value], span: Span) -> Value:
    """``Storage(pointer)``: a view of memory."""
    pointer = args[0] if args else None
    if isinstance(pointer, Object):
        pointer = pointer.pointer
    if not isinstance(pointer, Pointer):
        return Unknown(f"`{cls.name}` on an address that is not followed", span)
    return Object(cls, {}, pointer, cls.name)


def member(m: Machine, obj: Object, name: str, span: Span) -> Value:
    """A field of a struct in memory: its own buffer."""
    if name in ("_base", "ptr"):
        return obj.pointer
    fields = dict(obj.cls.memo["fields"])
    if name not in fields:
        if name in ("size_in_bytes", "__sizeof__"):
            return Builtin("struct.size_in_bytes", obj.cls)
        return Unknown(f"struct `{obj.cls.name}` has no field `{name}`", span)
    assert obj.pointer is not None
    t = field_type(m, obj.cls, name)
    if isinstance(t, Unknown):
        return t
    offsets, _, align = layout(m, obj.cls, span)
    at = offsets[name]
    declared = extent(m, t, span)[1]
    known = max(declared, 1) if obj.pointer.align is None else _aligned(obj.pointer.align, at)
    if isinstance(t, Aligned):
        known = max(known, t.align) if (obj.pointer.align or 0) >= align else known
        t = t.type
    base = obj.pointer.buffer
    ident = base if obj.cls.memo.get("union") else f"{base}.{name}"
    start = None
    if ident != base:
        within = m.recorder.within(base) if obj.pointer.offset == 0 else None
        start = within[1] // 8 + at if within is not None and isinstance(at, int) else None
        m.recorder.starts[ident] = start
    if isinstance(t, ClassInst):
        return Object(t, {}, Pointer(ident, "smem", t, 0, known), t.name)
    size = extent(m, t, span)[0]
    inner = t.inner if isinstance(t, ArrayType) else t
    decl: ir.Variable = fields[name]
    m.recorder._buffer(ident, name, decl.span, None if isinstance(size, Unknown) else size, known, t, start)
    m.recorder.starts_at(ident, start)  # another struct over the same memory may have a field of this name
    modules.state(m).setdefault("barrier bytes", {})[ident] = barrier_bytes(m, obj, name, span)
    return Pointer(ident, "smem", inner, 0, known)


def barrier_bytes(m: Machine, obj: Object, name: str, span: Span) -> int | None:
    """Bytes from a member of a struct on that are 64-bit numbers, its own and those of members behind it."""
    offsets, _, _ = layout(m, obj.cls, span)
    names = [n for n, _ in obj.cls.memo["fields"]]
    start, end = offsets[name], 0
    if not isinstance(start, int) or obj.cls.memo.get("union"):
        return None
    for each in names[names.index(name) :]:
        t, at = field_type(m, obj.cls, each), offsets[each]
        size = extent(m, t, span)[0]
        inner = t.type if isinstance(t, Aligned) else t
        inner = inner.inner if isinstance(inner, ArrayType) else inner
        if not isinstance(inner, ScalarType) or not isinstance(at, int) or not isinstance(size, int):
            return None
        if inner.dtype.bits != _BARRIER_BITS:
            break
        end = at + size
    return end - start


def _aligned(base: int, offset: Any) -> int:
    if not isinstance(offset, int):
        return 1
    return base if offset == 0 else min(base, offset & -offset)


def class_member(m: Machine, cls: ClassInst, name: str, span: Span) -> Value:
    if name in ("size_in_bytes", "__sizeof__", "__alignof__"):
        return Builtin(f"struct.{name.strip('_')}", cls)
    if name == "allocate":
        return Builtin("struct.allocate", cls)
    return Unknown(f"struct `{cls.name}` has no `{name}`", span)


def allocate(
    m: Machine, allocator: Allocator | Unknown, args: list[Value], kwargs: dict[str, Value], span: Span, what: str
) -> Value:
    """``allocate``, ``allocate_array`` and ``allocate_tensor`` of a ``SmemAllocator``."""
    from cutecheck.model import algebra
    from cutecheck.model.layout import ComposedLayout, Layout

    if isinstance(allocator, Unknown):  # which one it is was forgotten in a loop
        return allocator
    frame = m.recorder.frame
    where = frame.symbol if frame is not None else ""
    while frame is not None and (frame.function is None or "kernel" not in frame.function.flags):
        frame = frame.caller
    if frame is not None and frame.symbol != where:  # a helper allocates, for one configuration of a kernel
        where = f"{frame.symbol}/{where}"
    ident = f"{where}::{allocator.name}@{span.line}:{span.column}"
    if not m.recorder.rehearses():  # a helper or comprehension allocates several buffers at one place
        allocator.places[ident] = allocator.places.get(ident, 0) + 1
        ident += f" ({allocator.places[ident]})" if allocator.places[ident] > 1 else ""
    first = args[0] if args else kwargs.get("element_type", kwargs.get("size_or_type"))
    if isinstance(first, Unknown):
        return first
    if what == "allocate":
        align = _number(kwargs.get("byte_alignment", args[1] if len(args) > 1 else 1))
        if isinstance(first, ClassInst):
            _, _, own = layout(m, first, span)
            return Object(first, {}, Pointer(ident, "smem", first, 0, max(own, align)), first.name)
        if isinstance(first, ScalarType) and first.dtype.bits is not None:  # of one number
            m.recorder._buffer(ident, "", span, bytes_to_hold(first.dtype.bits), align, first)
            return Pointer(ident, "smem", first, 0, align)
        byte = m.dialect.library.byte  # type: ignore[attr-defined]
        if type(first) is int:
            m.recorder._buffer(ident, "", span, first, align, ArrayType(byte, first))
        return Pointer(ident, "smem", first if isinstance(first, ScalarType) else byte, 0, align)
    if not isinstance(first, ScalarType) or first.dtype.bits is None:
        return Unknown("the element type of this allocation is not known", span)
    if what == "allocate_array":
        count = args[1] if len(args) > 1 else kwargs.get("num_elems", 1)
        align = _number(kwargs.get("byte_alignment", int(bytes_to_hold(first.dtype.bits))))
        size = byte_count(count, first.dtype.bits) if isinstance(count, int) else None
        m.recorder._buffer(ident, "", span, size, align, ArrayType(first, count))
        return Pointer(ident, "smem", first, 0, align)
    shape = args[1] if len(args) > 1 else kwargs.get("layout")
    align = _number(kwargs.get("byte_alignment", args[2] if len(args) > 2 else 1))
    swizzle = kwargs.get("swizzle", args[3] if len(args) > 3 else None)
    if isinstance(shape, Unknown):
        return shape
    made: Any = shape if isinstance(shape, (Layout, ComposedLayout)) else algebra.make_layout(m.dialect.to_model(shape))
    pointer = Pointer(ident, "smem", first, 0, align)
    tensor = tensor_on(m, pointer, made, swizzle)
    domain: Any = made.b if isinstance(made, ComposedLayout) else made
    cosize = algebra.cosize(domain)
    size = byte_count(cosize, first.dtype.bits) if isinstance(cosize, int) else None
    m.recorder._buffer(ident, "", span, size, align, ArrayType(first, cosize))
    return tensor


def tensor_on(m: Machine, pointer: Pointer, made: Any, swizzle: Value) -> Value:
    """A tensor over shared memory; a swizzle beside or inside its layout is of byte addresses when given beside."""
    from dataclasses import replace

    from cutecheck.model.layout import Swizzle
    from cutecheck.source.eval.intrinsics.dsl_tensors import with_pointer

    if isinstance(swizzle, Swizzle):
        pointer = replace(pointer, swizzle=swizzle)
    return with_pointer(pointer, made)


def static(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``cute.arch.alloc_smem(type, elements, alignment)``: an array of shared memory of its own at each place."""
    given = {**dict(zip(("element_type", "size_in_elems", "alignment"), args, strict=False)), **kwargs}
    frame = m.recorder.frame
    while frame is not None and frame.caller is not None and (
        frame.function is None or "kernel" not in frame.function.flags
    ):  # fmt: skip
        frame = frame.caller
    walk, allocator = modules.state(m).get("static shared memory", (None, None))
    if allocator is None or walk is not frame:
        allocator = Allocator("array")
        modules.state(m)["static shared memory"] = (frame, allocator)
    wanted = {"num_elems": given.get("size_in_elems", 1)}
    if isinstance(given.get("alignment"), int):
        wanted["byte_alignment"] = given["alignment"]
    return allocate(m, allocator, [given.get("element_type")], wanted, span, "allocate_array")


def dynamic(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``cute.arch.get_dyn_smem(type, alignment)``: where the shared memory of the launch starts, each time."""
    given = {**dict(zip(("element_type", "alignment"), args, strict=False)), **kwargs}
    kind, align = given.get("element_type"), given.get("alignment")
    if not isinstance(kind, ScalarType) or kind.dtype.bits is None:
        return Unknown("the element type of this pointer is not known", span)
    frame = m.recorder.frame
    base = m.recorder.dynamic_shared(frame.kernel or frame.symbol if frame is not None else "", span)
    known = align if isinstance(align, int) else int(bytes_to_hold(kind.dtype.bits))
    return Pointer(base.buffer, "smem", kind, 0, max(known, base.align or 1))


def _number(v: Value) -> int:
    return v if isinstance(v, int) else 1
