"""Values as the DSL prints them: element types, operations, atoms, tiled objects, tensors."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model.algebra import CuteError, dsl
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain, Expr, Var
from cutecheck.model.ints import Dyn, NotModelledError, Sym, UndecidedError
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.notation_dsl import show_dsl
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.units import bytes_to_hold
from cutecheck.source.eval.intrinsics import warps
from cutecheck.source.eval.intrinsics.dsl_ops import UTCCP, OpValue
from cutecheck.source.eval.values import EnumVal, Extern, Pointer, Scalar, ScalarType, Slice, TensorVal

# CUTLASS name: (the DSL's name, the compiler's)
NAMES: dict[str, tuple[str, str]] = {
    "half_t": ("Float16", "f16"), "bfloat16_t": ("BFloat16", "bf16"), "float": ("Float32", "f32"),
    "double": ("Float64", "f64"), "tfloat32_t": ("TFloat32", "tf32"), "float_e4m3_t": ("Float8E4M3FN", "f8E4M3FN"),
    "float_e5m2_t": ("Float8E5M2", "f8E5M2"), "float_ue8m0_t": ("Float8E8M0FNU", "f8E8M0FNU"),
    "float_ue4m3_t": ("Float8E4M3", "f8E4M3"), "float_e2m1_t": ("Float4E2M1FN", "f4E2M1FN"),
    "float_e2m3_t": ("Float6E2M3FN", "f6E2M3FN"), "float_e3m2_t": ("Float6E3M2FN", "f6E3M2FN"),
    "int8_t": ("Int8", "i8"), "int16_t": ("Int16", "i16"), "int32_t": ("Int32", "i32"), "int64_t": ("Int64", "i64"),
    "uint8_t": ("Uint8", "i8"), "uint16_t": ("Uint16", "i16"), "uint32_t": ("Uint32", "i32"),
    "uint64_t": ("Uint64", "i64"), "bool": ("Boolean", "i8"), "int4b_t": ("Int4", "i4"), "uint4b_t": ("Uint4", "i4"),
    "uint128_t": ("Uint128", "i128"), "Int128": ("Int128", "i128"),
}  # fmt: skip
_HARDWARE = ("threadIdx.", "blockIdx.", "blockDim.", "gridDim.", "cluster", warps.RANK)
_SPACES = {"gmem": "gmem", "smem": "smem", "rmem": "rmem", "tmem": "tmem", "unknown": "generic"}


def without_quotients(v: Any) -> Any:
    """A layout as the DSL's compiler types it: the extent of a rounded quotient carries no divisor."""
    if isinstance(v, TensorVal):
        if isinstance(v.layout, Unknown):
            return v
        return replace(v, layout=without_quotients(v.layout))
    if isinstance(v, ComposedLayout):
        return replace(v, b=without_quotients(v.b))
    if isinstance(v, Layout):
        return Layout(_forget(v.shape), v.stride)
    return v


def without_arithmetic(v: Any) -> Any:
    """A layout of numbers that the program computed: extents, strides and what `assume` gave carry their divisors
    through sums and products (`ceil_div` keeps none), numbers of the program's own types (`Int32`, `blockIdx.x`) have
    none."""
    if isinstance(v, Layout):
        return Layout(_computed(v.shape), _computed(v.stride))
    return v


