"""Attributes of CuTe's values in Python: tensors, layouts, element types, pointers, atoms, enumerations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.dtype import DType
from cutecheck.model.ints import Dyn, NotModelledError, as_expr
from cutecheck.model.inttuple import as_arithmetic_tuple, leaves, plus
from cutecheck.model.layout import ComposedLayout, IntTuple, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import Bits, bytes_to_hold
from cutecheck.source.dsl import barriers, patches, storage
from cutecheck.source.dsl.values import (
    NONE,
    Builtin,
    BuiltinType,
    Namespace,
    OpValue,
    TmaAtom,
    TmaInfo,
)
from cutecheck.source.eval.intrinsics.dsl_layouts import leading_dim
from cutecheck.source.eval.intrinsics.dsl_show import atom_tv, pointer_alignment
from cutecheck.source.eval.values import (
    EnumVal,
    Extern,
    Pointer,
    Scalar,
    ScalarType,
    Slice,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


INTEGERS = (
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "int4b_t",
    "uint4b_t",
)
SLICE_METHODS = frozenset({
    "partition_S", "partition_D", "partition_A", "partition_B", "partition_C", "retile", "make_fragment_A",
    "make_fragment_B", "make_fragment_C", "partition_shape_A", "partition_shape_B", "partition_shape_C", "get_slice",
})  # fmt: skip


OBJECT_METHODS = ("get_tile_size", "set", "with_", "_thrfrg_A", "_thrfrg_B", "_thrfrg_C")


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    if name == "value" and isinstance(base, (TensorVal, Layout, ComposedLayout)):
        return base  # what calls beneath the DSL's functions take
    if isinstance(base, TensorVal):
        found = _tensor(m, base, name, span)
        return NONE if found is None else found
    if (set_by_program := patches.on_class(m, base, name)) is not None:
        return set_by_program
    if isinstance(base, (Layout, ComposedLayout)):
        return _layout(m, base, name, span)
    if isinstance(base, ScalarType):
        return _dtype(base.dtype, name, span)
    if isinstance(base, EnumVal):
        return _enum(base, name, span)
    if isinstance(base, Pointer):
        return _pointer(m, base, name, span)
    if isinstance(base, (TiledCopy, TiledMMA, CopyAtom, MMAAtom, Slice)):
        return _tiled(m, base, name, span)
    if isinstance(base, TmaInfo) and name in ("atom", "tma_tensor", "smem_layout"):
        part = {"atom": base.atom, "tma_tensor": base.tma_tensor, "smem_layout": base.smem_layout}[name]
        return NONE if part is None else part
    if isinstance(base, TmaAtom):
        return base.op if name == "op" else Extern(f"tma atom.{name}", span)
    if isinstance(base, OpValue):
        if name == "_to_ir":
            return Builtin("scalar.same", base)
        field = base.get(name, Extern(f"{base.name}.{name}", span))
        return NONE if field is None else field
    if isinstance(base, Swizzle):
        found = {"num_bits": base.bits, "num_base": base.base, "num_shift": base.shift}.get(name)
        return found if found is not None else Extern(f"swizzle.{name}", span)
    if isinstance(base, bool) and m.dialect.replaying is not None and name in ("to", "ir_value"):
        return Builtin("scalar.same", base)  # a comparison that the run of a kernel answers
    if isinstance(base, Scalar):
        if name in ("to", "ir_value", "load", "bitcast"):
            return Builtin("scalar.same", base)
        if name == "dtype":
            from cutecheck.model.dtype import dtype

            found_type = dtype(base.ctype)
            return ScalarType(found_type) if found_type is not None else Extern("a dtype", span)
        return Extern(f"scalar.{name}", span)
    if isinstance(base, Dyn):
        if name in ("to", "ir_value", "value"):
            return Builtin("scalar.same", base) if name != "value" else base
        if name in ("dtype",):
            return ScalarType(DType("int32_t", Bits(32)))
        return Extern(f"number.{name}", span)
    if isinstance(base, storage.Allocator):
        return Builtin(f"smem.{name}", base)
    if isinstance(base, BuiltinType) and base.name == "LayoutEnum":
        if name == "from_tensor":
            return Builtin("LayoutEnum.from_tensor")
        return EnumVal("LayoutEnum", name, None)
    if isinstance(base, BuiltinType) and base.name in ENUMERATIONS:
        return EnumVal(base.name, name, None)
    if isinstance(base, Builtin) and name == "admissible_archs" and base.name.startswith("op "):
        found_archs = _admissible(base.name.removeprefix("op "))
        return [EnumVal("Arch", a, None) for a in found_archs] if found_archs else None
    if isinstance(base, ScaledBasis):
        return {"value": base.value, "mode": list(base.path)}.get(name, Extern(f"basis.{name}", span))
    return None


ENUMERATIONS = frozenset({
    "OperandMajorMode", "OperandSource", "SmemLayoutAtomKind", "LoadCacheMode", "CtaGroup", "Field", "Pack", "Unpack",
    "Repetition", "AddressSpace", "MemoryOrder", "MemoryScope", "L2PrefetchSize", "CacheEvictionPriority",
    "StoreCacheMode", "SharedSpace", "ReductionOp", "ReductionKind", "OutputMajorMode", "NamedBarrierId",
    "TmemAllocMode", "Arch", "ProxyKind", "TmemLoadRedOp", "SparseMetadataFormat",
})  # fmt: skip
_LAYOUT_ENUM = {
    "is_k_major_a": "ROW_MAJOR", "is_m_major_a": "COL_MAJOR", "is_n_major_b": "COL_MAJOR", "is_k_major_b": "ROW_MAJOR",
    "is_n_major_c": "ROW_MAJOR", "is_m_major_c": "COL_MAJOR",
}  # fmt: skip


def _admissible(op: str) -> tuple[str, ...]:
    """The architectures that an operation's class names."""
    module, _, name = op.partition(".")
    if module == "warp" and "MX" in name:
        return ("sm_120a", "sm_120f", "sm_121a", "sm_121f")
    if module == "tcgen05" and "MX" in name:
        return ("sm_100a", "sm_100f", "sm_103a", "sm_107a", "sm_110a")
    return ()


