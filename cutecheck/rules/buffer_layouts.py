"""CUT208 smem-layouts-disagree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Event, SmemBuffer, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.algebra import filter_zeros
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Injective
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.accesses import static_layout
from cutecheck.rules.derive.views import View, comparable, compared, rearranged, stored_since, views_of


class SameBufferSameLayout(Rule):
    """A tile of shared memory is read through another layout than any it is written through.

    What it checks
        For shared-memory buffers all of whose accesses are known: a view that a copy or MMA reads is, up to the order
        of its modes, the same function of coordinates as some view of the same shape, element type and start that a
        copy writes. And of each array of shared memory that a copy writes: its layout has no two elements at one place,
        but those that a stride of 0 repeats.

    Why
        The producer swizzles and the consumer does not, or each has its own swizzle or padding: both are in bounds,
        both compile, and every element but a few is read from another one's place. A stage that starts where the one
        before has not ended, since only one of two strides has the padding, is written over its last elements.

    Example
        Tensor sW = make_tensor(make_smem_ptr(smem), SwizzledTile{});  // written
        Tensor sR = make_tensor(make_smem_ptr(smem), PlainTile{});     // read

    Use instead
        one layout type for both, or a transposed view of it: composition(SwizzledTile{}, Layout<...>{})

    Assumptions
        Only tiles of one shape are compared; sub-tiles, stages at other offsets and transposed views are not reported,
        nor views that have the same elements under the same swizzle in another order, of which threads copy parts that
        no TiledCopy or TiledMMA gives them: they exchange values so.
        Elements stored one by one outside ``copy`` are not seen.

    Fix
        Derive the consumer's layout from the producer's. Give a stage the stride of all that it takes, padding too.

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
        """
        using Stages = Layout<Shape<_64, _64, _2>, Stride<_72, _1, Int<4608>>>;
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) stages(half_t const* in) {
          __shared__ alignas(128) half_t tile[cosize_v<Stages>];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64, _2>, Stride<_64, _1, _4096>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Stages{});
          auto fill = Fill{}.get_slice(threadIdx.x);
          copy(Fill{}, fill.partition_S(g), fill.partition_D(s));
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
        """
        using Stages = Layout<Shape<_64, _64, _2>, Stride<_72, _1, Int<4096>>>;
        using Fill = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        __global__ void __launch_bounds__(128) stages(half_t const* in) {
          __shared__ alignas(128) half_t tile[cosize_v<Stages>];
          Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64, _2>, Stride<_64, _1, _4096>>{});
          Tensor s = make_tensor(make_smem_ptr(tile), Stages{});
          auto fill = Fill{}.get_slice(threadIdx.x);
          copy(Fill{}, fill.partition_S(g), fill.partition_D(s));
        }
        """,
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        tensor = event.operands[1] if event.kind == "copy" and len(event.operands) > 1 else None
        if tensor is None or tensor.space != "smem" or tensor.root_layout is None:
            return
        whole = tensor.root_layout.b if isinstance(tensor.root_layout, ComposedLayout) else tensor.root_layout
        # once a function, not once a run: others may be judged in other processes
        seen = cast("set[tuple[str, str, str, str]]", context.memo.setdefault("overlapping", set()))
        key = (event.enclosing, tensor.buffer or "", str(whole), event.arch)
        if not isinstance(whole, Layout) or not static_layout(whole) or key in seen:
            return
        seen.add(key)
        payload = Injective(filter_zeros(whole), tensor.name)
        outcome = context.prove(make_obligation(payload, (event.event_id,), arch=event.arch, span=event.span))
        if outcome.verdict is Verdict.REFUTED:
            yield self.finding(
                event.span,
                f"two elements of `{tensor.name}` have one place in shared memory: what one is written to is lost when "
                "the other is written",
                label=f"part of {tensor.root_layout}",
                help="give the last mode, the stages, the stride of all that the others take, padding too",
                witness=outcome.witness,
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def on_buffer(self, buffer: SmemBuffer, context: Context) -> Iterable[Finding]:
        if not buffer.accesses_complete:
            return
        views = list(views_of(buffer, context))
        if not views or any(isinstance(v, Unknown) for v in views):
            return
        known = [v for v in views if isinstance(v, View)]
        for read in (v for v in known if not v.written):
            others = [v for v in known if v.written and comparable(v, read)]
            outcomes = [outcome for other in others for outcome in compared(other, read, context)]
            if not outcomes or any(o.verdict is not Verdict.REFUTED for o in outcomes):
                continue
            if any(_exchanged(other, read) for other in others) or stored_since(others, read, context):
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


def _exchanged(written: View, read: View) -> bool:
    """Threads that cut the buffer by hand may mean another order."""
    tiled = all(v.event.kind == "gemm" or isinstance(v.event.tiled, (TiledCopy, TiledMMA)) for v in (written, read))
    return not tiled and rearranged(written.layout, read.layout)
