"""CUT802 tma-stride-misaligned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model import expr as ex
from cutecheck.model.ints import Condition, Int, Rel, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.contracts import contract_of
from cutecheck.model.prove.properties import Holds
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.model.units import bits_to_bytes
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.contracts import open_variables, prove_or_contract, too_weak
from cutecheck.rules.derive.vectors import leaves
from cutecheck.rules.tma_box import tensor_map_of

_MAX_BOX = 256
_STRIDE_BYTES = 16


class TmaGlobalStride(Rule):
    """A TMA descriptor over a global tensor whose strides are not multiples of 16 bytes.

    What it checks
        Every stride of the global tensor given to ``make_tma_copy`` and ``make_tma_atom``, but that of its contiguous
        mode, is a multiple of 16 bytes and below 2^40 bytes. Where the code itself asks a run-time stride to be a
        multiple, that must be enough.

    Why
        ``cuTensorMapEncodeTiled`` refuses the descriptor at run time; CuTe and the compiler say nothing. A row of 500
        bfloat16 is 1000 bytes.

    Example
        make_tma_copy(SM90_TMA_LOAD{}, make_tensor(p, make_shape(m, Int<500>{}), make_stride(Int<500>{}, _1{})), s)

    Use instead
        make_tma_copy(SM90_TMA_LOAD{}, make_tensor(p, make_shape(m, Int<500>{}), make_stride(Int<504>{}, _1{})), s)

    Assumptions
        A run-time stride that the source says nothing of is taken to be right, and the obligation names the contract.

    Fix
        Pad the leading dimension to a multiple of 16 bytes.

    References
        CUDA driver API, cuTensorMapEncodeTiled; https://github.com/deepseek-ai/DeepGEMM/issues/96
    """

    code = "CUT802"
    name = "tma-stride-misaligned"
    family = "tma-limits"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Elem = bfloat16_t;
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_64, _64>{}));
        inline auto make_load(Elem const* A, int m) {
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, Int<500>{}), make_stride(Int<504>{}, _1{}));
          return make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{});
        }
        static constexpr int kRowBytes = 504 * sizeof(Elem);
        void instantiate() { (void)make_load(nullptr, 128); }
        """,
    )
    invalid = (
        """
        using Elem = bfloat16_t;
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_64, _64>{}));
        inline auto make_load(Elem const* A, int m) {
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, Int<500>{}), make_stride(Int<500>{}, _1{}));
          return make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{});
        }
        static constexpr int kRowBytes = 500 * sizeof(Elem);
        void instantiate() { (void)make_load(nullptr, 128); }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        if not call.function.startswith(("make_tma_copy", "make_tma_atom")):
            return
        tensor = next((a for a in call.arguments if isinstance(a, TensorFact)), None)
        strides = _strides_bytes(tensor, tensor_map_of(call.result))
        if call.unevaluated:  # a type has the static ones alone
            strides = [s for s in strides if known_value(s) is not None]
        if tensor is None or not strides or _empty(tensor):
            return
        limit = ex.const(1 << 40)
        conditions = [Condition(Rel.DIVIDES, ex.const(_STRIDE_BYTES), as_expr(s)) for s in strides]
        bounded = [Condition(Rel.LT, as_expr(s), limit) for s in strides if known_value(s) is not None]
        obligation = make_obligation(
            Holds((*conditions, *bounded), "TMA strides"),
            hypotheses=[h.condition for h in call.hypotheses],
            arch=call.arch,
            span=call.span,
        )
        bits = tensor.dtype.bits if tensor.dtype is not None else None
        divisor = _STRIDE_BYTES * 8 // int(bits) if bits else 1
        outcome = prove_or_contract(obligation, open_variables(*strides), divisor, context)
        weak = too_weak(call.hypotheses, outcome)
        if weak is not None:
            yield self.finding(
                call.span,
                f"global tensor `{tensor.name}`: the source says `{weak}` only, and a tensor map needs strides of "
                "whole 16 bytes: cuTensorMapEncodeTiled refuses others at run time",
                label=f"layout {tensor.layout}",
                help=f"state and check `{contract_of(outcome)}`",
                severity="warning",
                related=[Related(tensor.span, f"{bits}-bit elements")],
                enclosing=call.enclosing,
                arch=call.arch,
            )
        if outcome.verdict is Verdict.REFUTED:
            known = [v for s in strides if (v := known_value(s)) is not None]
            bad = [v for v in known if v % _STRIDE_BYTES or v >= 1 << 40]
            if not bad:
                open_ = [s for s in strides if known_value(s) is None and _rest(s) % _STRIDE_BYTES]
                if open_:
                    names = ", ".join(v.name for v in open_variables(open_[0]))
                    yield self.finding(
                        call.span,
                        f"global tensor `{tensor.name}`: a stride of `{open_[0]}` bytes is no multiple of 16 where "
                        f"`{names}` is a multiple of {divisor}: cuTensorMapEncodeTiled refuses it at run time",
                        label=f"layout {tensor.layout}",
                        help="pad the leading dimension to a multiple of 16 bytes",
                        witness=outcome.witness,
                        related=[Related(tensor.span, f"layout {tensor.layout}")],
                        enclosing=call.enclosing,
                        arch=call.arch,
                    )
                return
            if _no_unit(tensor):
                yield self.finding(
                    call.span,
                    f"global tensor `{tensor.name}` has no mode of stride 1, and a tensor map needs one: "
                    "cuTensorMapEncodeTiled refuses it at run time",
                    label=f"layout {tensor.layout}",
                    help="give the mode that is contiguous in memory the stride `_1{}`",
                    enclosing=call.enclosing,
                    arch=call.arch,
                )
                return
            yield self.finding(
                call.span,
                f"global tensor `{tensor.name}`: a stride of {bad[0]} bytes is not a multiple of 16, "
                "cuTensorMapEncodeTiled refuses it at run time",
                label=f"{bad[0]} % 16 = {bad[0] % _STRIDE_BYTES}",
                help="pad the leading dimension to a multiple of 16 bytes",
                witness=outcome.witness,
                related=[Related(tensor.span, f"layout {tensor.layout}")],
                enclosing=call.enclosing,
                arch=call.arch,
            )


def _rest(stride: Int) -> int:
    """What a stride has besides its run-time terms."""
    expression = as_expr(stride)
    try:
        return expression.evaluate(dict.fromkeys((v.name for v in expression.variables()), 0))
    except (KeyError, ZeroDivisionError, ValueError):
        return 0


def _empty(tensor: TensorFact) -> bool:
    """A tensor of no elements stands for its type: only what is made of the real one is encoded."""
    layout = tensor.layout
    modes = leaves(layout.shape, layout.stride) if isinstance(layout, Layout) else None
    return any(known_value(extent) == 0 for extent, _ in modes or ())


def _strides_bytes(tensor: TensorFact | None, made: TensorMap | None) -> list[Int]:
    """Strides in bytes of all modes but the one of stride 1; empty when not known.

    Those of the tensor map, where it is known: its modes may join several of the tensor's.
    """
    if made is not None and None not in (*made.gmem_shape, *made.gmem_stride_bytes):
        first = known_value(cast("Int", made.gmem_stride_bytes[0]))
        if first is None or int(first) * 8 != int(made.internal_bits):
            return _own_strides(tensor)  # no mode of stride 1
        mapped = list(zip(made.gmem_shape, made.gmem_stride_bytes, strict=True))[1:]
        known = [(cast("Int", e), cast("Int", s)) for e, s in mapped]
        return [s for e, s in known if known_value(e) != 1 and known_value(s) != 0]
    return _own_strides(tensor)


def _own_strides(tensor: TensorFact | None) -> list[Int]:
    """Those of the tensor's own modes; empty where a tensor map joins some of them."""
    if tensor is None or isinstance(tensor.layout, Unknown) or not isinstance(tensor.layout, Layout):
        return []
    if tensor.dtype is None or not tensor.dtype.bits or int(tensor.dtype.bits) % 8:
        return []
    modes = leaves(tensor.layout.shape, tensor.layout.stride)
    if modes is None or any(_joined(e, d, s) for e, d in modes for _, s in modes):
        return []
    size = int(bits_to_bytes(tensor.dtype.bits))
    return [s * size for e, s in modes or () if known_value(s) not in (0, 1) and known_value(e) != 1]


def _no_unit(tensor: TensorFact) -> bool:
    """Every stride is a number, and none is 1."""
    if isinstance(tensor.layout, Unknown) or not isinstance(tensor.layout, Layout):
        return False
    strides = [known_value(s) for _, s in leaves(tensor.layout.shape, tensor.layout.stride) or ()]
    return bool(strides) and None not in strides and 1 not in strides


def _joined(extent: Int, stride: Int, next_stride: Int) -> bool:
    """Two small modes that are contiguous together: a tile that spans the first makes them one mode of the map."""
    known = [known_value(x) for x in (extent, stride, next_stride)]
    return None not in known and known[0] <= _MAX_BOX and known[0] * known[1] == known[2]  # type: ignore[operator]
