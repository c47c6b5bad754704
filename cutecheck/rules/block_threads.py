"""CUT701 block-too-small."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import Condition, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive import steps_too_wide
from cutecheck.rules.derive.launches import launches_of, partitioned_by, slices_behind, slices_taken, threads_of
from cutecheck.rules.derive.locals import smallest_launch, threads_taken
from cutecheck.rules.derive.mma_slices import RESULT, results_left
from cutecheck.rules.derive.takers import left_out


class BlockTooSmall(Rule):
    """A tiled copy or MMA is made for more threads than its block has.

    What it checks
        The threads of every TiledCopy and TiledMMA that a kernel uses fit its block: the block of its launch where the
        source shows one, the most that its ``__launch_bounds__`` allows otherwise. The threads of the block take all
        slices of a TiledCopy, where it is sliced by what follows from ``threadIdx.x`` alone; so do those that a
        condition on ``threadIdx.x`` lets through, where the tile has parts for all and no other copy brings them. Of a
        TiledMMA all slices are taken of the results that are stored. Where threads take several slices of a copy, one
        after the other, nothing is said. Of loops that begin at the thread's index and store single elements: a pass
        goes on by no more than the threads of the block store.

    Why
        Each thread takes the slice of its own index. Slices of threads that do not exist are never copied or
        multiplied; nothing in CuTe knows the size of the block.

    Example
        copy(make_tiled_copy(atom, Layout<Shape<_16, _8>>{}, ...), ...);  // in kernel<<<grid, 64>>>

    Use instead
        kernel<<<grid, size(tiled_copy)>>>

    Assumptions
        ``cooperative_gemm`` bounds its own accesses, so that parts outside a small problem may go without a thread; it
        is not judged.

    Fix
        Launch as many threads as the tiled object has, or build it for fewer.

    References
        cute/atom/copy_atom.hpp (get_slice)
    """

    code = "CUT701"
    name = "block-too-small"
    family = "launch"
    severity = "error"
    confidence = "proved"
    valid = (
        """
        using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Rows = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(128) move(float const* src) {
          __shared__ alignas(16) float tile[8 * 64];
          Tensor g = make_tensor(make_gmem_ptr(src), Rows{});
          Tensor s = make_tensor(make_smem_ptr(tile), Rows{});
          Move copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
        }
        """,
    )
    invalid = (
        """
        using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
            Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
        using Rows = Layout<Shape<_8, _64>, Stride<_64, _1>>;
        __global__ void __launch_bounds__(64) move(float const* src) {
          __shared__ alignas(16) float tile[8 * 64];
          Tensor g = make_tensor(make_gmem_ptr(src), Rows{});
          Tensor s = make_tensor(make_smem_ptr(tile), Rows{});
          Move copier;
          auto thr = copier.get_slice(threadIdx.x);
          copy(copier, thr.partition_S(g), thr.partition_D(s));
        }
        """,
    )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        wide = steps_too_wide.left_out(call, context)
        if wide is not None:
            yield self.finding(
                call.span,
                f"the loop around goes on by {wide.step} elements, and the {wide.threads} threads of the block do not "
                f"store as many in a pass: elements {wide.first} .. {wide.last} of each {wide.step} are left out",
                label=f"{wide.step} from pass to pass, {wide.threads} threads",
                help="go on by the threads of the block (blockDim.x), or launch as many as the step is made for",
                enclosing=call.enclosing,
                arch=call.arch,
            )
        if call.function == "axpby" and len(call.arguments) > RESULT:
            yield from self._results(call, call.arguments[RESULT], context)
        want = threads_taken(call, context)
        block = None if want is None else smallest_launch(call, context)
        if want is None or block is None:
            return
        have, launch = block
        payload = Holds((Condition(Rel.LE, as_expr(want), as_expr(have)),), "threads of the block")
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        if outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                call.span,
                f"local_partition among {want} threads in a block of {have}: the parts of {want - have} threads are "
                "left out",
                label=f"needs {want} threads",
                help=f"launch {want} threads or partition among {have}",
                related=[Related(launch.span, f"block of {have} threads")],
                enclosing=call.enclosing,
                arch=call.arch,
            )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._of_block(event, context)
        if event.kind == "copy" and len(event.operands) > 1:
            yield from self._results(event, event.operands[-1], context)
        part = left_out(event, context)
        if part is not None:
            yield self.finding(
                event.span,
                f"TiledCopy of {part[1]} threads, of which {part[0]} copy under this condition: the parts of "
                f"{part[1] - part[0]} threads are left out",
                label=f"{part[0]} of {part[1]} threads",
                help="let all its threads copy, or build it for those that do",
                related=[Related(g.span, "the condition") for g in event.guards if not g.host][-1:],
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def _results(self, at: Event | Call, tensor: object, context: Context) -> Iterable[Finding]:
        """What threads store of a product's results."""
        left = results_left(at, tensor, context) if isinstance(tensor, TensorFact) else None
        if left is None or not isinstance(tensor, TensorFact):
            return
        taken, want, block = left
        yield self.finding(
            at.span,
            f"TiledMMA of {want} threads, of which a block of {block} takes the slices of {taken} only for "
            f"`{tensor.name}`: the results of {want - taken} threads are never stored",
            label=f"slices of {taken} of {want} threads",
            help="slice it by the thread's index in the block, or build it for the threads of the slice",
            related=[Related(tensor.span, "one of the slices")],
            enclosing=at.enclosing,
            arch=at.arch,
        )

    def _of_block(self, event: Event, context: Context) -> Iterable[Finding]:
        tiled = event.tiled if threads_of(event.tiled) is not None else partitioned_by(event)
        needed = threads_of(tiled)
        if needed is None or event.threads is None or event.callee == "cooperative_gemm":
            return
        threads = known_value(event.threads)
        if threads is not None and slices_behind(event, threads, context):
            return
        payload = Holds((Condition(Rel.LE, as_expr(needed), as_expr(event.threads)),), "threads of the block")
        outcome = context.prove(
            make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span,
                            hypotheses=[h.condition for h in event.hypotheses])
        )  # fmt: skip
        have, want = known_value(event.threads), known_value(needed)
        if outcome.verdict is Verdict.REFUTED and have is not None and want is not None:
            yield self.finding(
                event.span,
                f"{type(tiled).__name__} of {want} threads in a block of {have}: "
                f"the parts of {want - have} threads are left out",
                label=f"needs {want} threads",
                help=f"launch {want} threads or build it for {have}",
                related=[Related(x.span, f"block of {have} threads") for x in launches_of(event, have, context)],
                enclosing=event.enclosing,
                arch=event.arch,
            )
        elif have is not None and want is not None and (taken := slices_taken(event, have, context)):
            yield self.finding(
                event.span,
                f"TiledCopy of {want} threads, of which a block of {have} takes the slices of {taken} only: the parts "
                f"of {want - taken} threads are left out",
                label=f"slices of {taken} of {want} threads",
                help="slice it by the thread's index in the block, or build it for the threads of the slice",
                related=[Related(event.operands[0].span, "one of the slices")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
