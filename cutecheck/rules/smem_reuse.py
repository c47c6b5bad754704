"""CUT212 smem-reuse-without-barrier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from cutecheck.facts import Event, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import cosize
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import CuteError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import thread_count
from cutecheck.rules.derive.vectors import plain

_MOST = 1 << 17  # elements of a copy that are listed

# waits of one thread for its own copies, and what only tells threads apart, hold back no other thread
_OWN = (
    "cp_async", "elect", "canonical", "shfl", "ballot", "any_sync", "all_sync", "match", "initialize", "init",
    "transaction_bytes", "expect", "griddep", "bulk", "tma_store",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """One access of a buffer: bytes from its start, through the whole tensor's layout."""

    event: Event
    tensor: TensorFact
    written: bool
    root: AnyLayout
    first: int
    last: int


class SmemReuseWithoutBarrier(Rule):
    """Shared memory that a copy or MMA has read is written as another tile before the block's threads meet.

    What it checks
        In the order a kernel reaches them: between a read of shared memory and a later write of the same bytes through
        another layout or element type, and between a write and the read of it by other threads, there is a barrier or
        wait.

    Why
        An epilogue that stores its tile over the operands' memory is right only when every warp has finished reading
        them. Without ``__syncthreads()`` the first warp to leave the main loop overwrites what the others still
        multiply: wrong results that come and go with timing.

    Example
        gemm(mma, rA, rB, acc);                       // from sA
        copy(r2s, thr.retile_S(acc), thr.partition_D(sC));   // sC lies over sA

    Use instead
        gemm(mma, rA, rB, acc);
        __syncthreads();
        copy(r2s, thr.retile_S(acc), thr.partition_D(sC));

    Assumptions
        Any call with sync, barrier or wait in its name holds all threads back, but waits for a thread's own copies.

    Fix
        Put ``__syncthreads()``, or a named barrier of the warps involved, between the two.

    References
        CUDA C++ Programming Guide, synchronization functions
    """

    code = "CUT212"
    name = "smem-reuse-without-barrier"
    family = "epilogue"
    severity = "warning"
    confidence = "heuristic"
    valid = (
        """
        using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
        using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ float smem[32 * 33];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor w = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
          Tensor r = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          auto t = Rows{}.get_slice(threadIdx.x);
          copy(Rows{}, t.partition_S(g), t.partition_D(w));
          __syncthreads();
          copy(Rows{}, t.partition_S(r), t.partition_D(o));
        }
        """,
    )
    invalid = (
        """
        using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
        using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
            Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
        __global__ void __launch_bounds__(128) through(float const* in, float* out) {
          __shared__ float smem[32 * 33];
          Tensor g = make_tensor(make_gmem_ptr(in), Tile{});
          Tensor w = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<Int<33>, _1>>{});
          Tensor r = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32>, Stride<_1, Int<33>>>{});
          Tensor o = make_tensor(make_gmem_ptr(out), Tile{});
          auto t = Rows{}.get_slice(threadIdx.x);
          copy(Rows{}, t.partition_S(g), t.partition_D(w));
          copy(Rows{}, t.partition_S(r), t.partition_D(o));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        if event.threads is not None and (known_value(event.threads) or 33) <= 32:
            return
        for use in _uses(event):
            earlier = _before(use, context)
            if earlier is None:
                continue
            done = "written" if earlier.written else "read"
            now = "writes" if use.written else "reads"
            yield self.finding(
                event.span,
                f"`{use.tensor.name}` {now} shared memory that `{earlier.tensor.name}` has {done} before, and no "
                "barrier comes between: other threads may not be done with it",
                label=f"{done} at line {earlier.event.span.line}, no barrier since",
                help="put __syncthreads() between the two",
                related=[Related(earlier.event.span, f"{done} here, through {earlier.root}")],
                enclosing=event.enclosing,
                arch=event.arch,
            )
            return


def _uses(event: Event) -> Iterator[Use]:
    for place, tensor in enumerate(event.operands):
        root = tensor.root_layout or tensor.layout
        if tensor.space != "smem" or tensor.buffer is None or isinstance(root, Unknown):
            continue
        if tensor.dtype is None or not tensor.dtype.bits or isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
            continue
        offset = as_expr(tensor.offset)
        try:
            first = offset.evaluate({v.name: 0 for v in offset.variables()})
            extent = known_value(cosize(root.b if isinstance(root, ComposedLayout) else root))  # type: ignore[arg-type]
        except (CuteError, UndecidedError, KeyError, ZeroDivisionError, ValueError, TypeError):
            continue
        if extent is None:
            continue
        bits = int(tensor.dtype.bits)
        written = event.kind == "copy" and place == 1
        yield Use(event, tensor, written, root, first * bits // 8, (first + extent) * bits // 8)


def _before(use: Use, context: Context) -> Use | None:
    """The access that this one must not overtake, where nothing holds it back."""
    key = (use.event.enclosing, use.event.arch)
    uses, barriers = _ordered(context)
    held = max((b for b in barriers.get(use.event.arch, ()) if b < use.event.order), default=-1)
    for earlier in reversed(uses.get((*key, use.tensor.buffer or ""), [])):
        if earlier.event.order >= use.event.order or earlier.event.order < held:
            continue
        if not (earlier.written or use.written) or _exclusive(earlier.event, use.event):
            continue
        if earlier.last <= use.first or use.last <= earlier.first or _apart(earlier, use):
            continue
        if use.written and not earlier.written:
            if earlier.root != use.root or earlier.tensor.dtype != use.tensor.dtype or _stores_results(use):
                return earlier
        elif earlier.written and not use.written and _others(earlier, use):
            return earlier
    return None


def _stores_results(use: Use) -> bool:
    """Registers are stored after the main loop, through any layout: another warp's operands may lie there."""
    source = use.event.operands[0]
    return source.space == "rmem" and source.provenance == "retile" and use.event.loop_depth == 0


def _others(earlier: Use, use: Use) -> bool:
    """The threads that read are certainly others than those that wrote."""
    source, now = earlier.tensor.source, use.tensor.source
    if source is None or now is None or earlier.tensor.provenance != "partition":
        return False
    if use.tensor.provenance != "partition":
        return False
    return source != now or earlier.root != use.root


def _apart(earlier: Use, use: Use) -> bool:
    """No element of one is one of the other: two slices of one view."""
    if use.event.loop_depth and "GMMA" in str(earlier.event.tiled):
        return True  # asynchronous, and its descriptors do not say which elements
    if earlier.root != use.root or earlier.tensor.dtype != use.tensor.dtype:
        return False
    mine, theirs = _elements(use), _elements(earlier)
    return mine is not None and theirs is not None and not mine & theirs


def _elements(use: Use) -> set[int] | None:
    """Elements of all threads, before any swizzle, at the first iteration; None where they are not numbers."""
    layout, offset = use.tensor.layout, use.tensor.offset
    parts = None if isinstance(layout, Unknown) else plain(layout)
    if parts is None or isinstance(offset, (Unknown, tuple, ScaledBasis)):
        return None
    start = as_expr(offset)
    others = {v.name: 0 for v in (*start.variables(), *parts.offset.variables())}
    threads = thread_count(use.event) or 1
    found = {0}
    for extent, stride in parts.modes:
        if not isinstance(extent, int) or not isinstance(stride, int) or len(found) * extent > _MOST:
            return None
        found = {x + i * stride for x in found for i in range(extent)}
    if len(found) * threads > _MOST:
        return None
    try:
        places = [{**others, THREAD: t} for t in range(threads)]
        starts = {start.evaluate(at) + parts.offset.evaluate(at) for at in places}
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    return {x + s for x in found for s in starts}


def _exclusive(a: Event, b: Event) -> bool:
    """Two branches of one condition."""
    return any(x.span == y.span and x.negated != y.negated for x in a.guards for y in b.guards)


def _ordered(context: Context) -> tuple[dict[tuple[str, str, str], list[Use]], dict[str, list[int]]]:
    """Accesses by function, architecture and buffer as they are reached; when barriers are, by architecture."""
    if "uses" not in context.memo:
        uses: dict[tuple[str, str, str], list[Use]] = {}
        for event in sorted(context.facts.events, key=lambda e: e.order):
            for use in _uses(event):
                uses.setdefault((event.enclosing, event.arch, use.tensor.buffer or ""), []).append(use)
        barriers: dict[str, list[int]] = {}
        for call in context.facts.calls:
            barrier = isinstance(call.result, Unknown) and call.result.reason == "a barrier"
            if barrier and not any(word in call.function for word in _OWN):
                barriers.setdefault(call.arch, []).append(call.order)
        context.memo["uses"] = (uses, barriers)
    return cast("tuple[dict[tuple[str, str, str], list[Use]], dict[str, list[int]]]", context.memo["uses"])
