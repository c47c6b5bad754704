"""What ``cutlass.utils.hopper_helpers`` chooses, for trees that are scanned without the DSL's package at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.algebra import dsl
from cutecheck.source.dsl.builtins import FUNCTIONS, Function
from cutecheck.source.eval.intrinsics import dsl_tiled, guarded
from cutecheck.source.eval.intrinsics.dsl_ops import make_op
from cutecheck.source.eval.intrinsics.registry import Call, Unsupported
from cutecheck.source.eval.values import EnumVal, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MODULE = "utils.hopper_helpers"
_SMEM = EnumVal("OperandSource", "SMEM", None)


def _helper(name: str, *params: str) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Register a helper under its parameters' names; what it cannot do is Unknown."""

    def register(f: Callable[..., Value]) -> Callable[..., Value]:
        def run(m: Machine, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
            from cutecheck.source.dsl import sites

            given = {**dict(zip(params, args, strict=False)), **{k: v for k, v in kwargs.items() if k in params}}
            bad = next((v for v in given.values() if isinstance(v, Unknown)), None)
            value = bad if bad is not None else guarded(m, name, span, lambda: f(m, span, **given))
            sites.named(m, f"{MODULE}.{name}", args, kwargs, value, None, span)
            return value

        FUNCTIONS[f"hopper.{name}"] = run
        return f

    return register


def known(name: str) -> Function | None:
    """A helper by the name the package exports it under."""
    return FUNCTIONS.get(f"hopper.{name.removeprefix('sm90_')}")


def _dtype(v: Value) -> Any:
    if not isinstance(v, ScalarType) or v.dtype.bits is None:
        raise Unsupported("the element type is not known")
    return v.dtype


@_helper(
    "make_trivial_tiled_mma", "a_dtype", "b_dtype", "a_leading_mode", "b_leading_mode", "acc_dtype",
    "atom_layout_mnk", "tiler_mn", "a_source",
)  # fmt: skip
def _trivial(
    m: Machine, span: Span, a_dtype: Value, b_dtype: Value, a_leading_mode: Value, b_leading_mode: Value,
    acc_dtype: Value, atom_layout_mnk: Value, tiler_mn: Value, a_source: Value = _SMEM,
) -> Value:  # fmt: skip
    a = _dtype(a_dtype)
    majors = [a_source, a_leading_mode, b_leading_mode]
    if a.bits == 16:
        op = make_op("warpgroup", "MmaF16BF16Op", [a_dtype, acc_dtype, (*tiler_mn, 16), *majors], {})
    else:
        name = "MmaI8Op" if "int" in a.name else "MmaF8Op"
        op = make_op("warpgroup", name, [a_dtype, b_dtype, acc_dtype, (*tiler_mn, 32), *majors], {})
    return dsl_tiled.make_tiled_mma_value(Call(m, "make_tiled_mma", (), [op, atom_layout_mnk], span))


@_helper("get_smem_layout_atom", "layout", "element_type", "major_mode_size")
def _atom_kind(m: Machine, span: Span, layout: Value, element_type: Value, major_mode_size: Value) -> Value:
    bits = int(_dtype(element_type).bits) * major_mode_size
    major = "K" if getattr(layout, "name", "") == "ROW_MAJOR" else "MN"
    width = next((w for w, row in (("SW128", 1024), ("SW64", 512), ("SW32", 256)) if bits % row == 0), "INTER")
    return EnumVal("SmemLayoutAtomKind", f"{major}_{width}", None)


def _staged(m: Machine, span: Span, layout: Value, dtype: Value, shape: Any, stages: Any, k_major: bool) -> Value:
    kind = _atom_kind(m, span, layout, dtype, shape[1] if k_major else shape[0])
    atom = dsl_tiled.smem_layout_atom(kind, dtype)
    return dsl.tile_to_shape(atom, (*shape, stages), (0, 1, 2) if k_major else (1, 0, 2))


def _is(layout: Value, name: str) -> bool:
    if not isinstance(layout, EnumVal):
        raise Unsupported("the major mode of this operand is not known")
    return layout.name == name


@_helper("make_smem_layout_a", "a_layout", "mma_tiler_mnk", "a_dtype", "num_stages")
def _smem_a(m: Machine, span: Span, a_layout: Value, mma_tiler_mnk: Any, a_dtype: Value, num_stages: Any) -> Value:
    shape = (mma_tiler_mnk[0], mma_tiler_mnk[2])
    return _staged(m, span, a_layout, a_dtype, shape, num_stages, _is(a_layout, "ROW_MAJOR"))


@_helper("make_smem_layout_b", "b_layout", "mma_tiler_mnk", "b_dtype", "num_stages")
def _smem_b(m: Machine, span: Span, b_layout: Value, mma_tiler_mnk: Any, b_dtype: Value, num_stages: Any) -> Value:
    shape = (mma_tiler_mnk[1], mma_tiler_mnk[2])
    return _staged(m, span, b_layout, b_dtype, shape, num_stages, _is(b_layout, "ROW_MAJOR"))


@_helper("make_smem_layout_epi", "epi_dtype", "epi_layout", "epi_tile", "epi_stage")
def _smem_epi(m: Machine, span: Span, epi_dtype: Value, epi_layout: Value, epi_tile: Any, epi_stage: Any) -> Value:
    return _staged(m, span, epi_layout, epi_dtype, tuple(epi_tile), epi_stage, not _is(epi_layout, "COL_MAJOR"))


@_helper("get_smem_store_op", "layout_d", "elem_ty_d", "elem_ty_acc")
def _store_op(m: Machine, span: Span, layout_d: Value, elem_ty_d: Value, elem_ty_acc: Value) -> Value:
    if _dtype(elem_ty_d).bits == 16:
        op = make_op("warp", "StMatrix8x8x16bOp", [_is(layout_d, "COL_MAJOR"), 4], {})
    else:
        op = make_op("", "CopyUniversalOp", [], {})
    return dsl_tiled.copy_atom_value(op, _dtype(elem_ty_d), 0)
