"""Objects in memory: sizes, alignments, views of shared-storage structs."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.algebra import cosize
from cutecheck.model.atoms import sparse_element
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Dyn, Int, as_expr, div
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.units import BYTE, ByteCount, Bytes, byte_count, bytes_to_hold
from cutecheck.source.eval import ages, classes, hidden, ir
from cutecheck.source.eval.barrier_types import BARRIERS
from cutecheck.source.eval.class_layout import class_layout
from cutecheck.source.eval.enums import EnumRef, underlying
from cutecheck.source.eval.held_fields import Seen
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.threads import varies
from cutecheck.source.eval.tuples import Pair
from cutecheck.source.eval.types import is_type, type_of
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    Address,
    ArrayType,
    Closure,
    EnumVal,
    Extern,
    ExternType,
    FuncSet,
    Object,
    ObjectPointer,
    Pointer,
    PtrType,
    Scalar,
    ScalarType,
    Str,
    TensorVal,
    Value,
    ValueType,
    constant,
)

_REGISTER = 32  # bits
_STORED = (
    Dyn, Scalar, EnumVal, Str, Pointer, ObjectPointer, Address, FuncSet, Extern, ScalarType, EnumRef, PtrType,
    ArrayType, ExternType, TensorVal, Unknown,
)  # fmt: skip
# bytes, and least and largest alignment: CUDA 13 aligns a descriptor to 128 bytes, those before to 64
_KNOWN = {
    "ClusterTransactionBarrier": (8, 8, 8), "ClusterBarrier": (8, 8, 8), "barrier": (8, 8, 8), "dim3": (12, 4, 4),
    TMA_DESCRIPTOR: (128, 64, 128),
}  # fmt: skip
_KNOWN_IN = frozenset({"", "cutlass::arch", "arch", "cuda"})  # where they are declared


def size_bytes(m: Machine, t: Value, span: Span) -> ByteCount | Unknown:
    """``sizeof(T)`` in bytes."""
    if isinstance(t, Unknown):
        return t
    if isinstance(t, ScalarType):
        sparse = sparse_element(t.dtype)
        bits = t.dtype.bits if sparse is None else sparse[1].bits
        return Unknown(f"the size of {t.dtype.name} is not known", span) if bits is None else bytes_to_hold(bits)
    if isinstance(t, PtrType):
        return Bytes(8)
    if isinstance(t, EnumRef):
        return size_bytes(m, underlying(m, t), span)
    if isinstance(t, ArrayType):
        if isinstance(t.extent, Unknown):
            return t.extent
        if _is_empty_array(t):
            return Bytes(t.align or 1)
        word, shared = _word(t), _shared(t)
        if word and isinstance(t.extent, int) and isinstance(t.inner, ScalarType) and t.inner.dtype.bits:
            total: Int = -(-t.extent // max(1, word * BYTE // int(t.inner.dtype.bits))) * word
        elif shared is not None and shared[1].bits is not None:
            total = byte_count(div(t.extent, shared[0]), shared[1].bits)
        elif isinstance(t.inner, ScalarType) and t.inner.dtype.bits is not None and t.inner.dtype.bits < BYTE:
            total = byte_count(t.extent, t.inner.dtype.bits)
        else:
            one = size_bytes(m, t.inner, span)
            if isinstance(one, Unknown):
                return one
            total = t.extent * (int(one) if isinstance(one, int) else one)
        align = t.align or 1
        return _in_bytes((total + align - 1) // align * align if align > 1 else total)
    if isinstance(t, ClassInst):
        size = class_layout(m, t, span).size
        return size if isinstance(size, Unknown) else _in_bytes(size)
    if known := _of_no_file(t):
        return Bytes(known[0])
    if isinstance(t, ValueType) and not isinstance(t.value, Pair) and _is_empty(m, t.value):
        return Bytes(1)
    if isinstance(t, ValueType) and isinstance(t.value, tuple):
        found = _tuple_layout(m, t.value, span)
        return found if isinstance(found, Unknown) else Bytes(found[0])
    return Unknown("the size of this type is not known", span)


def _of_no_file(t: Value) -> tuple[int, int, int] | None:
    """Size and alignments of a type of CUTLASS or CUDA whose header is not read."""
    if not isinstance(t, ExternType):
        return None
    space, _, name = t.name.removeprefix("::").rpartition("::")
    return _KNOWN.get(name) if space in _KNOWN_IN else None


def _shared(t: ArrayType) -> tuple[int, DType] | None:
    """Of a tensor's storage of sparse elements: how many share one that is stored, and that one's type."""
    return sparse_element(t.inner.dtype) if t.name == "ArrayEngine" and isinstance(t.inner, ScalarType) else None


def _is_empty(m: Machine, v: Value) -> bool:
    """Whether a type stores nothing: static integers, layouts of them, tags, classes without data members."""
    if isinstance(v, tuple):
        return all(_is_empty(m, x) for x in v)
    if isinstance(v, Layout):
        return _is_empty(m, v.shape) and _is_empty(m, v.stride)
    if isinstance(v, ComposedLayout):
        return _is_empty(m, v.b) and not isinstance(v.offset, Dyn)
    if isinstance(v, ClassInst):
        return not classes.fields(m, v)
    if isinstance(v, Closure):
        return not v.node.captures and not v.node.default
    if isinstance(v, Object):
        return _is_empty(m, v.cls)
    return not isinstance(v, _STORED)


def _tuple_layout(m: Machine, items: tuple[Value, ...], span: Span) -> tuple[int, int] | Unknown:
    """Size and alignment of ``cute::tuple<...>``."""
    found = _tuple_places(m, items, span)
    return found if isinstance(found, Unknown) else found[:2]


def _tuple_places(m: Machine, items: tuple[Value, ...], span: Span) -> tuple[int, int, tuple[int, ...]] | Unknown:
    """Size, alignment and where each element is: the first, then a structure of the rest (cute/container/tuple.hpp).

    What stores nothing takes no space.
    """
    if isinstance(items, Pair):
        return _pair_places(m, items, span)
    total, align = 0, 1
    places: tuple[int, ...] = ()
    for item in reversed(items):
        if _is_empty(m, item):
            places = (0, *places)
            continue
        laid = _tuple_layout(m, item, span) if isinstance(item, tuple) else _element_layout(m, item, span)
        if isinstance(laid, Unknown):
            return laid
        size, own = laid
        rest = (size + align - 1) // align * align if total else size
        places = (0, *(rest + p for p in places))
        align = max(align, own)
        total = (rest + total + align - 1) // align * align
    return max(1, total), align, places


def _pair_places(m: Machine, items: Pair, span: Span) -> tuple[int, int, tuple[int, ...]] | Unknown:
    """The same of ``std::pair``: two members, each with an address of its own."""
    end, align = 0, 1
    places: list[int] = []
    for item in items:
        laid = (1, 1) if _is_empty(m, item) else _element_layout(m, item, span)
        if isinstance(item, tuple) and not _is_empty(m, item):
            laid = _tuple_layout(m, item, span)
        if isinstance(laid, Unknown):
            return laid
        places.append(-(-end // laid[1]) * laid[1])
        end, align = places[-1] + laid[0], max(align, laid[1])
    return -(-end // align) * align, align, tuple(places)


def _element_layout(m: Machine, item: Value, span: Span) -> tuple[int, int] | Unknown:
    """Size and alignment of an element of a tuple."""
    t = type_of(item)
    size, align = size_bytes(m, t, span), align_bytes(m, t, span)
    if isinstance(size, int) and isinstance(align, int) and not isinstance(t, ValueType):
        return int(size), align
    return size if isinstance(size, Unknown) else Unknown("the size of a tuple's element is not known", span)


def tensor_bytes(tensor: TensorVal, span: Span) -> ByteCount | Unknown:
    """``sizeof`` a tensor that owns its registers."""
    if tensor.space != "rmem" or isinstance(tensor.layout, Unknown) or tensor.dtype is None or not tensor.dtype.bits:
        return Unknown("the size of a tensor that owns no registers", span)
    elements = cosize(tensor.layout)
    if not isinstance(elements, int):
        return Unknown("the size of registers of a run-time layout", span)
    return bytes_to_hold(tensor.dtype.bits * int(elements))


def _word(t: ArrayType) -> int:
    """Bytes of what ``cutlass::Array`` stores elements of less than 32 bits in; 0 of other arrays."""
    if t.name not in ("Array", "AlignedArray") or not isinstance(t.inner, ScalarType) or not t.inner.dtype.bits:
        return 0
    bits = int(t.inner.dtype.bits)
    if bits >= _REGISTER or not isinstance(t.extent, int):
        return 0
    return next(word for word in (4, 2, 1) if bits * t.extent % (word * BYTE) == 0 or word == 1)


def _is_empty_array(t: ArrayType) -> bool:
    """Whether an array is a class without members: ``array<T, 0>`` is, ``array_subbyte<T, 0>`` is not."""
    return t.extent == 0 and (t.name in ("array", "array_aligned") or (t.name == "ArrayEngine" and t.align is not None))


def _in_bytes(n: Int) -> ByteCount:
    return Bytes(n) if isinstance(n, int) else n


def align_bytes(m: Machine, t: Value, span: Span) -> int | Unknown:
    """``alignof(T)`` in bytes."""
    least, most = alignments(m, t, span)
    if isinstance(most, int) and least != most:
        return Unknown("the alignment of this type depends on CUDA's version", span)
    return most


def alignments(m: Machine, t: Value, span: Span) -> tuple[int, int | Unknown]:
    """The least alignment that a type may have, and the largest."""
    if isinstance(t, ArrayType):
        if _is_empty_array(t):
            return t.align or 1, t.align or 1
        least, most = alignments(m, t.inner, span)
        own = max(_word(t), t.align or 1)
        if _word(t):
            return own, own
        return max(least, own), most if isinstance(most, Unknown) else max(most, own)
    if isinstance(t, EnumRef):
        return alignments(m, underlying(m, t), span)
    if isinstance(t, ClassInst):
        laid = class_layout(m, t, span)
        return laid.align, laid.most
    if known := _of_no_file(t):
        return known[1:]
    found = _own_alignment(m, t, span)
    return (1 if isinstance(found, Unknown) else found), found


def _own_alignment(m: Machine, t: Value, span: Span) -> int | Unknown:
    if isinstance(t, ScalarType):
        size = size_bytes(m, t, span)
        return min(16, int(size) & -int(size)) if isinstance(size, int) and size else 1  # of `int3` that of `int`
    if isinstance(t, PtrType):
        return 8
    if isinstance(t, ValueType) and not isinstance(t.value, Pair) and _is_empty(m, t.value):
        return 1
    if isinstance(t, ValueType) and isinstance(t.value, tuple):
        found = _tuple_layout(m, t.value, span)
        return found if isinstance(found, Unknown) else found[1]
    return Unknown("the alignment of this type is not known", span)


def get_object(m: Machine, p: Pointer) -> Value:
    """The object a pointer to a class of the tree points to; one a buffer."""
    assert isinstance(p.type, ClassInst)
    apart = m.number() if isinstance(p.offset, Unknown) else 0  # another one each time
    key = ("object", p.buffer, str(p.offset), p.type.ident, apart)
    if key not in m.functions:
        name = p.buffer
        if isinstance(p.offset, int) and p.offset:
            name = f"{name}[{p.offset}]"
        elif isinstance(p.offset, Unknown):
            name = f"{name}{PER_THREAD}{apart}"
        elif not isinstance(p.offset, int):
            name = f"{name}{PER_THREAD if varies(p.offset) else '#'}{m.number()}"
        m.functions[key] = seen(m, Object(p.type, Seen({}), p, name))
        ages.age_seen(m, m.functions[key], p.offset)
    return m.functions[key]


def seen(m: Machine, obj: Object) -> Object:
    """An object behind a pointer: what is written to one may be seen in others."""
    if m.dialect.by_value:
        m.seen.append(obj)
    if isinstance(obj.fields, Seen):
        obj.fields.at = obj.pointer
    return obj


def member_view(m: Machine, obj: Object, owner: ClassInst, decl: ir.Variable, span: Span) -> Value:
    """A data member of a struct in memory: its own buffer, unless the struct is a union."""
    assert obj.pointer is not None
    base = obj.pointer
    t = m.eval(decl.type, owner.env) if decl.type is not None else Unknown("untyped member", span)
    if isinstance(t, Unknown):
        return t
    laid = class_layout(m, obj.cls, span)
    align = laid.align
    own_name = decl.name
    at = laid.offsets.get(decl.name, 0)
    if hidden.is_one(m, obj.cls, decl.name):
        own_name, at = hidden.key(owner, decl.name), hidden.offset(m, obj.cls, owner, decl.name, span)
    known = base.align if base.align is not None else align
    if isinstance(at, int) and at:
        known = min(known, at & -at) if known else at & -at
    elif isinstance(at, (Dyn, Unknown)):
        known = 1
    own, _ = alignments(m, t, span)
    explicit = constant(m.eval(decl.alignas_, owner.env)) if decl.alignas_ is not None else None
    known = max(known, own, explicit or 1) if base.align is None else known
    if base.offset != 0:  # an element of an array: its size is a multiple of its alignment
        known = min(known, align) if known else align
    name, whole = f"{obj.name if base.space == 'rmem' else base.buffer}.{own_name}", t
    if owner.decl.kind == "union":  # members of a union are one buffer
        first = classes.fields(m, owner)[0][1].name
        name, whole = (f"{base.buffer}.{first}" if owner is not obj.cls else base.buffer), owner
    part = _element_name(m, base)
    if part is not None and owner.decl.kind != "union":
        name = f"{part}.{own_name}"
    pointer = Pointer(name, base.space, t, 0, known)
    before = m.recorder.starts.get(base.buffer, 0) if base.offset == 0 else None
    m.recorder.starts[name] = before + at if before is not None and isinstance(at, int) else None
    if isinstance(t, ValueType) and isinstance(t.value, tuple) and any(map(is_type, t.value)):
        return _elements_view(m, Object(owner, {}, pointer, f"{obj.name}.{own_name}"), t.value, decl, span)
    if not isinstance(t, ClassInst):
        m.recorder.part(m, pointer, t, base, span, decl, whole)
    if isinstance(t, ClassInst):
        found = seen(m, Object(t, Seen({}), pointer, f"{obj.name}.{own_name}"))
        from cutecheck.source.eval.shared_addresses import member_within

        if isinstance(found.fields, Seen):
            found.fields.within = member_within(m, obj, at, span)
        return found
    if isinstance(t, ExternType) and t.name.startswith("std::") and m.recorder.on_host():
        return symbolic(m, t, name, span)  # a container, not its elements
    if isinstance(t, (ArrayType, ExternType)):
        return pointer
    if owner.decl.name in BARRIERS and isinstance(t, ScalarType):
        return Scalar(None, t.dtype.name)  # the hardware writes it: another number each time that it is read
    return symbolic(m, t, f"{obj.name}.{own_name}", span)


def _element_name(m: Machine, base: Pointer) -> str | None:
    """An element of an array, by its number, in a run pass by pass: what lies in others lies elsewhere."""
    replay = m.dialect.replaying
    if replay is None or base.space != "smem" or isinstance(base.offset, Unknown) or base.offset == 0:
        return None
    number = replay.number(as_expr(base.offset))
    return f"{base.buffer}[{number}]" if number else None


def _elements_view(m: Machine, whole: Object, items: tuple[Value, ...], decl: ir.Variable, span: Span) -> Value:
    """The elements of a tuple in memory that holds objects or arrays, each where it is; ``whole`` has its place."""
    laid = _tuple_places(m, items, span)
    if isinstance(laid, Unknown):
        return laid
    base = whole.pointer
    assert base is not None
    start = m.recorder.starts.get(base.buffer)
    found: list[Value] = []
    for i, (item, at) in enumerate(zip(items, laid[2], strict=True)):
        name, t = f"{whole.name}.{i}", type_of(item)
        align = min(base.align or 1, at & -at) if at else base.align
        pointer = Pointer(f"{base.buffer}.{i}", base.space, t, 0, align)
        m.recorder.starts[pointer.buffer] = None if start is None else start + at
        if isinstance(item, tuple):
            found.append(_elements_view(m, Object(whole.cls, {}, pointer, name), item, decl, span))
        elif isinstance(t, ClassInst):
            found.append(seen(m, Object(t, Seen({}), pointer, name)))
        elif isinstance(t, (ArrayType, ExternType)):
            m.recorder.part(m, pointer, t, base, span, decl, t)
            found.append(pointer)
        else:
            found.append(item if _is_empty(m, item) else symbolic(m, t, name, span))
    return tuple(found)
