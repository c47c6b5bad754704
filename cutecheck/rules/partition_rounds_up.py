"""CUT207 partition-rounds-up."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, Guard, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Int, known_value
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Divides, Division
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.coordinates import bounded_mode, predicates_of
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import neighbours
from cutecheck.rules.derive.locals import tile_of
from cutecheck.rules.derive.origins import partition_owner
from cutecheck.rules.derive.vectors import mode_sizes
from cutecheck.rules.derive.zero_fill import as_written, fills_zeros

_MODES = {"A": "MK", "B": "NK", "C": "MN"}


class PartitionRoundsUp(Rule):
    """A tiled copy or MMA covers more than the tile it partitions, and nothing keeps it inside.

    What it checks
        Every mode of a tensor in shared or global memory that a TiledCopy or TiledMMA partitions is a whole number of
        its tile, unless predicates or run-time conditions may leave out what is past the end of that mode. A predicate
        of a ``cp.async`` of the Python DSL leaves nothing of its destination out: it writes zeros where it is false.

    Why
        Partitioning rounds up without a word. The threads beyond the tile read and write past the end of the buffer, or
        into the next tile: a copy of 768 elements over 192 touches four times the memory that was allocated, an MMA of
        64 rows stores a tile of 96 as one of 128.

    Example
        cp = cute.make_tiled_copy_tv(atom, cute.make_layout(384), cute.make_layout(2))
        cute.copy(cp, thr.partition_S(src), thr.partition_D(smem))   # smem holds 192 elements

    Use instead
        cp = cute.make_tiled_copy_tv(atom, cute.make_layout(96), cute.make_layout(2))

    Assumptions
        None.

    Fix
        Build the copy for the tile, make the tile a whole number of copies, or predicate the copy.

    References
        cute/atom/copy_atom.hpp (tidfrg_S); https://github.com/NVIDIA/cutlass/issues/2980
    """

    code = "CUT207"
    name = "partition-rounds-up"
    family = "tile-divisibility"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        @cute.kernel
        def fill(src: cute.Tensor):
            tid, _, _ = cute.arch.thread_idx()
            smem = cutlass.memory.SmemAllocator().allocate_tensor(
                cutlass.Float16, cute.make_layout((192,)), byte_alignment=16
            )
            atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=32)
            cp = cute.make_tiled_copy_tv(atom, cute.make_layout(96), cute.make_layout(2))
            thr = cp.get_slice(tid)
            cute.copy(cp, thr.partition_S(src), thr.partition_D(smem))

        @cute.jit
        def host(src: cute.Tensor):
            fill(src).launch(grid=(1, 1, 1), block=(96, 1, 1))

        cute.compile(host, make_fake_tensor(cutlass.Float16, (192,), stride=(1,), assumed_align=16))
        """,
    )
    invalid = (
        """
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.runtime import make_fake_tensor

        @cute.kernel
        def fill(src: cute.Tensor):
            tid, _, _ = cute.arch.thread_idx()
            smem = cutlass.memory.SmemAllocator().allocate_tensor(
                cutlass.Float16, cute.make_layout((192,)), byte_alignment=16
            )
            atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=32)
            cp = cute.make_tiled_copy_tv(atom, cute.make_layout(384), cute.make_layout(2))
            thr = cp.get_slice(tid)
            cute.copy(cp, thr.partition_S(src), thr.partition_D(smem))

        @cute.jit
        def host(src: cute.Tensor):
            fill(src).launch(grid=(1, 1, 1), block=(384, 1, 1))

        cute.compile(host, make_fake_tensor(cutlass.Float16, (192,), stride=(1,), assumed_align=16))
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.kind != "copy":
            return
        for tensor in sorted(event.operands[:2], key=lambda t: t.space != "smem"):
            filled = tensor.space == "smem" and fills_zeros(event)
            kept = _kept_inside(as_written(event) if filled else event, context)
            pairs = [] if kept is None else extents(tensor, event, context)
            if not pairs or kept is None:
                continue
            divisions = tuple(Division(f"mode {i}", a, b) for i, (a, b) in enumerate(pairs))
            outcome = context.prove(
                make_obligation(Divides(divisions, tensor.name), (event.event_id,), arch=event.arch, span=event.span,
                                hypotheses=[h.condition for h in event.hypotheses])
            )  # fmt: skip
            wrong = [(i, known_value(a), known_value(b)) for i, (a, b) in enumerate(pairs)]
            wrong = [(i, a, b) for i, a, b in wrong if a is not None and b is not None and a % b and i not in kept]
            if outcome.verdict is Verdict.REFUTED and wrong:
                mode, size, tile = wrong[0]
                what = "MMA's tile" if isinstance(tensor.source, TiledMMA) else "copy's tile"
                what = what if tensor.source is not None else "layout of threads"
                space = "shared" if tensor.space == "smem" else "global"
                yield self.finding(
                    event.span,
                    f"{space} tensor `{tensor.name}` has {size} elements along mode {mode}, the {what} has "
                    f"{tile}: the partition rounds up and goes past the end" + _despite(event, kept, filled),
                    label=f"{size} is no multiple of {tile}",
                    help="build the copy for the tile, or put the copy under a condition on this mode"
                    if filled
                    else "build the copy for the tile, or predicate it along this mode"
                    if tensor.source is not None
                    else "choose threads that divide the tile, or compare coordinates along this mode",
                    witness=outcome.witness,
                    related=[Related(tensor.span, f"part of {tensor.tile_layout or tensor.root_layout}")],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
                return


def _despite(event: Event, kept: set[int], filled: bool) -> str:
    if filled:
        return ", since cp.async writes zeros where its predicate is false"
    return ", and the predicates do not bound this mode" if event.predicated or kept else ""


def _kept_inside(event: Event, context: Context) -> set[int] | None:
    """The modes along which predicates or conditions may leave out what is past the end; None where all may be."""
    guards = [g for g in inner(event.guards) if not g.turns and not _of_roles(g, event)]
    if not guards and not event.predicated:
        return set()
    if event.predicated and event.predicate is None:
        return None
    asked = predicates_of(event, context)
    if len(asked) != 1 or not all(p.complete for p in asked[0]):
        return None
    if event.predicated and guards:
        return None
    modes = {bounded_mode(b.value, b.coordinates) for p in asked[0] for b in p.bounds}
    return None if None in modes or not modes else {m for m in modes if m is not None}


def _of_roles(guard: Guard, event: Event) -> bool:
    """A condition that as many threads pass as the copy has: it picks who copies, and leaves out none of the tile."""
    block = None if event.threads is None else known_value(event.threads)
    threads = known_value(event.tiled.num_thr) if isinstance(event.tiled, TiledCopy) else None
    come = None if block is None or threads is None else neighbours([guard], block)
    return come is not None and threads is not None and come[1] - come[0] + 1 >= threads


def extents(tensor: TensorFact, event: Event, context: Context) -> list[tuple[Int, Int]]:
    """(extent of the tensor, extent of the partitioning tile) of each mode, where both are numbers."""
    root = tensor.tile_layout
    if tensor.source is None and tensor.space in ("smem", "gmem") and tensor.provenance == "partition":
        pairs = tile_of(tensor, event, context)
        return pairs if all(known_value(a) is not None and known_value(b) is not None for a, b in pairs) else []
    if tensor.space not in ("smem", "gmem") or tensor.provenance != "partition" or root is None:
        return []
    if isinstance(tensor.layout, Unknown):
        return []
    if isinstance(tensor.source, TiledCopy):
        atom = tensor.source.atom.op
        tile = [] if "_TMA_" in atom or "BULK" in atom else _sizes(tensor.source.tiler_shape)
    else:
        owner = partition_owner(tensor, event, context)
        tile = [] if owner is None else [owner.mma.tile_shape["MNK".index(x)] for x in _MODES[owner.operand]]
    sizes = mode_sizes(root)
    if not tile or len(tile) > len(sizes):
        return []
    pairs = list(zip(sizes, tile, strict=False))
    return pairs if all(known_value(a) is not None and known_value(b) is not None for a, b in pairs) else []


def _sizes(shape: IntTuple) -> list[Int]:
    return mode_sizes(Layout(shape, shape))
