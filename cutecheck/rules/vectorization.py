"""CUT401 vector-not-contiguous."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import Access, accesses
from cutecheck.rules.derive.alignment import splits, swizzle_splits


class VectorNotContiguous(Rule):
    """The values of one vector instruction are not adjacent in memory, or not by a static stride.

    What it checks
        For every copy through an atom of more than one element: the elements one thread moves with one instruction lie
        at consecutive offsets, in global and in shared memory, and their strides are compile-time constants.

    Why
        CuTe recasts the elements to one register type. It can do that only where it sees a static stride of 1; a
        run-time 1 (``make_stride(ld, 1)``) is not enough, and neither is a layout whose contiguous mode is another one
        than the copy's. The compiler then stops deep inside ``copy_traits.hpp``, without naming the tensor.

    Example
        make_tensor(make_gmem_ptr(p), make_shape(_64{}, _64{}), make_stride(_64{}, 1))

    Use instead
        make_tensor(make_gmem_ptr(p), make_shape(_64{}, _64{}), make_stride(_64{}, _1{}))

    Assumptions
        None.

    Fix
        Write ``Int<1>{}`` for the contiguous stride, or lay the values of the copy along the contiguous mode.

    References
        cute/atom/copy_traits.hpp (copy_unpack); https://github.com/NVIDIA/cutlass/issues/1358
    """

    code = "CUT401"
    name = "vector-not-contiguous"
    family = "vectorization"
    severity = "error"
    confidence = "proved"
    unasked = "None: elements of one vector are adjacent by the layout alone."
    valid = (
        """
        static constexpr int kM = 64, kK = 64;
        using G2SAtom = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>;
        using G2SCopy = decltype(make_tiled_copy(G2SAtom{},
                                                 Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                                 Layout<Shape<_1, _8>>{}));
        __global__ void stage_tile(half_t const* src) {
          __shared__ alignas(16) half_t buf[kM * kK];
          Tensor g = make_tensor(make_gmem_ptr(src), make_shape(Int<kM>{}, Int<kK>{}),
              make_stride(Int<kK>{}, Int<1>{}));
          Tensor s = make_tensor(make_smem_ptr(buf), make_shape(Int<kM>{}, Int<kK>{}),
              make_stride(Int<kK>{}, Int<1>{}));
          G2SCopy copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
          cp_async_fence();
          cp_async_wait<0>();
        }
        """,
    )
    invalid = (
        """
        static constexpr int kM = 64, kK = 64;
        using G2SAtom = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>;
        using G2SCopy = decltype(make_tiled_copy(G2SAtom{},
                                                 Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                                                 Layout<Shape<_1, _8>>{}));
        __global__ void stage_tile(half_t const* src) {
          __shared__ alignas(16) half_t buf[kM * kK];
          Tensor g = make_tensor(make_gmem_ptr(src), make_shape(Int<kM>{}, Int<kK>{}), make_stride(Int<kK>{}, 1));
          Tensor s = make_tensor(make_smem_ptr(buf), make_shape(Int<kM>{}, Int<kK>{}), make_stride(Int<kK>{}, 1));
          G2SCopy copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
          cp_async_fence();
          cp_async_wait<0>();
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        for access in accesses(event):
            if splits(access) and not swizzle_splits(access) and not _matrix(access):
                yield report(self, access)


def _matrix(access: Access) -> bool:
    return access.instruction.kind in ("ldmatrix", "stmatrix")


def report(rule: Rule, access: Access, help: str = "") -> Finding:
    """The finding for a vector that is none."""
    event, tensor = access.event, access.tensor
    return rule.finding(
        event.span,
        f"{access.side} {tensor.space} `{tensor.name}`: {splits(access)} ({access.instruction.name} moves "
        f'{access.bits} bits); CuTe stops with "{access.side} failed to vectorize into registers"',
        label=f"{access.count} contiguous {access.dtype.name} needed",
        help=help or "make the contiguous mode's stride a static 1 and lay the copy's values along it",
        related=[Related(tensor.span, f"layout {tensor.layout}")],
        enclosing=event.enclosing,
        arch=event.arch,
    )
