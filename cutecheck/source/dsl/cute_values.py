"""CuTe's values in Python: attributes, methods, indexing, operators, and how arguments reach the device."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model import expr as ex
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, NotModelledError, as_expr
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag, Swizzle, SwizzleUnit
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import Bits, bytes_to_hold
from cutecheck.source.dsl import storage
from cutecheck.source.dsl.values import (
    NONE,
    Builtin,
    BuiltinType,
    HostCute,
    HostTensor,
    Module,
    Namespace,
    OpValue,
    TmaAtom,
    TmaInfo,
)
from cutecheck.source.eval.intrinsics.dsl_layouts import leading_dim
from cutecheck.source.eval.intrinsics.dsl_show import pointer_alignment
from cutecheck.source.eval.intrinsics.registry import METHODS, Call
from cutecheck.source.eval.values import (
    EnumVal,
    Extern,
    Object,
    Pointer,
    Scalar,
    ScalarType,
    Slice,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_INTEGERS = (
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
_ALGEBRA = frozenset({"Shape", "Stride", "Coord", "Tile", "IntTuple"})
SPREAD = Builtin("spread")  # stands for the unknown items of ``*x`` in an index
_SLICE_METHODS = frozenset({
    "partition_S", "partition_D", "partition_A", "partition_B", "partition_C", "retile", "make_fragment_A",
    "make_fragment_B", "make_fragment_C", "partition_shape_A", "partition_shape_B", "partition_shape_C", "get_slice",
})  # fmt: skip


def to_device(t: ScalarType, v: Value) -> Value:
    """``Int32(v)``: a number of the device."""
    if isinstance(v, (Unknown, Extern)):
        return v
    if t.dtype.name in _INTEGERS:
        if isinstance(v, bool):
            return Dyn.of(int(v))
        if isinstance(v, int):
            return Dyn.of(v)
        if isinstance(v, Dyn):
            return v
        return Scalar(None, t.dtype.name)
    return Scalar(None, t.dtype.name)


def run_time(m: Machine, name: str, wide: bool = False) -> Dyn:
    made = m.fresh(name)
    return Dyn.named(str(made.expr) + ":i64") if wide else made


def hull(m: Machine, a: Any, b: Any, what: str) -> Dyn:
    """A run-time number that may be either."""
    (al, ah), (bl, bh) = ex.bounds(as_expr(a)), ex.bounds(as_expr(b))
    lo = None if al is None or bl is None else min(al, bl)
    hi = None if ah is None or bh is None else max(ah, bh)
    step = math.gcd(ex.divisor(as_expr(a)), ex.divisor(as_expr(b))) or 1
    return m.fresh(what.strip("`"), Domain(lo, hi, step))


def to_parameter(m: Machine, v: Value, kind: str, convert: bool, name: str) -> Value:
    """An argument as the device function sees it; ``convert``: it comes from the host or crosses into a kernel."""
    if isinstance(v, HostTensor):
        from cutecheck.source.dsl.torch import as_dynamic

        v = as_dynamic(m, v)
    if isinstance(v, HostCute):
        return tensor_of(m, v, name)
    if not convert or kind == "constexpr":
        return v
    if kind in _ALGEBRA and isinstance(v, (int, tuple, list)):
        return _varying(m, v, name)  # what is an integer of Python stays one
    if isinstance(v, bool):
        return Scalar(None, "bool")
    if isinstance(v, (int, Dyn)):
        return m.fresh(name) if isinstance(v, int) or v.expr.constant is not None else v
    if isinstance(v, float):
        return Scalar(None, "float")
    if isinstance(v, tuple):
        return tuple(to_parameter(m, x, kind, convert, f"{name}.{i}") for i, x in enumerate(v))
    if isinstance(v, list):
        return [to_parameter(m, x, kind, convert, f"{name}.{i}") for i, x in enumerate(v)]
    plain = isinstance(v, Object) and (v.cls.memo.get("namedtuple") or v.cls.memo.get("dataclass"))
    if plain and any(isinstance(x, (HostTensor, HostCute)) for x in v.fields.values()):
        made = Object(v.cls)
        for key, x in v.fields.items():
            inner = isinstance(x, (HostTensor, HostCute))
            made.fields[key] = to_parameter(m, x, kind, convert, key) if inner else x
        return made
    return v


def _varying(m: Machine, v: Value, name: str) -> Value:
    """A tuple whose device integers, whatever value the host gave them, vary from call to call."""
    if isinstance(v, (tuple, list)):
        return type(v)(_varying(m, x, f"{name}.{i}") for i, x in enumerate(v))
    return m.fresh(name) if isinstance(v, Dyn) and v.expr.constant is not None else v


def tensor_of(m: Machine, t: HostCute, name: str) -> TensorVal | Unknown:
    """A host tensor as a view of global memory."""
    for x in (*t.shape, *t.stride):
        if not isinstance(x, (int, Dyn, tuple)):
            return x if isinstance(x, Unknown) else Unknown("a shape that is not known")
    if not isinstance(t.dtype, ScalarType):
        return t.dtype if isinstance(t.dtype, Unknown) else Unknown("an element type that is not known")
    layout = Layout(tuple(t.shape), tuple(t.stride))
    pointer = Pointer(name, "gmem", t.dtype, 0, t.align)
    return TensorVal(layout, pointer, "gmem", t.dtype.dtype, 0, "view", name=name)


# -------------------------------------------------------------------- attributes


def attribute(m: Machine, base: Value, name: str, span: Span) -> Value | None:
    if isinstance(base, TensorVal):
        found = _tensor(m, base, name, span)
        return NONE if found is None else found
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
        field = base.get(name, Extern(f"{base.name}.{name}", span))
        return NONE if field is None else field
    if isinstance(base, Swizzle):
        found = {"num_bits": base.bits, "num_base": base.base, "num_shift": base.shift}.get(name)
        return found if found is not None else Extern(f"swizzle.{name}", span)
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
    "TmemAllocMode", "Arch", "ProxyKind", "TmemLoadRedOp",
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

    integer = d.name in _INTEGERS or d.name == "bool"
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
        if t.pointer is None:
            return t
        if isinstance(t.offset, Unknown):
            return replace(t.pointer, offset=t.offset)
        at = t.offset if isinstance(t.pointer.offset, int) and t.pointer.offset == 0 else None
        if at is None:
            at = t.pointer.offset if isinstance(t.pointer.offset, Unknown) else t.pointer.offset + t.offset
        return replace(t.pointer, offset=at, align=t.pointer.align)
    if name == "memspace":
        return EnumVal("AddressSpace", t.space, None)
    if name in ("fill", "store", "print"):
        return Builtin("tensor_value.nothing", t)
    if name == "load":
        return Builtin("tensor_value.load", t)
    if name == "mark_layout_dynamic":
        return Builtin("scalar.same", t)
    return Extern(f"tensor.{name}", span)


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
    return Extern(f"pointer.{name}", span)


def _tiled(m: Machine, v: Any, name: str, span: Span) -> Value:
    obj = v.tiled if isinstance(v, Slice) else v
    if isinstance(v, Slice) and name == "thr_idx":
        return v.index
    if name in _SLICE_METHODS or name in ("get_tile_size", "set", "with_"):
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
            "permutation_mnk": lambda: obj.permutation_mnk, "tv_layout_A_tiled": obj.get_layoutA_TV,
            "tv_layout_B_tiled": obj.get_layoutB_TV, "tv_layout_C_tiled": obj.get_layoutC_TV,
            "atom_layout_mnk": lambda: obj.atom_layout_mnk,
        }  # fmt: skip
        if name in own:
            return own[name]()
    if isinstance(obj, TiledCopy):
        own = {
            "size": lambda: obj.num_thr, "layout_tv_tiled": lambda: obj.layout_tv, "tiler_mn": lambda: obj.tiler_mn,
            "layout_src_tv_tiled": obj.get_layoutS_TV, "layout_dst_tv_tiled": obj.get_layoutD_TV,
        }  # fmt: skip
        if name in own:
            return own[name]()
    if isinstance(atom, MMAAtom):
        table: dict[str, Value] = {
            "shape_mnk": atom.shape_mnk, "thr_id": atom.thr_id, "tv_layout_A": atom.a_tv, "tv_layout_B": atom.b_tv,
            "tv_layout_C": atom.c_tv, "op": _op(atom),
        }  # fmt: skip
        return table.get(name)
    table = {
        "thr_id": atom.thr_id, "layout_src_tv": atom.val_layout_src, "layout_dst_tv": atom.val_layout_dst,
        "value_type": ScalarType(atom.value_type), "op": _op(atom),
    }  # fmt: skip
    return table.get(name)


def _op(atom: Any) -> Value:
    from cutecheck.source.eval.intrinsics.dsl_tiled import operation_of

    return operation_of(atom)


def set_attribute(m: Machine, base: Value, name: str, value: Value) -> None:
    if isinstance(base, HostCute) and name == "element_type":
        if isinstance(base.dtype, ScalarType) and isinstance(value, ScalarType):
            pass
        base.dtype = value


# -------------------------------------------------------------------- calls, indices, operators


def call(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value | None:
    if isinstance(fn, (Layout, ComposedLayout)) and args:
        from cutecheck.source.eval.intrinsics import guarded
        from cutecheck.source.eval.intrinsics.layouts import call_layout

        return m.dialect.from_model(
            guarded(m, "layout", span, lambda: call_layout(fn, [m.dialect.to_model(a) for a in args]))
        )
    if isinstance(fn, Module):
        return Unknown(f"a call of module `{fn.name}`", span)
    return None


def tiled_method(m: Machine, owner: Value, name: str, args: list[Value], span: Span) -> Value:
    """``tiled.get_slice``, partitions, fragments and retiles: the evaluator's own methods."""
    from cutecheck.source.eval.intrinsics import guarded, kind_of

    if name in ("set", "with_"):
        return owner
    for a in args:
        if isinstance(a, Unknown) and name != "get_slice":
            return a
    obj = owner.tiled if isinstance(owner, Slice) else owner
    if name == "get_slice":
        index = args[0] if args else Unknown("no thread index", span)
        return Slice(obj, _index_number(m, index))
    if name == "get_tile_size" and isinstance(obj, TiledMMA):
        return obj.tile_size(args[0])
    if name == "retile" and isinstance(obj, MMAAtom):
        return Unknown("retile of an MMA", span)
    if args and isinstance(args[0], Extern):
        return Unknown(f"{name} of `{args[0].what}`", span)
    part = m.dialect.to_model(args[0]) if args else None
    if name.startswith("make_fragment") and isinstance(part, (tuple, int)):
        from cutecheck.source.eval.intrinsics.dsl_layouts import number

        shape = number(Call(m, name, (), [part], span), part)
        part = alg.make_layout(shape)
    if name.startswith("make_fragment") and isinstance(part, TensorVal):
        part = byte_swizzled(part)
    run = METHODS.get((kind_of(owner), name)) or METHODS.get((kind_of(obj), name))
    if name.startswith("partition_shape"):
        owner = obj
    if run is None:
        return Unknown(f"`{name}` is not modelled here", span)
    c = Call(m, name, (), [owner, part, *[m.dialect.to_model(a) for a in args[1:]]], span, {}, [owner, *args])
    value = guarded(m, name, span, lambda: run(c))
    if name.startswith("make_fragment") and isinstance(part, TensorVal):
        m.recorder.called(m, Call(m, name, (), [obj, part], span), value)
    return m.dialect.from_model(value)


