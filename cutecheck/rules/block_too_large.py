"""CUT706 block-too-large."""

from __future__ import annotations

from collections.abc import Iterable

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, var
from cutecheck.model.ints import Condition, Int, Rel, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import THREAD, Holds
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.coordinates import open_limits
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import who
from cutecheck.rules.derive.launches import launches_of, threads_of
from cutecheck.rules.derive.limits import LARGEST_BLOCK

_OF_SECOND = """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(256) load_tile(half_t const* A) {
          __shared__ alignas(16) half_t smem[2 * 16 * 64];
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(%s);
          if (threadIdx.x / 128 == 1) copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
        }
        """


class BlockTooLarge(Rule):
    """A tiled copy is run by more threads than it has, and the others go beyond its tile.

    What it checks
        For copies partitioned at ``threadIdx.x`` without a condition around them, or under conditions on the thread's
        index alone: every thread that comes there and is not a thread of the TiledCopy gets a part that one of its
        threads has too.

    Why
        ``get_slice`` takes any index. The layout continues past its last thread, so that the threads too many move the
        rows below the tile: past the end of the buffer, or into another block's part of the matrix.

    Example
        auto thr = copy_of_128_threads.get_slice(threadIdx.x);    // in a block of 256
        copy(copy_of_128_threads, thr.partition_S(g), thr.partition_D(s));

    Use instead
        if (threadIdx.x < size(copy_of_128_threads)) copy(copy_of_128_threads, ...);

    Assumptions
        A copy under any other run-time condition is not judged; one with predicates only where these compare with
        run-time extents, which are taken to be large.

    Fix
        Guard the copy, or build it for the block.

    References
        cute/atom/copy_atom.hpp (TiledCopy::get_slice)
    """

    code = "CUT706"
    name = "block-too-large"
    family = "launch"
    severity = "error"
    confidence = "proved"
    unasked = "Only where a block is larger than its copies, which no public tree has."
    valid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(256) load_tile(half_t const* A) {
          __shared__ alignas(16) half_t smem[16 * 64];
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          if (threadIdx.x < 128) copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
        _OF_SECOND % "threadIdx.x - 128",
    )
    invalid = (
        """
        using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(256) load_tile(half_t const* A) {
          __shared__ alignas(16) half_t smem[16 * 64];
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
          auto thr = Load{}.get_slice(threadIdx.x);
          copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
        }
        """,
        _OF_SECOND % "threadIdx.x",
        (_OF_SECOND % "threadIdx.x").replace("copy(Load{}, ", "copy("),
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        atom = atom_of(event.tiled)
        needed = threads_of(event.tiled) or _of_parts(event)
        if (
            event.kind != "copy"
            or needed is None
            or event.threads is None
            or (atom is None and event.tiled is not None)
        ):
            return  # of a plain copy its operands say it
        if not open_limits(event, context) or (atom is not None and ("_TMA_" in atom.op or "BULK" in atom.op)):
            return
        have, want = known_value(event.threads), known_value(needed)
        if have is None or want is None or have <= want or have > LARGEST_BLOCK:
            return
        of_threads = [g for g in inner(event.guards) if not g.alike]
        come = who(of_threads, have) if of_threads else range(have)
        if come is None:
            return
        for tensor in event.operands[:2]:
            along = _along_x(tensor, have)
            stray = stray_thread(tensor, want, [t for t in sorted(come) if t < along])
            if stray is None or isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
                continue
            payload = Holds(
                (Condition(Rel.LT, var(THREAD, Domain(stray if of_threads else 0, have - 1)), as_expr(want)),),
                "threads of the tiled copy",
            )
            outcome = context.prove(
                make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span,
                                hypotheses=[h.condition for h in event.hypotheses])
            )  # fmt: skip
            if outcome.verdict is Verdict.REFUTED:
                yield self.finding(
                    event.span,
                    f"TiledCopy of {want} threads in a block of {have}: thread {stray} is none of them and goes beyond "
                    f"the tile in `{tensor.name}`",
                    label=f"{sum(t >= want for t in come)} threads too many",
                    help=f"guard it by `threadIdx.x < {want}`, or build it for {have} threads"
                    if 0 in come
                    else f"take the slices 0 to {want - 1}: `threadIdx.x - {min(come)}`",
                    witness=outcome.witness,
                    related=[Related(x.span, f"block of {have} threads") for x in launches_of(event, have, context)],
                    enclosing=event.enclosing,
                    arch=event.arch,
                )
            return


def _of_parts(event: Event) -> Int | None:
    """Threads of the tiled copy that operands are parts by: ``cute.copy(atom, ...)`` of Python, a plain copy."""
    found = {threads_of(t.source) for t in event.operands[:2] if isinstance(t.source, TiledCopy)}
    return next(iter(found)) if len(found) == 1 else None


def stray_thread(tensor: TensorFact, want: int, come: Iterable[int]) -> int | None:
    """The first of these threads, outside the copy, whose part none of the copy's threads has; None where there is
    none."""
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)) or tensor.provenance != "partition":
        return None
    offset = as_expr(tensor.offset)
    if tensor.thread is None or str(as_expr(tensor.thread)) != THREAD:
        return None  # a lane of its warp, a thread of its group
    names = sorted({v.name for v in offset.variables() if v.name != THREAD})
    rest = {v.name: max(0, v.domain.bounds()[0] or 0) for v in offset.variables() if v.name != THREAD}
    open_ = {v.name for v in offset.variables() if v.domain.bounds()[1] is None}
    rest |= {n: 1 << (20 + i) for i, n in enumerate(names) if n in open_}  # strides that no tile spans
    if not any(v.name == THREAD for v in offset.variables()):
        return None
    try:
        own = {offset.evaluate({**rest, THREAD: t}) for t in range(want)}
        return next((t for t in come if t >= want and offset.evaluate({**rest, THREAD: t}) not in own), None)
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _along_x(tensor: TensorFact, threads: int) -> int:
    """Values of threadIdx.x: fewer than threads in a block of two dimensions."""
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
        return threads
    tops = [v.domain.bounds()[1] for v in as_expr(tensor.offset).variables() if v.name == THREAD]
    return min([threads, *(hi + 1 for hi in tops if hi is not None)])
