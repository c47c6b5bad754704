"""CUT102 bank-conflict-write."""

from __future__ import annotations

from cutecheck.rules.conflicts import BankConflicts


class BankConflictWrite(BankConflicts):
    """Shared-memory writes of a copy take more wavefronts than they need.

    What it checks
        Every warp instruction with which a copy writes shared memory (stores of 4, 8 and 16 bytes a lane, stmatrix,
        cp.async.ca) takes one wavefront a phase. Same model and same addresses as bank-conflict-read. Stores of
        accumulators are reported by epilogue-bank-conflict.

    Why
        A staging copy whose consecutive threads walk the mode that is far apart in shared memory hits one bank again
        and again: a 128x8 float tile stored along K takes eight wavefronts instead of one.

    Example
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<128>>>;
        make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _8>, Stride<_8, _1>>{}, ...)

    Use instead
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;

    Assumptions
        As for bank-conflict-read. cp.async.ca does not merge equal addresses, but nothing is said of them under a
        predicate of which a part is not known: it may select one of the lanes. cp.async.cg follows another model and is
        not reported here.

    Fix
        Pad the slow mode's stride, swizzle the layout, or let consecutive threads walk the contiguous mode.

    References
        CUDA C++ Programming Guide, shared memory; PTX ISA, stmatrix and cp.async
    """

    code = "CUT102"
    name = "bank-conflict-write"
    family = "bank-conflict-write"
    cause = "write"
    way = "pad or swizzle"
    valid = (
        """
        using Elem = float;
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;
        using G2SA = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<Elem>, Elem>{},
            Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void stage_a(Elem const* A, int lda) {
          __shared__ Elem smem[cosize_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_128{}, _8{}), make_stride(lda, _1{}));
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          G2SA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(gA), t.partition_D(sA));
        }
        """,
    )
    invalid = (
        """
        using Elem = float;
        using SmemA = Layout<Shape<_128, _8>, Stride<_1, Int<128>>>;
        using G2SA = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<Elem>, Elem>{},
            Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void stage_a(Elem const* A, int lda) {
          __shared__ Elem smem[cosize_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_128{}, _8{}), make_stride(lda, _1{}));
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          G2SA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(gA), t.partition_D(sA));
        }
        """,
    )
