"""CUT502 ldmatrix-wrong-major."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import Access, accesses
from cutecheck.rules.derive.alignment import splits, swizzle_splits
from cutecheck.rules.vectorization import report


class LdmatrixMajor(Rule):
    """ldmatrix or stmatrix on a tile whose contiguous mode is not the one its rows run along.

    What it checks
        Each lane of ldmatrix and stmatrix addresses a row of 16 contiguous bytes. The ``_N`` forms need that row along
        K, the transposing ``_T`` forms along M or N, and those exist for 16-bit elements (8-bit ones from sm_100 on).

    Why
        A tile that is contiguous along the other mode has its 16 bytes scattered; the code does not compile. For 32-bit
        elements there is no transposing form at all.

    Example
        using SmemA = Layout<Shape<_128, _32>>;  // M contiguous, tfloat32_t
        make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, tfloat32_t>{}, mma)

    Use instead
        using SmemA = decltype(composition(Swizzle<2, 3, 4>{}, Layout<Shape<_128, _32>>{}));
        make_tiled_copy_A(Copy_Atom<UniversalCopy<uint32_t>, tfloat32_t>{}, mma)

    Assumptions
        None.

    Fix
        Use the other form of the instruction where the element type has one, stage the tile with the other mode
        contiguous, or read it with plain loads.

    References
        PTX ISA, ldmatrix; https://github.com/NVIDIA/cutlass/issues/2116
    """

    code = "CUT502"
    name = "ldmatrix-wrong-major"
    family = "ldmatrix"
    severity = "error"
    confidence = "proved"
    unasked = "None: which mode is contiguous is read from the layout."
    valid = (
        """
        using Elem = tfloat32_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _8>>;
        using SmemA = decltype(composition(Swizzle<2, 3, 4>{}, Layout<Shape<_128, _32>>{}));
        using S2RA = decltype(make_tiled_copy_A(Copy_Atom<UniversalCopy<uint32_t>, Elem>{}, Mma{}));
        __global__ void feed_a() {
          __shared__ alignas(128) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          Tensor rA = mma.get_slice(threadIdx.x).partition_fragment_A(sA);
          S2RA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(sA), t.retile_D(rA));
        }
        """,
    )
    invalid = (
        """
        using Elem = tfloat32_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _8>>;
        using SmemA = Layout<Shape<_128, _32>>;
        using S2RA = decltype(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, Elem>{}, Mma{}));
        __global__ void feed_a() {
          __shared__ alignas(128) Elem smem[cosize_v<SmemA>];
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          Mma mma;
          Tensor rA = mma.get_slice(threadIdx.x).partition_fragment_A(sA);
          S2RA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(sA), t.retile_D(rA));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for access in accesses(event):
            matrix = access.instruction.kind in ("ldmatrix", "stmatrix")
            if matrix and splits(access) and not swizzle_splits(access):
                yield report(self, access, _advice(access))


def _advice(access: Access) -> str:
    if access.element_bits == 16:
        other = "_N" if access.instruction.transposed else "_T"
        return f"use the {other} form of the instruction, or stage the tile with the other mode contiguous"
    return (
        f"there is no transposing {access.instruction.kind} for {access.element_bits}-bit elements: stage the tile "
        "with the other mode contiguous, or read it with plain loads"
    )
