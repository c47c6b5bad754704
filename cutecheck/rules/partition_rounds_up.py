"""CUT207 partition-rounds-up."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Int, ceil_div, known_value
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Divides, Division
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.vectors import mode_sizes


class PartitionRoundsUp(Rule):
    """A tiled copy covers more than the shared tile it partitions, and nothing keeps it inside.

    What it checks
        Every mode of a shared-memory tensor that a TiledCopy partitions is a whole number of the copy's tile, unless
        the copy is predicated or under a run-time condition.

    Why
        Partitioning rounds up without a word. The threads beyond the tile read and write past the end of the buffer:
        a copy of 768 elements over 192 touches four times the memory that was allocated.

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
        if event.kind != "copy" or event.predicated or event.guards:
            return
        for tensor in event.operands[:2]:
            pairs = extents(tensor)
            if not pairs:
                continue
            divisions = tuple(Division(f"mode {i}", a, b) for i, (a, b) in enumerate(pairs))
            outcome = context.prove(
                make_obligation(Divides(divisions, tensor.name), (event.event_id,), arch=event.arch, span=event.span,
                                hypotheses=[h.condition for h in event.hypotheses])
            )  # fmt: skip
            wrong = [(i, known_value(a), known_value(b)) for i, (a, b) in enumerate(pairs)]
            wrong = [(i, a, b) for i, a, b in wrong if a is not None and b is not None and a % b]
            if outcome.verdict is Verdict.REFUTED and wrong:
                mode, size, tile = wrong[0]
                yield self.finding(
                    event.span,
                    f"shared tensor `{tensor.name}` has {size} elements along mode {mode}, the copy's tile has {tile}: "
                    "the partition rounds up and goes past the end",
                    label=f"{size} is no multiple of {tile}",
                    help="build the copy for the tile, or predicate it",
                    witness=outcome.witness,
                    related=[Related(tensor.span, f"part of {tensor.root_layout}")],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )


def extents(tensor: TensorFact) -> list[tuple[Int, Int]]:
    """(extent of the tensor, extent of the copy's tile) of each mode; empty where the partitioned tensor is not known.

    The root is the tensor that was partitioned only if the partition has as many tiles as the root gives.
    """
    copy, root, part = tensor.source, tensor.root_layout, tensor.layout
    if tensor.space != "smem" or tensor.provenance != "partition" or not isinstance(copy, TiledCopy):
        return []
    if root is None or isinstance(part, Unknown):
        return []
    tile, sizes = _sizes(copy.tiler_shape), mode_sizes(root)
    rest = mode_sizes(part)[1:]
    if len(tile) != len(sizes) or len(rest) != len(tile):
        return []
    expected = [ceil_div(a, b) for a, b in zip(sizes, tile, strict=True)]
    return list(zip(sizes, tile, strict=True)) if expected == rest else []


def _sizes(shape: IntTuple) -> list[Int]:
    return mode_sizes(Layout(shape, shape))