def _enum(base: EnumVal, name: str, span: Span) -> Value:
    if name == "name":
        return base.name
    if base.enum == "torch.device" and name in ("type", "index"):
        return base.name if name == "type" else 0
    if base.enum == "torch.dtype" and name == "itemsize" and base.name == "float4_e2m1fn_x2":
        return 1  # two values
    if base.enum == "LayoutEnum":
        if name in _LAYOUT_ENUM:
            return Builtin("constant", base.name == _LAYOUT_ENUM[name])
        if name in ("mma_major_mode", "sm90_mma_major_mode"):
            return Builtin("constant", EnumVal("OperandMajorMode", "K" if base.name == "ROW_MAJOR" else "MN", None))
        if name == "value":
            return {"ROW_MAJOR": "row_major", "COL_MAJOR": "col_major"}.get(base.name, base.name)
    if base.enum == "Arch" and name == "is_family_of":
        return Builtin("Arch.is_family_of", base)
    if base.enum == "Arch" and name in ("major", "minor"):
        number = arch_number(base.name)
        return number // 10 if name == "major" else number % 10
    if base.enum == "Repetition" and name == "value":
        return int(base.name[1:]) if base.name[1:].isdigit() else Extern("repetition", span)
    if base.enum == "CtaGroup" and name == "value":
        return {"ONE": 1, "TWO": 2}.get(base.name, Extern("group", span))
    return Extern(f"{base.enum}.{base.name}.{name}", span)


def arch_number(name: str) -> int:
    """``sm_90a`` is 90."""
    digits = "".join(c for c in name if c.isdigit())
    return int(digits) if digits else 0


