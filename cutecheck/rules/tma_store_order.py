"""CUT216 tma-store-not-ordered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context
from cutecheck.rules.derive.protocol import cut_short, inside
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.uses import Use, exclusive, order, uses_of
from cutecheck.rules.derive.waits import overlaps
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
        thread: nothing is written that a TMA store may still read, by the wait of its thread and a barrier after it.

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
        Fences, commits and waits under conditions count as made; of writes only copies are known. A last store that
        nothing waits for is a note: what CUDA's guide asks for, it seldom shows. A file that was not
        walked to its end is not judged.

    Fix
        Write, fence, barrier, store, commit, wait.

    References
        PTX ISA, fence.proxy.async, cp.async.bulk.commit_group; cute/arch/copy_sm90_tma.hpp
    """

    kinds = ("undrained", "unflushed")
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
        if not event.kernel or not _stores(event) or cut_short(context, event):
            return
        use = next((u for u in uses_of(event) if not u.written), None)
        if use is None:
            return
        steps = _steps(context).get((event.kernel, event.arch), [])
        fault = _not_fenced(use, steps, context) or _not_waited(use, steps, context)
        if fault is not None:
            message, label, advice, related = fault
            ends = not related and "end" in message
            yield self.finding(
                event.span, message, label=label, help=advice, related=related, enclosing=event.enclosing,
                arch=event.arch, severity="note" if ends else None,
            )  # fmt: skip


_Fault = tuple[str, str, str, list[Related]] | None


def _stores(event: Event) -> bool:
    atom = atom_of_event(event)
    return event.kind == "copy" and atom is not None and ("TMA_STORE" in atom.op or "TMA_REDUCE" in atom.op)


def _by_threads(use: Use) -> bool:
    atom = atom_of_event(use.event)
    return use.written and not (atom is not None and "TMA" in atom.op)


def _not_fenced(use: Use, steps: list[Call], context: Context) -> _Fault:
    written = [u for u in order(context).before(use) if _by_threads(u) and overlaps(u, use)]
    written = [u for u in written if not exclusive(u.event, use.event)]
    if not written:
        return None
    last = written[-1].event
    if any(_FENCE.search(s.function) and last.order < s.order < use.event.order for s in steps):
        return None
    return (
        f"TMA stores `{use.tensor.name}`, which threads have written before, and no fence between the proxies comes "
        "between: it may store what was there before",
        f"written at line {last.span.line}, no fence since",
        "put tma_store_fence() (cute.arch.fence_proxy, fence_view_async_shared) between the writes and the barrier",
        [Related(last.span, "written here")],
    )


def _not_waited(use: Use, steps: list[Call], context: Context) -> _Fault:
    later = [s for s in steps if s.order > use.event.order]
    commits = [s for s in later if _COMMIT.search(s.function)]
    waits = [s for s in later if _WAIT.search(s.function)]
    if not waits:
        return (
            f"nothing waits for the TMA store of `{use.tensor.name}`: the block may end while its shared memory is "
            "read",
            "no wait after it", "commit, and wait before the block ends (tma_store_wait<0>, cp_async_bulk_wait_group)",
            [],
        )  # fmt: skip
    if not commits:
        return (
            f"nothing commits the TMA store of `{use.tensor.name}`: the wait for groups does not wait for it",
            "no commit after it", "commit it (tma_store_arrive, cp_async_bulk_commit_group)",
            [Related(waits[0].span, "waits for groups")],
        )  # fmt: skip
    for write in order(context).before(use):
        common = [x for x in use.event.loops if x in write.event.loops]
        if not common or not _by_threads(write) or not overlaps(write, use):
            continue
        if not any(_WAIT.search(s.function) for s in inside(common[-1], steps)):
            return (
                f"TMA stores `{use.tensor.name}` in a loop that writes there again, and does not wait: the next pass "
                "may overwrite what is still read",
                f"written at line {write.event.span.line} in each pass", "wait in the loop, before it writes again",
                [Related(write.event.span, "written here")],
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
