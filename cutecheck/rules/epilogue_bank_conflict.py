"""CUT103 epilogue-bank-conflict."""

from __future__ import annotations

from cutecheck.rules.conflicts import BankConflicts


class EpilogueBankConflict(BankConflicts):
    """Accumulators are stored to shared memory with bank conflicts.

    What it checks
        The stores of a copy whose source is an accumulator fragment (retiled or partitioned by an MMA) and whose
        destination is shared memory take one wavefront a phase.

    Why
        The threads of an m16n8 fragment own eight rows. Rows that are a multiple of 128 bytes apart share their banks,
        so each store of a plain row-major tile takes eight wavefronts.

    Example
        using SmemC = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        auto store = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, mma);
        copy(store, thr.retile_S(acc), thr.partition_D(sC));

    Use instead
        using SmemC = decltype(tile_to_shape(
            composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));

    Assumptions
        As for bank-conflict-read.

    Fix
        Swizzle the epilogue's layout; the copy that reads it back must use the same one.

    References
        PTX ISA, matrix fragments of mma.m16n8k16; cute/swizzle.hpp
    """

    code = "CUT103"
    name = "epilogue-bank-conflict"
    family = "epilogue"
    cause = "epilogue"
    way = "swizzle"
    valid = (
        """
        using Elem = half_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F16F16F16F16_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _16>>;
        using SmemC = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{},
            Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
        using R2S = decltype(make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, Elem>{}, Mma{}));
        __global__ void acc_to_smem() {
          __shared__ alignas(128) Elem smem[64 * 144];
          Tensor sC = make_tensor(make_smem_ptr(smem), SmemC{});
          Mma mma;
          Tensor acc = make_tensor<Elem>(partition_shape_C(mma, shape(SmemC{})));
          clear(acc);
          R2S cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.retile_S(acc), t.partition_D(sC));
        }
        """,
    )
    invalid = (
        """
        using Elem = half_t;
        using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F16F16F16F16_TN>, Layout<Shape<_2, _2, _1>>,
            Tile<_32, _32, _16>>;
        using SmemC = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        using R2S = decltype(make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, Elem>{}, Mma{}));
        __global__ void acc_to_smem() {
          __shared__ alignas(128) Elem smem[64 * 144];
          Tensor sC = make_tensor(make_smem_ptr(smem), SmemC{});
          Mma mma;
          Tensor acc = make_tensor<Elem>(partition_shape_C(mma, shape(SmemC{})));
          clear(acc);
          R2S cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.retile_S(acc), t.partition_D(sC));
        }
        """,
    )