def _dtype(d: DType, name: str, span: Span) -> Value:
    from cutecheck.source.eval.intrinsics.dsl_show import type_name

    integer = d.name in INTEGERS or d.name == "bool"
    if name in ("width", "itemsize"):
        if d.bits is None:
            return Unknown("the width of this type is not known", span)
        if name == "itemsize":
            return int(bytes_to_hold(d.bits))
        return 1 if d.name == "bool" else int(d.bits)
    known: dict[str, Value] = {
        "is_integer": integer, "is_float": not integer, "__name__": type_name(d), "zero": 0,
        "signed": d.name.startswith("int") or not integer, "is_signed": d.name.startswith("int") or not integer,
        "is_floating_point": not integer, "bytes": None if d.bits is None else int(bytes_to_hold(d.bits)),
    }  # fmt: skip
    return known[name] if name in known else Extern(f"{type_name(d)}.{name}", span)


def _tensor(m: Machine, t: TensorVal, name: str, span: Span) -> Value:
    if name in ("element_type", "dtype"):
        if t.dtype is None:
            return Unknown("the element type is not known", span)
        return ScalarType(t.dtype)
    if name in ("shape", "stride", "layout", "leading_dim"):
        if isinstance(t.layout, Unknown):
            return t.layout
        if name == "layout":
            return t.layout
        if name == "leading_dim":
            layout = t.layout.b if isinstance(t.layout, ComposedLayout) else t.layout
            return leading_dim(layout.shape, layout.stride) if isinstance(layout, Layout) else None
        return m.dialect.from_model(getattr(alg, name)(t.layout))
    if name == "iterator":
        start = _iterator(m, t)
        m.recorder.points(t, start, span)
        if isinstance(start, Pointer):
            m.recorder.begun[start.buffer, start.offset, start.swizzle] = t
        return start
    if name not in ("memspace", "fill", "store", "load"):
        m.recorder.takes((t,))
    if name == "memspace":
        return EnumVal("AddressSpace", t.space, None)
    if name in ("fill", "store"):
        return Builtin(f"tensor_value.{name}", t)
    if name == "print":
        return Builtin("tensor_value.nothing", t)
    if name == "load":
        return Builtin("tensor_value.load", t)
    if name == "mark_layout_dynamic":
        return Builtin("scalar.same", t)
    added = patches.on_tensor(m, t, name)
    return added if added is not None else Extern(f"tensor.{name}", span)


def _iterator(m: Machine, t: TensorVal) -> Value:
    if t.pointer is None:
        return t.offset if isinstance(t.offset, Unknown) else m.dialect.from_model(_first_coordinate(t))
    if isinstance(t.offset, Unknown):
        return replace(t.pointer, offset=t.offset)
    at = t.offset if isinstance(t.pointer.offset, int) and t.pointer.offset == 0 else None
    if at is None:
        at = t.pointer.offset if isinstance(t.pointer.offset, Unknown) else t.pointer.offset + t.offset
    return replace(t.pointer, offset=at, align=t.pointer.align)


def _first_coordinate(t: TensorVal) -> IntTuple:
    """The coordinate that a tensor of coordinates starts at, with all its modes: those that were sliced away, too."""
    at = t.offset
    for layout in (t.layout, t.root):
        inner = layout.b if isinstance(layout, ComposedLayout) else layout
        for stride in leaves(inner.stride) if isinstance(inner, Layout) else ():
            if isinstance(stride, ScaledBasis):
                at = plus(at, ScaledBasis(0, stride.path))
    return as_arithmetic_tuple(at) if isinstance(at, ScaledBasis) else at


def _layout(m: Machine, base: Any, name: str, span: Span) -> Value:
    if isinstance(base, ComposedLayout):
        parts: dict[str, Value] = {"inner": base.a, "outer": base.b, "offset": base.offset, "is_normal": False}
        if name in parts:
            return parts[name]
    if name in ("shape", "stride"):
        return m.dialect.from_model(getattr(alg, name)(base))
    if name == "max_alignment":
        return _max_alignment(base)
    if name in ("get_hier_coord", "get_flat_coord"):
        return Builtin(f"layout.{name}", base)
    return Unknown(f"no attribute `{name}` is known of a layout", span)


