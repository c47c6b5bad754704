"""Sites of the DSL: every call of a configuring or layout function, with what came out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Site, Span, Unknown
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.basis import ScaledBasis, Underscore
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.source.dsl import modules, vectors
from cutecheck.source.eval.intrinsics.dsl_ops import OpValue
from cutecheck.source.eval.intrinsics.dsl_show import ordered, show, without_arithmetic, without_quotients
from cutecheck.source.eval.record.kinds import has_open, site_kind
from cutecheck.source.eval.values import EnumVal, Extern, FuncSet, Object, ScalarType, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Entry

CALLS = frozenset({
    "make_layout", "make_ordered_layout", "make_composed_layout", "make_swizzle", "make_identity_layout",
    "make_layout_tv", "make_layout_image_mask", "recast_layout", "tile_to_shape", "composition", "cosize", "coalesce",
    "complement", "filter", "filter_zeros", "flat_divide", "group_modes", "local_tile", "logical_divide", "select",
    "tiled_divide", "zipped_divide", "logical_product", "zipped_product", "tiled_product", "flat_product",
    "raked_product", "blocked_product", "right_inverse", "left_inverse", "make_copy_atom", "make_mma_atom",
    "make_tiled_mma", "make_tiled_copy", "make_tiled_copy_tv", "make_tiled_copy_A", "make_tiled_copy_B",
    "make_tiled_copy_C", "make_tiled_copy_C_atom", "make_tiled_copy_S", "make_tiled_copy_D", "make_cotiled_copy",
    "make_smem_layout_atom", "local_partition", "make_tmem_copy", "make_s2t_copy",
    "get_s2t_smem_desc_tensor",
})  # fmt: skip
_MAX_VARIANTS = 200


def api_called(
    m: Machine, name: str, kind: str, args: list[Value], kwargs: dict[str, Value], value: Value, span: Span
) -> None:
    if name not in CALLS:
        return
    call = f"cute.nvgpu.{kind}.helpers.{name}" if kind else f"cute.{name}"
    if name in ("local_tile", "zipped_divide", "flat_divide", "logical_divide", "tiled_divide", "local_partition"):
        value = without_quotients(value)
    if name == "make_layout":
        value = without_arithmetic(value)
    if name == "make_layout_image_mask" and isinstance(value, int):  # an Int16 of the program
        value = Dyn.named("mask")
    if name == "make_ordered_layout":
        value = ordered(value, kwargs["order"] if "order" in kwargs else args[1])
    named(m, call, args, kwargs, value, None, span)


def helper_called(
    m: Machine, fn: FuncSet, entry: Entry, args: list[Value], kwargs: dict[str, Value], value: Value, span: Span
) -> None:
    """A helper of the package ``cutlass`` that was read as source and called from a scanned file."""
    scope = entry.env.namespace()
    if scope is None or not scope.name.startswith("cutlass."):
        return
    module = scope.name.removeprefix("cutlass.")
    if (module.startswith("utils.") and ("helpers" in module or "layout" in module)) or ".helpers" in module:
        named(m, f"{module}.{entry.decl.name}", args, kwargs, value, None, span)


def named(
    m: Machine, call: str, args: list[Value], kwargs: dict[str, Value], value: Value, shown: Any, span: Span
) -> None:
    """One result of one call; the same place may have several, one a driver or instantiation."""
    recorder = m.recorder
    if recorder.rehearsal or not m.dialect.library.scanned(span.path):  # type: ignore[attr-defined]
        return
    frame = recorder.frame
    symbol = frame.symbol if frame is not None else call
    bad = value if isinstance(value, (Unknown, Extern)) else None
    if isinstance(value, TensorVal) and isinstance(value.layout, Unknown):
        bad = value.layout
    refused: set[tuple[Any, ...]] = modules.state(m).setdefault("refused", set())
    if isinstance(value, Object) or vectors.type_of(value) is not None:
        return  # a helper that makes an object of its own, or computes numbers
    if bad is not None:
        reason = bad if isinstance(bad, Unknown) else Unknown(f"`{bad.what}` is not followed", span)
        key = (span.path, span.line, span.column, call, reason.reason)
        sure = _refused(m, reason)
        if key in recorder.sites or (not sure and any(k[:4] == key[:4] for k in recorder.sites)):
            return
        if sure:
            refused.add(key)
            if m.dialect.supposing is not None:
                m.dialect.supposing.refused.append(f"the DSL refuses this at {span.path}:{span.line}: {reason.reason}")
        status, result, held = ("unbound" if recorder.open else "unknown"), None, None
    else:
        reason = None
        result = shown if shown is not None else show(value)
        key = (span.path, span.line, span.column, call, json.dumps(result, sort_keys=True, default=str))
        if key in recorder.sites:
            return
        same = [k for k in recorder.sites if k[:4] == key[:4]]
        if len(same) >= _MAX_VARIANTS:
            return
        for k in same:
            if recorder.sites[k].status in ("unknown", "unbound") and k not in refused:
                del recorder.sites[k]
        status, held = ("symbolic" if has_open(value) else "resolved"), value
    kind = site_kind("", held) or kind_of(call)
    bindings = tuple((k, v) for k, v in frame.bindings) if frame is not None else ()
    ident = f"{span.path}:{span.line}:{span.column}:{call}:{m.arch}:{len(recorder.sites)}"
    config = held if site_kind("", held) is not None else None
    recorder.sites[key] = Site(
        ident, kind, symbol, span, span, bindings, m.arch, status, config, reason,  # type: ignore[arg-type]
        tuple(recorder.hypotheses), call, result, tuple(map(_argument, args)),
        tuple((k, _argument(a)) for k, a in kwargs.items()),
    )  # fmt: skip


def _refused(m: Machine, reason: Unknown) -> bool:
    """Whether one configuration of several is certainly tried, and refused: no ``try`` is there for it."""
    return reason.rejected and not m.recorder.open and m.attempts is None and not m.recorder.standing()[1]


def _argument(v: Value) -> object:
    """An argument as facts hold it: model values stay, the evaluator's own become what they print."""
    if isinstance(v, ScalarType):
        return v.dtype
    if isinstance(v, (tuple, list)):
        return tuple(map(_argument, v))
    if isinstance(v, (EnumVal, OpValue)) or (isinstance(v, TensorVal) and not isinstance(v.layout, Unknown)):
        return show(v)
    kept = (int, str, type(None), Dyn, Underscore, ScaledBasis, Swizzle, Layout, ComposedLayout, CopyAtom, MMAAtom,
            TiledCopy, TiledMMA)  # fmt: skip
    return v if isinstance(v, kept) else Unknown(f"a {type(v).__name__}")


def kind_of(call: str) -> Any:
    if "tiled_mma" in call:
        return "tiled_mma"
    if "mma_atom" in call:
        return "mma_atom"
    if "copy_atom" in call or "tma_atom" in call or call.endswith("_op"):
        return "copy_atom"
    if "tiled_copy" in call or "tmem_copy" in call:
        return "tiled_copy"
    return "smem_layout" if "smem" in call or "tile_to_shape" in call else "layout"
