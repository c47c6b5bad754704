"""CUT220 accumulator-not-set."""

from __future__ import annotations

from cutecheck.rules.replayed import Replayed

_EXAMPLE = """
        using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_16, _8>>{},
            Layout<Shape<_1, _1>>{}));
        using Tile = Layout<Shape<_16, _8>>;
        __global__ void __launch_bounds__(128) product(float const* A, float const* B, float* C, int tiles) {
          __shared__ float a[128], b[128];
          Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_16{}, _8{}, tiles)));
          Tensor gB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(_16{}, _8{}, tiles)));
          Tensor sA = make_tensor(make_smem_ptr(a), Tile{});
          Tensor sB = make_tensor(make_smem_ptr(b), Tile{});
          Mma mma;
          auto thr = mma.get_slice(threadIdx.x);
          auto load = Load{}.get_slice(threadIdx.x);
          Tensor acc = partition_fragment_C(mma, Shape<_16, _16>{});
          %s
          for (int k = 0; k < tiles; ++k) {
            copy(Load{}, load.partition_S(gA(_, _, k)), load.partition_D(sA));
            copy(Load{}, load.partition_S(gB(_, _, k)), load.partition_D(sB));
            __syncthreads();
            gemm(mma, thr.partition_A(sA), thr.partition_B(sB), acc);
            __syncthreads();
          }
          copy(acc, thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _16>>{})));
        }
        void run(float const* A, float const* B, float* C, int tiles) { product<<<1, 128>>>(A, B, C, tiles); }
        """


class AccumulatorNotSet(Replayed):
    """A product is added to accumulators that nothing has set.

    What it checks
        Of kernels that read in a loop what they fill in a loop, as far as they can be run pass by pass: before the
        first product is added to a fragment in registers, something cleared it, filled it, or stored to it; and no
        WGMMA or UMMA sets accumulators (``ScaleOut::Zero``) that hold a sum which nothing has used. No UMMA adds to a
        sum in tensor memory that other warps have copied, in kernels that store nothing there. Of persistent kernels
        that are run by role: accumulators in registers that are used tile by tile are set anew for each tile; what a
        statement computes of them and puts back (``acc *= scale``) does not.

    Why
        A fragment is an array without initial values, and the MMA adds to what is there. Registers are often zero in a
        first run, so that tests pass.

    Example
        Tensor acc = partition_fragment_C(mma, Shape<_128, _128>{});
        gemm(mma, rA, rB, acc);

    Use instead
        Tensor acc = partition_fragment_C(mma, Shape<_128, _128>{});
        clear(acc);
        gemm(mma, rA, rB, acc);

    Assumptions
        A loop or function that is not followed may have set them. WGMMA and UMMA add unless the variable that the
        product is called with was told not to (``accumulate_``), where that is followed.

    Fix
        ``clear`` the accumulators before the main loop.

    References
        cute/atom/mma_atom.hpp (make_fragment_C)
    """

    kinds = ("unset", "replaced", "kept", "carried")
    code = "CUT220"
    name = "accumulator-not-set"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it runs the kernel's steps in their order."
    arch = ("sm_80",)
    valid = (_EXAMPLE % "clear(acc);",)
    invalid = (_EXAMPLE % "",)