def _computed(shape: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(_computed(s) for s in shape)
    if not isinstance(shape, Dyn) or _carries(shape.expr):
        return shape
    terms = shape.expr.terms
    if len(terms) == 1 and terms[0][1] == 1:  # by a number without a divisor: that of the others
        typed = [a for a in terms[0][0] if isinstance(a, Var) and _is_typed(a)]
        made = math.prod(a.domain.divisor() for a in typed)
        if made > 1:
            return Dyn.named("product:i64" if _is_wide(shape) else "product", Domain(step=made))
    return _forget(shape)


def _carries(e: Expr) -> bool:
    """Whether all numbers of an expression are such ones."""
    return all(isinstance(a, Var) and _is_typed(a) for m, _ in e.terms for a in m)


def ordered(v: Any, order: Any) -> Any:
    """An ordered layout: its strides are computed inside the call, from extents without the divisors of arithmetic."""
    if isinstance(v, Layout) and _forget(v.shape) != v.shape:
        return dsl.make_ordered_layout(_forget(v.shape), order)
    return v


def _forget(shape: Any) -> Any:
    if isinstance(shape, tuple):
        return tuple(_forget(s) for s in shape)
    if isinstance(shape, Dyn) and not _is_variable(shape):
        return Dyn.named("quotient:i64" if _is_wide(shape) else "quotient")
    return shape


def _is_wide(v: Dyn) -> bool:
    return any(x.name.endswith(":i64") for x in v.expr.variables())


def _is_variable(v: Dyn) -> bool:
    """A number whose type says what divides it (of a tensor, or by ``assume``); what a loop adds up has none."""
    terms = v.expr.terms
    if not (len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1 and isinstance(terms[0][0][0], Var)):
        return False
    return _is_typed(terms[0][0][0])


def _is_typed(v: Var) -> bool:
    return v.name.startswith("assumed") or not ("#" in v.name or "~" in v.name or v.name.startswith(_HARDWARE))


def type_name(d: DType | None) -> str:
    return "?" if d is None else NAMES.get(d.name, (d.name, d.name))[0]


def compiler_type(d: DType | None) -> str:
    return "?" if d is None else NAMES.get(d.name, (d.name, d.name))[1]


def op_json(op: OpValue) -> dict[str, Any]:
    return {"kind": op.name, **{k: show(v) for k, v in sorted(op.fields)}}


def _compact(shape: Any) -> str:
    return "x".join(map(str, shape)) if isinstance(shape, tuple) else str(shape)


def copy_type(op: OpValue, dtype: DType, bits: int) -> str:
    """The compiler's type of a copy atom."""
    t = compiler_type(dtype)
    width = f", {bits} b" if bits else ""
    if op.name == "CopyUniversalOp":
        return f"!cute_nvgpu.atom.universal_copy<{t}{width}>"
    if op.name == "CopyG2SOp":
        cache = str(getattr(op.get("cache_mode"), "name", "ALWAYS")).lower()
        return f"!cute_nvgpu.atom.simt_async_copy<{t}, cache = {cache}{width}>"
    if op.name in ("CopyBulkG2SOp", "CopyBulkS2GOp"):
        return f"!cute_nvgpu.atom.bulk_copy_{op.name[8:11].lower()}<{t}>"
    n = op.get("num_matrices")
    order = "t" if op.get("transpose") else "n"
    if op.name == "LdMatrix8x8x16bOp":
        return f'!cute_nvgpu.atom.ldsm<val_type = {t}, mode = <"(8,8)">, sz_pattern = u16, num_matrices = {n}, {order}>'
    if op.name in ("LdMatrix8x16x8bOp", "LdMatrix16x16x8bOp"):
        unpacked = {4: "u4x16p64to8", 6: "u6x16p32to8"}.get(op.get("unpack_bits"))
        tall = op.name == "LdMatrix16x16x8bOp"
        mode = "(16,16)" if tall else "(8,16)" if unpacked else "(8,8)"
        pattern = unpacked or ("u8" if tall else "u16")
        size = f'mode = <"{mode}">, sz_pattern = {pattern}'
        return f"!cute_nvgpu.atom.ldsm<val_type = {t}, {size}, num_matrices = {n}, {order}>"
    if op.name == "StMatrix16x8x8bOp":
        return f'!cute_nvgpu.atom.stsm<{t}, mode = <"(16,8)">, num_matrices = {n}, {order}>'
    if op.name == "StMatrix8x8x16bOp":
        return f'!cute_nvgpu.atom.stsm<{t}, mode = <"(8,8)">, num_matrices = {n}, {order}>'
    if op.name in UTCCP:
        ctas = 2 if getattr(op.get("cta_group"), "name", "") == "TWO" else 1
        last = ", x4" if op.name == "Cp4x32x128bOp" else f", lw_{op.name[-6:-2]}" if "x64x" in op.name else ""
        return f"!cute_nvgpu.atom.s2t_copy<{t}, {UTCCP[op.name][1]}, {ctas} cta{last}>"
    if op.module == "tcgen05":
        verb = "tmem_load" if op.name.startswith("Ld") else "tmem_store"
        rows, _, width = op.name[2:-2].removeprefix("Red").partition("x")
        more = [getattr(op.get("repeat"), "name", "x1")]
        if op.name.startswith("LdRed"):
            verb = "tmem_load_red"
            more += [str(getattr(op.get("redOp"), "name", "MAX")).lower(), *(["nan"] if op.get("nan") else ())]
            more += [f"half_split_off={op.get('half_split_off')} : i32"] if "x2" in width else ()
        elif getattr(op.get("pack", op.get("unpack")), "name", "NONE") != "NONE":
            more.append("pack16b" if verb == "tmem_load" else "expand16b")
        return f"!cute_nvgpu.atom.{verb}<{t}, {rows} DP, {width.partition('b')[0]} bit, {', '.join(more)}>"
    return f"!cute_nvgpu.atom.{op.name}<{t}>"


def mma_type(op: OpValue) -> str:
    """The compiler's type of an MMA atom."""

    def t(name: str) -> str:
        v = op.get(name)
        return compiler_type(v.dtype) if isinstance(v, ScalarType) else "?"

    shape = _compact(op.get("shape_mnk"))
    if op.name == "MmaUniversalOp":
        return f"!cute_nvgpu.atom.universal_fma<1x1x1, ({t('abacc_dtype')}, {t('abacc_dtype')}) -> {t('abacc_dtype')} >"
    if op.module == "warp" and "MX" in op.name:
        a, b = (t("ab_dtype"), t("ab_dtype")) if op.get("a_dtype") is None else (t("a_dtype"), t("b_dtype"))
        shape = "16x8x32" if op.get("shape_mnk") is None else shape
        return (
            f"!cute_nvgpu.SM120.mma_bs<{shape}, vec_size = {op.get('sf_vec_size', 32)}, elem_type = ({a}, {b}, "
            f"{t('acc_dtype')}), sf_type = {t('sf_type')}, use_sf_layout_TV = false>"
        )
    if op.module == "warp":
        a = t("ab_dtype")
        sm = "sm89" if op.name == "MmaFP8Op" else "sm80"
        return f"!cute_nvgpu.{sm}.mma<{shape}, elem_type = ({a}, {a}, {t('acc_dtype')}) >"
    majors = ", ".join(str(getattr(op.get(f"{x}_major_mode"), "name", "?")).lower() for x in "ab")
    kind = {"RMEM": "rs", "TMEM": "ts"}.get(getattr(op.get("a_src"), "name", ""), "ss")
    types = f"({t('a_dtype')}, {t('b_dtype')}, {t('acc_dtype')})"
    if op.module == "tcgen05":
        ctas = 2 if getattr(op.get("cta_group"), "name", "") == "TWO" else 1
        if op.get("sf_dtype") is not None:
            newer = ", arch_promote = sm_103" if op.name.startswith("SM103") else ""
            return (
                f"!cute_nvgpu.sm100.mma_bs<{shape}, num_cta = {ctas}, ab_major = ({majors}), elem_type = {types}, "
                f"sf_type = {t('sf_dtype')}, frag_kind = {kind}, vec_size = {op.get('sf_vec_size')}{newer}>"
            )
        if "Sparse" in op.name:
            format_ = str(getattr(op.get("sparse_metadata_format"), "name", "?")).lower()
            return (
                f"!cute_nvgpu.sm100.mma_sp<{shape}, num_cta = {ctas}, ab_major = ({majors}), elem_type = {types}, "
                f"e_type = ui8, sparse_metadata_format = {format_}, frag_kind = {kind}, c_scale_exp = 0>"
            )
        if op.name == "MmaI8Op":
            types = types.replace("i8", "ui8" if "Uint" in show(op.get("a_dtype")) else "si8").replace("i32", "si32")
        return (
            f"!cute_nvgpu.sm100.mma<{shape}, num_cta = {ctas}, ab_major = ({majors}), elem_type = {types}, "
            f"frag_kind = {kind}, c_scale_exp = 0>"
        )
    return f"!cute_nvgpu.sm90.mma<{shape}, ab_major = ({majors}), elem_type = {types}, frag_kind = {kind}>"


def tile_mode(v: Any) -> Any:
    """A mode of a tiler: ``64`` prints ``64:1``, ``1`` prints ``1:0``; an omitted one is None."""
    if isinstance(v, Underscore) or v is None:
        return None
    return f"{v}:{int(v != 1)}" if isinstance(v, int) else show_dsl(v)


def show(v: Any) -> Any:
    """A value as JSON, the way the recorded tables have it."""
    if v is None or isinstance(v, (bool, str, float)):
        return v
    if isinstance(v, Underscore):
        return None
    if isinstance(v, int):
        return v
    if isinstance(v, Dyn):
        text = show_dsl(v)
        return "?" if text.startswith("?{i64}") else text
    if isinstance(v, (Layout, ComposedLayout, Swizzle)):
        return show_dsl(v)
    if isinstance(v, (tuple, list)):
        return (
            "(" + ", ".join(map(str, v)) + ("," if len(v) == 1 else "") + ")" if _numbers(v) else [show(x) for x in v]
        )
    if isinstance(v, ScalarType):
        return type_name(v.dtype)
    if isinstance(v, EnumVal):
        return f"{v.enum}.{v.name}"
    if isinstance(v, OpValue):
        return op_json(v)
    if isinstance(v, ScaledBasis):
        return show_dsl(v)
    if isinstance(v, TensorVal):
        return tensor_json(v)
    if isinstance(v, CopyAtom):
        return _copy_atom(v)
    if isinstance(v, MMAAtom):
        return _mma_atom(v)
    if isinstance(v, TiledCopy):
        return _tiled_copy(v)
    if isinstance(v, TiledMMA):
        return _tiled_mma(v)
    if isinstance(v, Slice):
        return show(v.tiled)
    if isinstance(v, (Scalar, Sym)):
        return "?"
    if isinstance(v, (Unknown, Extern)):
        return None
    return str(v)


def _numbers(v: Any) -> bool:
    return bool(v) and all(isinstance(x, int) and not isinstance(x, bool) for x in v)


def _extra(atom: Any) -> tuple[Any, str]:
    found = dict(atom.extra)
    return json.loads(found.get("dsl op", "null")), found.get("dsl type", "")


def chosen_by_compiler(atom: CopyAtom) -> bool:
    """Whether the compiler chooses the width of this copy: ``CopyUniversalOp`` without ``num_bits_per_copy``."""
    type_ = dict(atom.extra).get("dsl type", "")
    return type_.startswith("!cute_nvgpu.atom.universal_copy") and " b>" not in type_


def _atom_layout(atom: CopyAtom, layout: Layout, type_: str) -> str:
    # the compiler's automatic width has no value mode yet
    if chosen_by_compiler(atom) or (type_.startswith("!cute_nvgpu.atom.bulk_copy") and " b>" not in type_):
        return "(1,1):(0,0)"
    return show_dsl(layout)


def _copy_atom(a: CopyAtom) -> dict[str, Any]:
    op, type_ = _extra(a)
    return {
        "kind": "CopyAtom", "op": op, "type": type_, "thr_id": _thread_id(a.thr_id),
        "value_type": type_name(a.value_type).replace("Uint", "Int"),  # the compiler's integers have no sign
        "layout_src_tv": _atom_layout(a, a.val_layout_src, type_),
        "layout_dst_tv": _atom_layout(a, a.val_layout_dst, type_),
    }  # fmt: skip


def _thread_id(layout: Layout) -> str:
    return show_dsl(layout)


def _mma_atom(a: MMAAtom) -> dict[str, Any]:
    op, type_ = _extra(a)
    return {
        "kind": "MmaAtom", "op": op, "type": type_, "thr_id": _thread_id(a.thr_id), "shape_mnk": show(a.shape_mnk),
        "tv_layout_A": _tv(a, a.a_tv), "tv_layout_B": _tv(a, a.b_tv), "tv_layout_C": _tv(a, a.c_tv),
    }  # fmt: skip


def atom_tv(a: MMAAtom, layout: Layout) -> Layout:
    """As the DSL has it: the one CTA of a tensor-memory MMA keeps the stride that a second would have."""
    if (
        a.op.removeprefix("SM103::").startswith(("SM100", "SM103"))
        and isinstance(layout.shape, tuple)
        and layout.shape[0] == 1
    ):
        values = layout.shape[1]
        rows = values[0] if isinstance(values, tuple) else values
        return Layout(layout.shape, (rows, *layout.stride[1:]))  # type: ignore[index]
    return layout


def _tv(a: MMAAtom, layout: Layout) -> str:
    return show_dsl(atom_tv(a, layout))


def _tiled_copy(t: TiledCopy) -> dict[str, Any]:
    out = _copy_atom(t.atom)
    tiler = t.tiler_mn if isinstance(t.tiler_mn, tuple) else (t.tiler_mn,)
    modes = [tile_mode(m) for m in tiler]
    tv = show_dsl(t.layout_tv)
    tile = ";".join(map(str, modes))
    out.update(
        kind="TiledCopy", size=t.num_thr, layout_tv_tiled=tv, tiler_mn=modes,
        type=f'!cute.tiled_copy<{out["type"]}, layout_copy_tv = <"{tv}">, tiler_mn = <"[{tile}]">>',
    )  # fmt: skip
    for key, get in (("layout_src_tv_tiled", t.get_layoutS_TV), ("layout_dst_tv_tiled", t.get_layoutD_TV)):
        try:
            out[key] = show_dsl(get())
        except (CuteError, NotModelledError, UndecidedError):
            out[key] = None
    return out


def _tiled_mma(t: TiledMMA) -> dict[str, Any]:
    out = _mma_atom(t.atom)
    modes = [tile_mode(m) for m in t.permutation_mnk]
    layout = show_dsl(t.atom_layout_mnk)
    shown = ";".join("_" if m is None else m for m in modes)
    out.update(
        kind="TiledMma", size=t.size, thr_layout_vmnk=show_dsl(t.thr_layout_vmnk), permutation_mnk=modes,
        type=f'!cute.tiled_mma<{out["type"]}, atom_layout_MNK = <"{layout}">, permutation_MNK = <"[{shown}]">>',
    )  # fmt: skip
    for key, get in (
        ("tv_layout_A_tiled", t.get_layoutA_TV),
        ("tv_layout_B_tiled", t.get_layoutB_TV),
        ("tv_layout_C_tiled", t.get_layoutC_TV),
    ):
        try:
            out[key] = show_dsl(get())
        except (CuteError, NotModelledError, UndecidedError):
            out[key] = None
    return out


def alignment(t: TensorVal) -> int | None:
    """What is known of the address of a tensor's first element, in bytes."""
    p = t.pointer
    if p is not None and p.align is None and t.space == "rmem":
        p = replace(p, align=32)  # what the compiler gives registers
    if p is None or t.dtype is None or t.dtype.bits is None:
        return None
    return _aligned(p.align, (t.offset, p.offset), t.dtype.bits)


def pointer_alignment(p: Pointer) -> int | None:
    """What is known of the address of a pointer, in bytes; None for an element type of unknown width."""
    bits = p.type.dtype.bits if isinstance(p.type, ScalarType) else None
    return None if bits is None else _aligned(p.align, (p.offset,), bits)


def _aligned(known: int | None, offsets: tuple[Any, ...], bits: int) -> int | None:
    from cutecheck.model import expr as ex
    from cutecheck.model.ints import as_expr

    for offset in offsets:
        if known is None or isinstance(offset, (Unknown, tuple)):
            return None
        if isinstance(offset, int) and offset == 0:
            continue
        step = ex.divisor(as_expr(offset)) * int(bits)
        lowest = step & -step
        known = min(known, max(1, lowest // 8))
    return known


def tensor_json(t: TensorVal) -> dict[str, Any]:
    if isinstance(t.layout, Unknown):
        return {"kind": "Tensor", "layout": None}
    layout = show_dsl(t.layout)
    if t.pointer is None:
        return {"kind": "Tensor", "type": f'!cute.coord_tensor<"{show_dsl(t.offset)}", "{layout}">'}
    if t.space == "smem" and t.dtype is not None and t.dtype.name == "uint128_t":
        return {"kind": "Tensor", "type": f'!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, "{layout}">'}
    align = alignment(t)
    parts = [compiler_type(t.dtype), _SPACES.get(t.space, t.space)]
    if align is not None and align != (int(bytes_to_hold(t.dtype.bits)) if t.dtype is not None and t.dtype.bits else 1):
        parts.append(f"align<{align}>")
    if isinstance(t.pointer.swizzle, Swizzle) and t.pointer.swizzle.bits:
        parts.append(show_dsl(t.pointer.swizzle))
    parts.append(f'"{layout}"')
    return {
        "kind": "Tensor", "layout": layout, "dtype": type_name(t.dtype), "memspace": _SPACES.get(t.space, t.space),
        "type": f"!cute.memref<{', '.join(parts)}>",
    }  # fmt: skip


def pointer_json(p: Pointer) -> str:
    return f"!cute.ptr<{p.space}>"
