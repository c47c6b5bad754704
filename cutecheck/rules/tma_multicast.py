"""CUT804 tma-multicast-exceeds-cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.masks import astray
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.tma_box import tensor_map_of

_PAIR = re.compile(r"_2SM_|_2x1SM")


def by_pairs(event: Event) -> bool:
    """Whether the operation is one of two CTAs of a cluster."""
    atom = atom_of_event(event)
    return atom is not None and _PAIR.search(atom.op) is not None


class TmaMulticast(Rule):
    """A TMA copy is made for more CTAs than its kernel's cluster has.

    What it checks
        The number of CTAs that a multicast copy was built for divides the number of CTAs of the cluster that the kernel
        is launched with; that of the cluster is even where pairs of CTAs load or multiply (``SM100_TMA_2SM_LOAD``,
        ``SM100_MMA_*_2x1SM``). Of a mask that is computed from the block's place in the cluster, or a constant: it
        names the block itself, no block that the cluster lacks, none that needs another tile (its coordinates are
        computed from other block indices), and as many as the copy was built for.

    Why
        Each CTA brings its part of the tile for the others. In a smaller cluster some parts never arrive: the barrier
        waits for bytes that nobody sends, and the kernel hangs.

    Example
        auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, sA, tile, Int<2>{});
        cutlass::ClusterLaunchParams params = {grid, block, dim3(1, 1, 1), smem};

    Use instead
        cutlass::ClusterLaunchParams params = {grid, block, dim3(2, 1, 1), smem};

    Assumptions
        Only launches whose cluster the source says are compared.

    Fix
        Take both from one cluster shape.

    References
        PTX ISA, cp.async.bulk.tensor (multicast); CUDA C++ Programming Guide, thread block clusters
    """

    code = "CUT804"
    name = "tma-multicast-exceeds-cluster"
    family = "tma-limits"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        auto make_load(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}, Shape<_128, _64>{}, Int<1>{});
        }
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          extern __shared__ alignas(1024) half_t smem[];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          auto tma = make_load(A);
          dim3 cluster(2, 1, 1);
          cutlass::ClusterLaunchParams params = {dim3(4), dim3(128), cluster, 16384};
          cutlass::launch_kernel_on_cluster(params, (void const*)&fill<decltype(tma)>, tma);
        }
        """,
    )
    invalid = (
        """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        auto make_load(half_t const* A) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          return make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, Int<2>{});
        }
        template <class Tma>
        __global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma) {
          extern __shared__ alignas(1024) half_t smem[];
          __shared__ alignas(8) uint64_t bar;
          Tensor mA = tma.get_tma_tensor(Shape<_512, _64>{});
          Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          auto cta = tma.get_slice(0);
          copy(tma.with(bar, uint16_t(3)), cta.partition_S(gA), cta.partition_D(sA));
        }
        void run(half_t const* A) {
          auto tma = make_load(A);
          dim3 cluster(1, 1, 1);
          cutlass::ClusterLaunchParams params = {dim3(4), dim3(128), cluster, 16384};
          cutlass::launch_kernel_on_cluster(params, (void const*)&fill<decltype(tma)>, tma);
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if by_pairs(event):
            yield from self._of_pairs(event, context)
        found = tensor_map_of(event.tiled)
        if event.kind != "copy" or found is None or found.num_multicast is None:
            return
        for launch in context.facts.launches:
            cluster = None if launch.cluster is None else known_value(launch.cluster)
            if launch.kernel != event.kernel or launch.arch != event.arch or cluster is None:
                continue
            payload = Holds(
                (Condition(Rel.DIVIDES, as_expr(found.num_multicast), as_expr(cluster)),), "CTAs of the multicast"
            )
            outcome = context.prove(make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span))
            if outcome.verdict is Verdict.REFUTED:
                yield self.finding(
                    event.span,
                    f"the TMA copy was made for {found.num_multicast} CTAs, the kernel is launched with clusters of "
                    f"{cluster}",
                    label=f"multicast over {found.num_multicast} CTAs",
                    help="build the copy and launch the kernel with one cluster shape",
                    related=[Related(launch.span, f"cluster of {cluster}")],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
                return

    def _of_pairs(self, event: Event, context: Context) -> Iterable[Finding]:
        """Two CTAs of a cluster load or multiply together."""
        for launch in context.facts.launches:
            cluster = None if launch.cluster is None else known_value(launch.cluster)
            if launch.kernel != event.kernel or launch.arch != event.arch or cluster is None:
                continue
            payload = Holds((Condition(Rel.DIVIDES, as_expr(2), as_expr(cluster)),), "CTAs of a pair")
            outcome = context.prove(make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span))
            if outcome.verdict is Verdict.REFUTED:
                what = "MMA" if event.kind == "gemm" else "TMA copy"
                yield self.finding(
                    event.span,
                    f"the {what} is one of two CTAs of a cluster, the kernel is launched with clusters of {cluster}",
                    label="of a pair of CTAs",
                    help="launch the kernel with clusters of an even number of CTAs",
                    related=[Related(launch.span, f"cluster of {cluster}")],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
                return

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        found = astray(call, context) if call.function == "multicast" else None
        if found is None:
            return
        event, wrong = found
        yield self.finding(
            call.span,
            f"block {wrong.rank} of the cluster copies with the mask {wrong.mask:#x}, {wrong.why}",
            label=f"mask {wrong.mask:#x} in block {wrong.rank}",
            help="name the blocks that share the tile, this one among them: those of its row for what the row shares",
            enclosing=event.enclosing,
            arch=event.arch,
            confidence="heuristic",
        )