def _max_alignment(base: Any) -> Value:
    """How many elements from any mode's start are known to be a multiple of: the extent beside a unit stride."""
    if isinstance(base, Layout) and not isinstance(base.stride, tuple) and base.stride == 1:
        return ex.divisor(as_expr(base.shape)) if isinstance(base.shape, (int, Dyn)) else 1
    return 1


def _pointer(m: Machine, p: Pointer, name: str, span: Span) -> Value:
    if name in ("dtype", "value_type", "element_type"):
        return p.type
    if name in ("alignment", "max_alignment"):
        known = pointer_alignment(p)
        return known if known is not None else Unknown("the alignment is not known", span)
    if name == "type":
        return Namespace({"swizzle_type": p.swizzle if isinstance(p.swizzle, Swizzle) else Swizzle(0, 4, 3)})
    if name == "memspace":
        return EnumVal("AddressSpace", p.space, None)
    if name in ("get_tensor", "data_ptr", "align", "toint", "recast", "iterator"):
        return Builtin(f"pointer.{name}", p) if name != "iterator" else p
    if name in ("ptr", "_base"):
        return p
    barriers.lost(m, [p], span)
    return Extern(f"pointer.{name}", span)


def _tiled(m: Machine, v: Any, name: str, span: Span) -> Value:
    obj = v.tiled if isinstance(v, Slice) else v
    if isinstance(v, Slice) and name == "thr_idx":
        return v.index
    if name in SLICE_METHODS or name in OBJECT_METHODS:
        return Builtin(f"tiled.{name}", v)
    atom = obj.atom if isinstance(obj, (TiledCopy, TiledMMA)) else obj
    try:
        found = _tiled_field(obj, atom, name)
    except (alg.CuteError, NotModelledError, IndexError, TypeError) as error:
        return Unknown(f"{name}: {error}", span)
    if found is not None:
        return m.dialect.from_model(found)
    return Extern(f"tiled.{name}", span)


def _tiled_field(obj: Any, atom: Any, name: str) -> Value:
    if isinstance(obj, TiledMMA):
        own: dict[str, Any] = {
            "size": lambda: obj.size, "thr_layout_vmnk": lambda: obj.thr_layout_vmnk,
            "permutation_mnk": lambda: _layouts(obj.permutation_mnk), "tv_layout_A_tiled": obj.get_layoutA_TV,
            "tv_layout_B_tiled": obj.get_layoutB_TV, "tv_layout_C_tiled": obj.get_layoutC_TV,
            "atom_layout_mnk": lambda: obj.atom_layout_mnk,
        }  # fmt: skip
        if name in own:
            return own[name]()
    if isinstance(obj, TiledCopy):
        own = {
            "size": lambda: obj.num_thr, "layout_tv_tiled": lambda: obj.layout_tv,
            "tiler_mn": lambda: _layouts(obj.tiler_mn),
            "layout_src_tv_tiled": obj.get_layoutS_TV, "layout_dst_tv_tiled": obj.get_layoutD_TV,
        }  # fmt: skip
        if name in own:
            return own[name]()
    if isinstance(atom, MMAAtom):
        table: dict[str, Value] = {
            "shape_mnk": atom.shape_mnk, "thr_id": atom.thr_id, "tv_layout_A": atom_tv(atom, atom.a_tv),
            "tv_layout_B": atom_tv(atom, atom.b_tv), "tv_layout_C": atom_tv(atom, atom.c_tv), "op": _op(atom),
        }  # fmt: skip
        return table.get(name)
    table = {
        "thr_id": atom.thr_id, "layout_src_tv": atom.val_layout_src, "layout_dst_tv": atom.val_layout_dst,
        "value_type": ScalarType(atom.value_type), "op": _op(atom),
    }  # fmt: skip
    return table.get(name)


def _layouts(tiler: Any) -> Any:
    """A tiler as the DSL gives it back: layouts, ``16:1`` for 16."""
    return tuple(Layout(x, 1) if type(x) is int else x for x in tiler) if isinstance(tiler, tuple) else tiler


def _op(atom: Any) -> Value:
    from cutecheck.source.eval.intrinsics.dsl_tiled import operation_of

    return operation_of(atom)
