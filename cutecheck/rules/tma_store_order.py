"""CUT216 tma-store-not-ordered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context
from cutecheck.rules.derive.drains import Store, store_of, written_before
from cutecheck.rules.derive.protocol import cut_short, inside
from cutecheck.rules.replayed import Replayed

_FENCE = re.compile(r"fence_proxy|fence_view|tma_store_fence|proxy_fence|fence_async|async_fence|^fence$|_fence$")
_OTHERS = re.compile(r"cp_async_commit|cp_async_fence|cp_async_wait|commit_batch|warpgroup|init|cluster|mbarrier")
_COMMIT = re.compile(r"commit|tma_store_arrive|arrive")
_WAIT = re.compile(r"bulk_wait|store_wait|acquire|tail|wait_group|wait")

_EXAMPLE = """
        using Tile = Layout<Shape<_64, _64>, Stride<_64, _1>>;
        using Write = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
            Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
        template <class Tma>
        __global__ void __launch_bounds__(128) save(CUTE_GRID_CONSTANT Tma const tma, half_t const* in) {
          __shared__ alignas(128) half_t smem[cosize_v<Tile>];
          Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
          auto thr = Write{}.get_slice(threadIdx.x);
          copy(Write{}, thr.partition_S(make_tensor(make_gmem_ptr(in), Tile{})), thr.partition_D(s));
          %s__syncthreads();
          Tensor g = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
          auto cta = tma.get_slice(0);
          if (threadIdx.x == 0) {
            copy(tma, cta.partition_S(s), cta.partition_D(g));
            %s
          }
        }
        void run(half_t* out, half_t const* in) {
          Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          save<<<8, 128>>>(make_tma_copy(SM90_TMA_STORE{}, g, Tile{}), in);
        }
        """


class TmaStoreNotOrdered(Replayed):
    """A TMA store that may not see what was written, or that nothing waits for.

    What it checks
        Between what threads write to shared memory and a TMA store of it there is a fence between the two proxies
        (``tma_store_fence``, ``fence_view_async_shared``, ``fence_proxy``); after the store a group is committed
        (``tma_store_arrive``, ``cp_async_bulk_commit_group``, ``producer_commit`` of a ``PipelineTmaStore``) and
        something waits for it; in a loop that writes there again, the loop waits. Where a kernel can be run thread by
        thread, if only its first passes: nothing is written that a TMA store may still read, by the wait of its thread
        and a barrier after it (``__syncwarp()`` among the lanes of a warp). Stores by ``SM90_TMA_STORE_2D::copy`` and
        by assembly count as those of CuTe's copies do.

    Why
        TMA reads shared memory through another proxy: without the fence it may store what was there before. A block
        that ends, or writes again, while TMA still reads stores garbage.

    Example
        copy(r2s, rC, sC);
        __syncthreads();
        copy(tma, tCsC, tCgC);

    Use instead
        copy(r2s, rC, sC);
        tma_store_fence();
        __syncthreads();
        copy(tma, tCsC, tCgC);
        tma_store_arrive();
        tma_store_wait<0>();

    Assumptions
        Fences, commits and waits under conditions count as made; of writes copies are known, and stores of single
        elements. A last store that nothing waits for is a note: what CUDA's guide asks for, it seldom shows. A file
        that was not walked to its end is not judged.

    Fix
        Write, fence, barrier, store, commit, wait.

    References
        PTX ISA, fence.proxy.async, cp.async.bulk.commit_group; cute/arch/copy_sm90_tma.hpp
    """

    kinds = ("undrained", "unflushed", "left open")
    code = "CUT216"
    name = "tma-store-not-ordered"
    family = "epilogue"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the order of writes, fences and stores."
    arch = ("sm_90a",)
    valid = (_EXAMPLE % ("tma_store_fence(); ", "tma_store_arrive(); tma_store_wait<0>();"),)
    invalid = (
        _EXAMPLE % ("", "tma_store_arrive(); tma_store_wait<0>();"),
        _EXAMPLE % ("tma_store_fence(); ", "tma_store_wait<0>();"),
        _EXAMPLE % ("tma_store_fence(); ", "tma_store_arrive();"),
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._of(event, context)

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        yield from self._of(call, context)

    def _of(self, at: Event | Call, context: Context) -> Iterable[Finding]:
        store = store_of(at) if at.kernel else None
        if store is None or cut_short(context, at):
            return
        steps = _steps(context).get((at.kernel, at.arch), [])
        fault = _not_fenced(store, steps, context) or _not_waited(store, steps, context)
        if fault is not None:
            message, label, advice, related = fault
            ends = not related and "end" in message
            yield self.finding(
                at.span, message, label=label, help=advice, related=related, enclosing=at.enclosing,
                arch=at.arch, severity="note" if ends else None,
            )  # fmt: skip


_Fault = tuple[str, str, str, list[Related]] | None


def _not_fenced(store: Store, steps: list[Call], context: Context) -> _Fault:
    written = list(written_before(store, context))
    if not written:
        return None
    last = written[-1].at
    if any(_FENCE.search(s.function) and last.order < s.order < store.at.order for s in steps):
        return None
    return (
        f"TMA stores `{store.name}`, which threads have written before, and no fence between the proxies comes "
        "between: it may store what was there before",
        f"written at line {last.span.line}, no fence since",
        "put tma_store_fence() between the writes and the barrier",
        [Related(last.span, "written here")],
    )


def _not_waited(store: Store, steps: list[Call], context: Context) -> _Fault:
    later = [s for s in steps if s.order > store.at.order]
    commits = [s for s in later if _COMMIT.search(s.function)]
    waits = [s for s in later if _WAIT.search(s.function)]
    if not waits:
        return (
            f"nothing waits for the TMA store of `{store.name}`: the block may end while its shared memory is read",
            "no wait after it", "commit, and wait before the block ends (tma_store_wait<0>)",
            [],
        )  # fmt: skip
    if not commits:
        return (
            f"nothing commits the TMA store of `{store.name}`: the wait for groups does not wait for it",
            "no commit after it", "commit it (tma_store_arrive)",
            [Related(waits[0].span, "waits for groups")],
        )  # fmt: skip
    for write in written_before(store, context):
        common = [x for x in store.at.loops if x in write.at.loops]
        if common and not any(_WAIT.search(s.function) for s in inside(common[-1], steps)):
            return (
                f"TMA stores `{store.name}` in a loop that writes there again, and does not wait: the next pass "
                "may overwrite what is still read",
                f"written at line {write.at.span.line} in each pass", "wait in the loop, before it writes again",
                [Related(write.at.span, "written here")],
            )  # fmt: skip
    return None


def _steps(context: Context) -> dict[tuple[str, str], list[Call]]:
    """Fences, commits and waits of each kernel that may be a store's, as they are reached."""
    if "store steps" not in context.memo:
        found: dict[tuple[str, str], list[Call]] = {}
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            if call.kernel and not _OTHERS.search(call.function) and not _of_loads(call):
                found.setdefault((call.kernel, call.arch), []).append(call)
        context.memo["store steps"] = found
    return cast("dict[tuple[str, str], list[Call]]", context.memo["store steps"])


def _of_loads(call: Call) -> bool:
    """A consumer's wait for what was loaded."""
    return call.function.startswith(("consumer_", "wait_and_advance", "try_"))
