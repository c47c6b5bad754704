"""CUT301 atom-too-few-values."""

from __future__ import annotations

import re

from cutecheck.rules.rejected import Rejected


class AtomValueCount(Rejected):
    """A tiled copy gives its atom fewer values than one instruction moves.

    What it checks
        The values of each thread of a TiledCopy are a whole number of what the atom moves at once: its bits divided by
        the element's bits, or the values of a matrix instruction.

    Why
        A value layout kept from a float version gives a 128-bit atom four halves instead of eight. An ldmatrix.x4 for
        operand B of one m16n8k16 atom needs eight halves a thread where the tile has four.

    Example
        make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{}, thr, Layout<Shape<_4, _1>>{})

    Use instead
        make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{}, thr, Layout<Shape<_8, _1>>{})

    Assumptions
        None.

    Fix
        Enlarge the value layout (for an MMA operand: the tile of its TiledMMA), or use a narrower atom.

    References
        cute/atom/copy_atom.hpp (TiledCopy); https://github.com/NVIDIA/cutlass/issues/1905
    """

    code = "CUT301"
    name = "atom-too-few-values"
    family = "atom-count"
    unasked = "None: it repeats what CuTe refuses."
    pattern = re.compile(r"too few vals|CopyOperation is not valid for|partitioning does not match the instruction")
    advice = "give each thread as many values as one instruction moves, or use a narrower atom"
    valid = (
        """
        using Elem = half_t;
        using LoadA = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, Elem>{},
                                               Layout<Shape<_16, _8>>{},
                                               Layout<Shape<_8, _1>>{}));
        using SmemA = Layout<Shape<_128, _8>>;
        __global__ void load_a(Elem const* A, int lda) {
          __shared__ alignas(16) Elem smem[cosize_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_128{}, _8{}), make_stride(_1{}, lda));
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          LoadA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(gA), t.partition_D(sA));
        }
        """,
    )
    invalid = (
        """
        using Elem = half_t;
        using LoadA = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, Elem>{},
                                               Layout<Shape<_16, _8>>{},
                                               Layout<Shape<_4, _1>>{}));
        using SmemA = Layout<Shape<_128, _8>>;
        __global__ void load_a(Elem const* A, int lda) {
          __shared__ alignas(16) Elem smem[cosize_v<SmemA>];
          Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_128{}, _8{}), make_stride(_1{}, lda));
          Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
          LoadA cp;
          auto t = cp.get_slice(threadIdx.x);
          copy(cp, t.partition_S(gA), t.partition_D(sA));
        }
        """,
    )

    def explain(self, gist: str) -> str:
        found = re.search(r"too few vals .*: (\d+), (\d+)$", gist)
        return f"values a thread: {found[1]}, one instruction of the atom moves {found[2]}" if found else ""
