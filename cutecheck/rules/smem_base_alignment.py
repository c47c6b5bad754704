"""CUT404 smem-base-misaligned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Swizzle, SwizzleUnit
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.launches import in_dynamic
from cutecheck.rules.derive.starts import LEAST, is_array, stages, weight
from cutecheck.rules.gmma_layout import descriptor_operand


class SmemBaseAlignment(Rule):
    """A shared array that WGMMA reads through a swizzled descriptor is aligned to less than the swizzle's period.

    What it checks
        A statically declared shared array whose tile a WGMMA descriptor addresses is aligned to the period of its
        swizzle: 1024 bytes for 128-byte swizzles, 512 for 64, 256 for 32, and 128 without one. Members of a struct in
        dynamic shared memory, tiles at an offset, and the stages of a tile start at multiples of it. For a tile that
        TMA alone fills, as far as the copies are known (where none into it was come to, those into the same member
        in other kernels), at a multiple of 128 bytes, a note: CUTLASS's own Hopper GEMMs place their tiles so. What
        copies by TMA descriptors load or store alone starts at a multiple of 128 bytes.

    Why
        The hardware applies the swizzle to the address bits. Code that fills the tile through CuTe uses the same bits
        of the real address; the descriptor assumes that the tile starts a period. With ``alignas(16)`` it works or
        gives wrong results depending on what the linker places before the array.

    Example
        __shared__ alignas(16) half_t smem[cosize_v<SmemA>];   // SmemA tiles GMMA::Layout_K_SW128_Atom

    Use instead
        __shared__ alignas(1024) half_t smem[cosize_v<SmemA>];

    Assumptions
        Dynamic shared memory itself is taken to start at a multiple of 1024 bytes, where launches place it in practice.

    Fix
        Write ``alignas`` with the period.

    References
        PTX ISA, wgmma matrix descriptors (base offset), cp.async.bulk.tensor (address in shared memory);
        cute/arch/mma_sm90_desc.hpp
    """

    code = "CUT404"
    name = "smem-base-misaligned"
    family = "alignment"
    severity = "warning"
    confidence = "proved"
    valid = (
        """
        using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
        __global__ void __launch_bounds__(128) operand() {
          __shared__ alignas(1024) half_t smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          auto t = mma.get_slice(threadIdx.x);
          Tensor descriptors = t.make_fragment_A(t.partition_A(sA));
        }
        """,
    )
    invalid = (
        """
        using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
        using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
        __global__ void __launch_bounds__(128) operand() {
          __shared__ alignas(128) half_t smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          auto t = mma.get_slice(threadIdx.x);
          Tensor descriptors = t.make_fragment_A(t.partition_A(sA));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        stated = descriptor_operand(call)
        if stated is None:
            return
        tensor, layout, _, _ = stated
        swizzle = layout.a if isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) else None
        need = max(LEAST, LEAST << swizzle.bits) if swizzle and swizzle.unit is SwizzleUnit.BYTE else LEAST
        what = f"the descriptor of its tile ({swizzle or 'no swizzle'}) needs {need}"
        yield from self._array(call, tensor, need, what, "descriptor made here", context)
        yield from self._start(call, tensor, swizzle, need, context)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        atom = atom_of(event.tiled) if event.kind == "copy" else None
        if atom is None or "_TMA_" not in atom.op:
            return
        for tensor in (t for t in event.operands if t.space == "smem"):
            if (tensor.buffer, event.arch) in _multiplied(context):
                continue  # of which its other descriptor needs as much
            what = f"a copy by a TMA descriptor needs {LEAST}"
            yield from self._array(event, tensor, LEAST, what, "copied here", context)

    def _array(
        self, at: Call | Event, tensor: TensorFact, need: int, needs: str, label: str, context: Context
    ) -> Iterable[Finding]:
        """The declared alignment of the array, or where the member of a struct starts, that the tile lies in."""
        buffer = next((b for b in context.index.buffers.get((tensor.buffer or "", at.arch), []) if is_array(b)), None)
        if buffer is None:
            return
        aligned = buffer.alignment_bytes
        assert aligned is not None
        name = f"`{buffer.name}`" if buffer.name else f"the array of `{tensor.name}`"
        if in_dynamic(buffer, context.facts):
            start = None if buffer.start_bytes is None else known_value(buffer.start_bytes)
            if start is None:
                return
            condition = Condition(Rel.DIVIDES, ex.const(need), as_expr(start))
            what = f"{name} starts {start} bytes into its struct"
        else:
            start = known_value(aligned)
            condition = Condition(Rel.DIVIDES, ex.const(need), as_expr(aligned))
            what = f"{name} is aligned to {start} bytes"
        outcome = context.prove(
            make_obligation(Holds((condition,), "alignment of the shared array"), (buffer.buffer_id,),
                            arch=at.arch, span=buffer.span)
        )  # fmt: skip
        if outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                buffer.span,
                f"{what}, {needs}",
                label=f"alignas({need}) needed",
                help=f"declare it alignas({need})",
                severity=weight(start, tensor, at, context) if isinstance(at, Call) else None,
                related=[Related(at.span, label)],
                enclosing=at.enclosing,
                arch=at.arch,
            )

    def _start(
        self, call: Call, tensor: TensorFact, swizzle: Swizzle | None, need: int, context: Context
    ) -> Iterable[Finding]:
        """Where the tile, and each of its stages, starts in the array."""
        if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)) or tensor.dtype is None or not tensor.dtype.bits:
            return
        bits = int(tensor.dtype.bits)
        period = need * 8 // bits
        steps = [("starts", known_value(tensor.offset)), *(("has stages", s) for s in stages(tensor.root_layout))]
        for what, step in steps:
            if step is None:
                continue
            condition = Condition(Rel.DIVIDES, ex.const(period), as_expr(step))
            outcome = context.prove(
                make_obligation(Holds((condition,), "start of the shared tile"), arch=call.arch, span=call.span)
            )
            if outcome.verdict is Verdict.REFUTED:
                size = step * bits // 8
                where = "into its array" if what == "starts" else "apart"
                yield self.finding(
                    call.span,
                    f"the tile of `{tensor.name}` {what} {size} bytes {where}, its descriptor "
                    f"({swizzle or 'no swizzle'}) needs a multiple of {need}",
                    label=f"{size} % {need} = {size % need}",
                    help=f"round what lies before it up to {need} bytes",
                    severity=weight(size, tensor, call, context),
                    related=[Related(tensor.span, f"part of {tensor.root_layout or tensor.layout}")],
                    enclosing=call.enclosing,
                    arch=call.arch,
                )
                return


def _multiplied(context: Context) -> frozenset[tuple[str | None, str]]:
    """Arrays with the tile of some WGMMA's descriptor."""
    if "of_descriptors" not in context.memo:
        stated = ((call, descriptor_operand(call)) for call in context.facts.calls)
        context.memo["of_descriptors"] = frozenset((s[0].buffer, call.arch) for call, s in stated if s is not None)
    return cast("frozenset[tuple[str | None, str]]", context.memo["of_descriptors"])
