"""CUT208 smem-layouts-disagree."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cutecheck.facts import Event, SmemBuffer, TensorFact, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import select
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import as_expr
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout
from cutecheck.model.prove import Outcome, Verdict, make_obligation
from cutecheck.model.prove.properties import THREAD, LayoutEqual
from cutecheck.records import record
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import static_layout
from cutecheck.rules.derive.vectors import mode_sizes

_MOST_MODES = 4  # 24 orders of the modes


@record(frozen=True, slots=True)
class View:
    """How one copy sees a buffer: the whole tensor before it was partitioned."""

    event: Event
    tensor: TensorFact
    layout: AnyLayout
    start: int  # elements from the start of the buffer
    written: bool


class SameBufferSameLayout(Rule):
    """A tile of shared memory is read through another layout than any it is written through.

    What it checks
        For shared-memory buffers all of whose accesses are known: a view that a copy or MMA reads is, up to the order
        of its modes, the same function of coordinates as some view of the same shape, element type and start that a
        copy writes.

    Why
        The producer swizzles and the consumer does not, or each has its own swizzle or padding: both are in bounds,
        both compile, and every element but a few is read from another one's place.

    Example
        Tensor sW = make_tensor(make_smem_ptr(smem), SwizzledTile{});  // written
        Tensor sR = make_tensor(make_smem_ptr(smem), PlainTile{});     // read

    Use instead
        one layout type for both, or a transposed view of it: composition(SwizzledTile{}, Layout<...>{})

    Assumptions
        Only tiles of one shape are compared; sub-tiles, stages at other offsets and transposed views are not reported.
        Elements stored one by one outside ``copy`` are not seen.

    Fix
        Derive the consumer's layout from the producer's.

    References
        cute/layout_composed.hpp; cute/swizzle_layout.hpp
    """

    code = "CUT208"
    name = "smem-layouts-disagree"
    family = "coverage"
    severity = "warning"
    confidence = "proved"
    unasked = "Only where two views of one buffer look alike and are not equal, which no public tree has."
    valid = (
        """
        using Swizzled = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
        using Read = Swizzled;
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Drain = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) through(half_t const* in, half_t* out) {
          __shared__ alignas(128) half_t tile[64 * 64];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          Tensor w = make_tensor(make_smem_ptr(tile), Swizzled{});
          auto fill = Fill{}.get_slice(threadIdx.x);
          copy(Fill{}, fill.partition_S(g), fill.partition_D(w));
          cp_async_wait<0>();
          __syncthreads();
          Tensor r = make_tensor(make_smem_ptr(tile), Read{});
          Tensor h = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          auto drain = Drain{}.get_slice(threadIdx.x);
          copy(Drain{}, drain.partition_S(r), drain.partition_D(h));
        }
        """,
    )
    invalid = (
        """
        using Swizzled = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
        using Read = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        using Drain = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) through(half_t const* in, half_t* out) {
          __shared__ alignas(128) half_t tile[64 * 64];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          Tensor w = make_tensor(make_smem_ptr(tile), Swizzled{});
          auto fill = Fill{}.get_slice(threadIdx.x);
          copy(Fill{}, fill.partition_S(g), fill.partition_D(w));
          cp_async_wait<0>();
          __syncthreads();
          Tensor r = make_tensor(make_smem_ptr(tile), Read{});
          Tensor h = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
          auto drain = Drain{}.get_slice(threadIdx.x);
          copy(Drain{}, drain.partition_S(r), drain.partition_D(h));
        }
        """,
    )

    def on_buffer(self, buffer: SmemBuffer, context: Context) -> Iterable[Finding]:
        if not buffer.accesses_complete:
            return
        views = list(_views(buffer, context))
        if not views or any(isinstance(v, Unknown) for v in views):
            return
        known = [v for v in views if isinstance(v, View)]
        for read in (v for v in known if not v.written):
            others = [v for v in known if v.written and _comparable(v, read)]
            outcomes = [outcome for other in others for outcome in _equal(other, read, context)]
            if not outcomes or any(o.verdict is not Verdict.REFUTED for o in outcomes):
                continue
            other = others[0]
            yield self.finding(
                read.event.span,
                f"`{read.tensor.name}` is read through {read.layout}, but written through {other.layout} only",
                label="another layout than it is written through",
                help="derive one layout from the other, so that both are the same function of the coordinates",
                witness=outcomes[0].witness,
                related=[
                    Related(other.event.span, f"written here, through {other.layout}"),
                    Related(buffer.span, "the buffer"),
                ],
                enclosing=read.event.enclosing,
                arch=read.event.arch,
            )


def _views(buffer: SmemBuffer, context: Context) -> Iterator[View | Unknown]:
    """Every view of the buffer that an event has; Unknown for one that cannot be told."""
    for event in context.index.events_with(buffer.accesses):
        if event.arch != buffer.arch:
            continue
        for place, tensor in enumerate(event.operands):
            if tensor.buffer != buffer.buffer_id:
                continue
            start, root = _start(tensor), tensor.root_layout or tensor.layout
            if isinstance(root, Unknown) or start is None:
                yield root if isinstance(root, Unknown) else Unknown("start of the view is not known", tensor.span)
            else:
                yield View(event, tensor, root, start, event.kind == "copy" and place == 1)


def _start(tensor: TensorFact) -> int | None:
    """Offset in elements where thread 0 and every index is 0; None where that is not a number."""
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
        return None
    whole = tensor.root_start_bits is not None and tensor.root_bits is not None
    offset = as_expr(tensor.root_start_bits if whole else tensor.offset)  # type: ignore[arg-type]
    try:
        start = offset.evaluate({v.name: 0 for v in offset.variables()} | {THREAD: 0})
        return start // int(tensor.root_bits) if whole else start  # type: ignore[arg-type]
    except (KeyError, TypeError, ZeroDivisionError):
        return None


def _comparable(a: View, b: View) -> bool:
    """One shape in some order of the modes, one element type, one start; both layouts static."""
    if a.start != b.start or a.tensor.dtype is None or a.tensor.dtype != b.tensor.dtype:
        return False
    if not static_layout(a.layout) or not static_layout(b.layout):
        return False
    left, right = mode_sizes(a.layout), mode_sizes(b.layout)
    return len(left) <= _MOST_MODES and sorted(map(str, left)) == sorted(map(str, right))


def _equal(written: View, read: View, context: Context) -> Iterator[Outcome]:
    """Whether the views are one function, for every order of the modes that gives one shape."""
    sizes = mode_sizes(written.layout)
    for order in itertools.permutations(range(len(sizes))):
        turned = _turned(read.layout, order)
        if turned is None or mode_sizes(turned) != sizes:
            continue
        payload = LayoutEqual(written.layout, turned, what=read.tensor.name)
        yield context.prover(
            make_obligation(payload, (written.event.event_id, read.event.event_id), arch=read.event.arch,
                            span=read.event.span)
        )  # fmt: skip


def _turned(layout: AnyLayout, order: tuple[int, ...]) -> AnyLayout | None:
    """The layout with its modes in another order."""
    if len(order) == 1:
        return layout
    if isinstance(layout, Layout):
        turned = select(layout, *order)
        return turned if isinstance(turned, Layout) else None
    if not isinstance(layout, ComposedLayout) or not isinstance(layout.b, Layout):
        return None
    return replace(layout, b=select(layout.b, *order))