def byte_swizzled(t: TensorVal) -> TensorVal:
    """A tensor whose pointer's swizzle is written as C++ does: on bytes, around an unset shared-memory pointer."""
    if t.pointer is None or not isinstance(t.pointer.swizzle, Swizzle) or not isinstance(t.layout, Layout):
        return t
    if t.dtype is None or t.dtype.bits is None or t.pointer.swizzle.bits == 0:
        return t
    sw = t.pointer.swizzle
    swizzle = Swizzle(sw.bits, sw.base, sw.shift, SwizzleUnit.BYTE)
    layout = ComposedLayout(swizzle, SmemPtrFlag(t.dtype.bits), t.layout)
    return replace(t, layout=layout, pointer=replace(t.pointer, swizzle=None))


def _index_number(m: Machine, v: Value) -> Value:
    if isinstance(v, (Scalar, Extern)):
        return m.fresh("thread")
    return v


def index(m: Machine, base: Value, key: Value, span: Span) -> Value | None:
    if isinstance(base, TensorVal):
        from cutecheck.source.eval.intrinsics import guarded
        from cutecheck.source.eval.intrinsics.dsl_layouts import number
        from cutecheck.source.eval.intrinsics.tensors import sliced

        if isinstance(key, Unknown):
            return key
        if isinstance(base.layout, Unknown):
            return base.layout
        c = Call(m, "tensor", (), [], span)
        if isinstance(key, tuple) and SPREAD in key:
            missing = alg.rank(base.layout) - len(key) + 1
            at = key.index(SPREAD)
            key = (*key[:at], *(m.fresh("coordinate") for _ in range(missing)), *key[at + 1 :])

        def run() -> Value:
            coord = number(c, m.dialect.to_model(key))
            if isinstance(coord, TensorVal):
                return Scalar(None, "vector")
            if isinstance(coord, tuple) and not alg.has_underscore(coord) and base.pointer is not None:
                return Scalar(None, base.dtype.name if base.dtype is not None else "value")
            return sliced(c, base, coord)

        return m.dialect.from_model(guarded(m, "tensor index", span, run))
    if isinstance(base, TmaInfo) and key in (0, 1):
        return base.tma_tensor if key else base.atom
    if isinstance(base, HostTensor):
        from cutecheck.source.dsl.torch import index as host_index

        return host_index(base, key, span)
    if isinstance(base, (Layout, ComposedLayout)):
        if isinstance(key, int):
            from cutecheck.source.eval.intrinsics import guarded

            return guarded(m, "layout index", span, lambda: alg.get(base, key))
        return Unknown("an index of a layout", span)
    if isinstance(base, BuiltinType) and base.name in ("MemRange", "Align"):
        return storage.typed(m, base, key, span)
    if isinstance(base, BuiltinType) and base.name in ENUMERATIONS and isinstance(key, str):
        return EnumVal(base.name, key, None)
    if isinstance(base, Scalar):
        return Scalar(None, base.ctype)
    if isinstance(base, Pointer):
        return Scalar(None, base.type.dtype.name) if isinstance(base.type, ScalarType) else Extern("element", span)
    return None


