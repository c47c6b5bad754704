"""CUT308 element-wrong-format."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model.dtype import DType
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import side_instruction

# Floating-point formats of one width that no instruction tells apart: the same bits are another number in each. Plain
# integers hold any bits, and tfloat32_t is float with fewer of them.
_FORMATS = {
    "half_t": "half", "half": "half", "__half": "half",
    "bfloat16_t": "bfloat16", "nv_bfloat16": "bfloat16", "__nv_bfloat16": "bfloat16",
    "float_e4m3_t": "e4m3", "fp8_e4m3": "e4m3", "float_e5m2_t": "e5m2", "fp8_e5m2": "e5m2",
}  # fmt: skip
_WIDTHS = {"half": 16, "bfloat16": 16, "e4m3": 8, "e5m2": 8}

_EXAMPLE = """
        using Mma = decltype(make_tiled_mma(SM80_16x8x16_%s_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{}));
        using Smem = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_32, _64>, Stride<_64, _1>>{}));
        __global__ void __launch_bounds__(128) product(float* C) {
          __shared__ alignas(128) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
          Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
          Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
          Mma mma;
          auto thr = mma.get_slice(threadIdx.x);
          Tensor rA = thr.partition_fragment_A(sA), rB = thr.partition_fragment_B(sB);
          Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
          clear(acc);
          auto ldA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
          auto ldB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
          copy(ldA, ldA.get_slice(threadIdx.x).partition_S(sA), ldA.get_slice(threadIdx.x).retile_D(rA));
          copy(ldB, ldB.get_slice(threadIdx.x).partition_S(sB), ldB.get_slice(threadIdx.x).retile_D(rB));
          gemm(mma, rA, rB, acc);
          C[threadIdx.x] = acc(0);
        }
        """


class ElementFormat(Rule):
    """The bits of one floating-point format are taken for numbers of another of the same width.

    What it checks
        Copies through an atom of fixed width, and products of register fragments: no element is a half_t on one side
        and a bfloat16_t on the other, or a float_e4m3_t and a float_e5m2_t.

    Why
        An atom moves registers: what the two tensors hold is never compared, nor what a fragment holds with what the
        MMA multiplies. A fragment that a TiledMMA makes has the MMA's types, so an MMA for bfloat16_t over tiles of
        half_t compiles, and 1.0 is multiplied as 0.0078.

    Example
        make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN{})   // tiles of half_t, read by ldmatrix

    Use instead
        make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{})

    Assumptions
        Integers of the width, and tfloat32_t for float, are meant as the bits that they hold.

    Fix
        Take the MMA for the elements, or convert them; ``recast`` the tensor where the bits are meant.

    References
        cute/atom/copy_traits.hpp (copy_unpack), cute/atom/mma_traits.hpp (mma_unpack)
    """

    code = "CUT308"
    name = "element-wrong-format"
    family = "atom-count"
    severity = "error"
    confidence = "proved"
    unasked = "None: it compares the names of element types."
    valid = (_EXAMPLE % "F32F16F16F32",)
    invalid = (_EXAMPLE % "F32BF16BF16F32",)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        found = _product(event) if event.kind == "gemm" else _copy(event)
        if found is not None:
            tensor, here, there, message = found
            yield self.finding(
                event.span,
                message,
                label=f"{here} taken for {there}",
                help=f"convert the elements, or use an instruction for {here}",
                related=[Related(tensor.span, f"elements of {tensor.dtype.name if tensor.dtype else here}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )


_Mixed = tuple[TensorFact, str, str, str]


def _copy(event: Event) -> _Mixed | None:
    used = [side_instruction(event, "src"), side_instruction(event, "dst")]
    if len(event.operands) < 2 or not any(used) or any(u is not None and u.automatic for u in used):
        return None  # CuTe converts, element by element, what it chooses the width of
    source, destination = event.operands[:2]
    if not differ(source.dtype, destination.dtype):
        return None
    here, there = _format(source.dtype), _format(destination.dtype)
    return (
        source,
        here,
        there,
        (
            f"`{source.name}` has elements of {here}, `{destination.name}` of {there}: the copy moves the bits as they "
            "are, which are other numbers there"
        ),
    )


def _product(event: Event) -> _Mixed | None:
    atom = event.tiled.atom if isinstance(event.tiled, TiledMMA) else event.tiled
    types = getattr(atom, "val_types", None)
    if types is None or len(event.operands) < 3:
        return None
    places = event.operands[-3:-1]
    for tensor, wanted, operand in zip(places, types, "AB", strict=False):
        if tensor.space == "rmem" and differ(tensor.dtype, wanted):
            here, there = _format(tensor.dtype), _format(wanted)
            return (
                tensor,
                here,
                there,
                (
                    f"`{tensor.name}` has elements of {here}, the MMA takes operand {operand} for {there}: it "
                    "multiplies the bits as they are, which are other numbers there"
                ),
            )
    return None


def differ(a: DType | None, b: DType | None) -> bool:
    """Two formats of one width."""
    here, there = _format(a), _format(b)
    return bool(here and there) and here != there and _WIDTHS[here] == _WIDTHS[there]


def _format(element: DType | None) -> str:
    return _FORMATS.get(element.name, "") if element is not None else ""
