"""CUT101 bank-conflict-read."""

from __future__ import annotations

from cutecheck.rules.conflicts import BankConflicts


class BankConflictRead(BankConflicts):
    """Shared-memory reads of a copy take more wavefronts than they need.

    What it checks
        Every warp instruction with which a copy reads shared memory (loads of 4, 8 and 16 bytes a lane, ldmatrix in all
        its forms) takes one wavefront a phase: 32 lanes a phase up to 4 bytes, 16 lanes at 8 bytes, 8 lanes at 16
        bytes and for each matrix of ldmatrix. The addresses are those of the copy's own partition, for every warp,
        value and iteration.

    Why
        Lanes of one phase that touch different words of one bank are served one after the other. An ldmatrix over rows
        of 128 bytes takes eight times as long as it should; in a main loop that is the whole kernel's time.

    Example
        using SmemA = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        copy(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma), thr.partition_S(sA), ...);

    Use instead
        using SmemA = decltype(tile_to_shape(
            composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));

    Assumptions
        The access model was measured on sm_90 and is exact there; elsewhere the verdict says so. Variables other than
        the thread index are uniform in a warp. A predicated copy is refuted for the case that all lanes are active.

    Fix
        Swizzle the layout, or pad its rows by 16 bytes where the instruction allows it.

    References
        CUDA C++ Programming Guide, shared memory; PTX ISA, ldmatrix; cute/swizzle.hpp
    """

    code = "CUT101"
    name = "bank-conflict-read"
    family = "bank-conflict-read"
    cause = "read"
    way = "swizzle or pad"
    valid = (
        """
        using Elem = half_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _16>>;
        using SmemA = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{},
            Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
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
    invalid = (
        """
        using Elem = half_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _16>>;
        using SmemA = Layout<Shape<_64, _64>, Stride<_64, _1>>;
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
