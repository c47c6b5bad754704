"""CUT606 tail-not-cleared."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.left_over import left_over

_FRESH = re.compile(r"#\d+")
_EXAMPLE = """
        using Panel = Layout<Shape<_64, _16>, Stride<_16, _1>>;
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}));
        using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
        template <class G, class S, class C>
        __device__ void load(G const& g, S const& s, C const& c, int rows, int k) {
          for (int i = 0; i < size<1>(s); ++i)
            for (int j = 0; j < size<2>(s); ++j)
              if (elem_less(c(0, i, j), make_coord(rows, k))) copy(Load{}, g(_, i, j), s(_, i, j));
        }
        __global__ void __launch_bounds__(128) multiply(float const* A, float const* B, float* C, int m, int n, int k) {
          __shared__ alignas(16) float a[cosize_v<Panel>], b[cosize_v<Panel>];
          Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
          Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
          Tensor gA = local_tile(mA, Shape<_64, _16>{}, make_coord(blockIdx.x, _));
          Tensor gB = local_tile(mB, Shape<_64, _16>{}, make_coord(blockIdx.y, _));
          Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<_64, _16>{}, make_coord(blockIdx.x, _));
          Tensor cB = local_tile(make_identity_tensor(shape(mB)), Shape<_64, _16>{}, make_coord(blockIdx.y, _));
          Tensor sA = make_tensor(make_smem_ptr(a), Panel{}), sB = make_tensor(make_smem_ptr(b), Panel{});
          auto thr = Load{}.get_slice(threadIdx.x);
          auto mma = Mma{}.get_slice(threadIdx.x);
          Tensor acc = partition_fragment_C(Mma{}, Shape<_64, _64>{});
          clear(acc);
          for (int t = 0; t < size<2>(gA); ++t) {
            %s
            load(thr.partition_S(gA(_, _, t)), thr.partition_D(sA), thr.partition_S(cA(_, _, t)), m, k);
            load(thr.partition_S(gB(_, _, t)), thr.partition_D(sB), thr.partition_S(cB(_, _, t)), n, k);
            __syncthreads();
            gemm(Mma{}, mma.partition_A(sA), mma.partition_B(sB), acc);
            __syncthreads();
          }
          Tensor gC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(_1{}, m));
          copy(acc, mma.partition_C(local_tile(gC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y))));
        }
        """


class TailNotCleared(Rule):
    """Predicates leave out the tail of the mode that a product sums over, and nothing sets it to zero.

    What it checks
        Of products whose operands lie in shared memory, or are copied from there: where predicates, or comparisons
        around the copies, bound the mode K by a run-time extent that no tile need divide, or by what is left of a
        length that is read from memory, both operands' memory is
        cleared, filled or stored to by other means than such copies, or they fill it with zeros (``cp.async`` with
        ZFILL, and with a predicate in Python). Where a loop goes through K from its start, so that its last tile is the
        short one, that has to happen in the loop: what was cleared before it holds the tile before. The same of
        registers that such copies fill and others bring to shared memory, where nothing takes single elements of them.

    Why
        ``copy_if`` leaves out the instruction, in C++ that of ``cp.async``, too. Shared memory keeps what lay there,
        often the tile before: the product sums over whole tiles, and adds it up again.

    Example
        copy_if(load, pred, tAgA(_, _, _, k), tAsA);

    Use instead
        clear(tAsA);
        copy_if(load, pred, tAgA(_, _, _, k), tAsA);

    Assumptions
        The first two modes of the tensor in shared memory are (M, K) or (N, K), in either order. What one operand alone
        leaves as it is, is multiplied by zeros: this is judged of the first tile that is written there, of numbers that
        are no integers, for shared memory may hold NaN before it.

    Fix
        Clear the part of shared memory before the last tile is copied, copy with an operation that fills with zeros, or
        state ``// cutecheck: assume k % 16 == 0``.

    References
        cute/algorithm/copy.hpp (copy_if); cute/arch/copy_sm80.hpp (SM80_CP_ASYNC_CACHEALWAYS_ZFILL)
    """

    code = "CUT606"
    name = "tail-not-cleared"
    family = "predicate"
    severity = "error"
    confidence = "heuristic"
    unasked = "Whether tiles divide K, of copies that all else holds for; the public trees have none."
    valid = (_EXAMPLE % "clear(thr.partition_D(sA)); clear(thr.partition_D(sB)); __syncthreads();",)
    invalid = (_EXAMPLE % "",)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        found = left_over(event, context)
        if found is None:
            return
        target = event.operands[1]
        where = " in the loop" if found.before else ""
        kept = "what was there before the kernel" if found.alone else "what lay there"
        extent = _FRESH.sub("", str(found.extent))
        yield self.finding(
            event.span,
            f"the predicates leave out what `{target.name}` has past `{extent}` of mode {found.mode}, which need "
            f"not be a multiple of the tile's {found.tile}, and nothing{where} sets it to zero: the product sums over "
            f"{'it, and zero times NaN is NaN' if found.alone else 'the whole tile'}",
            label=f"what is left out keeps {'the tile before' if found.before else kept}",
            help=f"clear `{target.name}` before it, copy with an operation that fills with zeros, or state "
            f"`// cutecheck: assume {extent} % {found.tile} == 0`",
            related=[Related(found.gemm.span, f"sums over all {found.tile} of mode {found.mode}")],
            enclosing=event.enclosing,
            arch=event.arch,
        )