def stored(m: Machine, t: TensorVal, key: Value, value: Value, span: Span) -> None:
    """``t[key] = value``: registers are written; shared memory outside of copies makes its accesses incomplete."""
    if t.space == "smem":
        m.recorder.escape(m, [t], span)


def operator(m: Machine, op: str, left: Value, right: Value, span: Span) -> Value | None:
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return left if isinstance(left, Unknown) else right
    if isinstance(left, EnumVal) and isinstance(right, EnumVal) and left.enum == right.enum == "Arch":
        a, b = arch_number(left.name), arch_number(right.name)
        order = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
        return order.get(op)
    if isinstance(left, Pointer) and op in ("+", "-"):
        from cutecheck.source.eval.intrinsics import advance

        return advance(m, left, _index_number(m, right), span)
    if isinstance(left, HostTensor) or isinstance(right, HostTensor):
        return left if isinstance(left, HostTensor) else right
    if isinstance(left, TensorVal) or isinstance(right, TensorVal):
        t = left if isinstance(left, TensorVal) else right
        return Scalar(None, t.dtype.name if t.dtype is not None else "value")
    if isinstance(left, ScaledBasis) or isinstance(right, ScaledBasis):
        from cutecheck.model import inttuple as it
        from cutecheck.source.eval.intrinsics import guarded

        if op in ("+", "*"):
            f = it.plus if op == "+" else it.times
            return guarded(m, f"operator {op}", span, lambda: f(left, right))
    if isinstance(left, (Scalar, Extern)) and isinstance(right, (Scalar, Extern)):
        return Scalar(None, "bool") if op in ("<", "<=", ">", ">=") else None
    return None
