"""CUT215 wgmma-not-waited."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context
from cutecheck.rules.derive.groups import groups_left
from cutecheck.rules.derive.protocol import cut_short, inside, pipelines
from cutecheck.rules.derive.releases import early_release
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.replayed import Replayed

_FENCES = ("fence", "warpgroup_arrive")
_COMMITS = ("commit_group", "warpgroup_commit_batch")
_WAITS = ("wait_group", "warpgroup_wait")
_STEPS = (*_FENCES, *_COMMITS, *_WAITS)

_EXAMPLE = """
        using Mma = decltype(make_tiled_mma(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
        __global__ void __launch_bounds__(128) product(half_t* out) {
          __shared__ alignas(1024) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
          a[threadIdx.x] = half_t(0);
          b[threadIdx.x] = half_t(0);
          auto thr = Mma{}.get_slice(threadIdx.x);
          Tensor rA = thr.make_fragment_A(thr.partition_A(make_tensor(make_smem_ptr(a), Smem{})));
          Tensor rB = thr.make_fragment_B(thr.partition_B(make_tensor(make_smem_ptr(b), Smem{})));
          Tensor g = thr.partition_C(make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
          Tensor acc = thr.make_fragment_C(g);
          %s
        }
        void run(half_t* out) { product<<<1, 128>>>(out); }
        """


class WgmmaNotWaited(Replayed):
    """A WGMMA that nothing fences, commits or waits for.

    What it checks
        In the order a kernel reaches them: ``wgmma.fence`` (``warpgroup_arrive``, ``warpgroup.fence``) comes before the
        first WGMMA; between a WGMMA and the next wait for groups a group is committed; after the last one something
        waits for all groups; a loop that multiplies what a pipeline brings, and releases its stages, waits; and the
        stage that a WGMMA reads is given back, in the same pass, after a wait for its group. Where a kernel can be run
        thread by thread, or all its threads go one way: accumulators are used (there: copied) when their group has
        been waited for; a ``warpgroup_arrive`` comes between what the thread itself does with registers and the WGMMA
        that has them as accumulators or as A; registers of A are filled anew when the group that reads them has been
        waited for; and what threads store to shared memory for a WGMMA or UMMA is fenced before
        (``fence_view_async_shared``, ``fence_proxy``; of the Python DSL not where all threads go one way). Of what they
        copy by ``cp.async`` that is not said.

    Why
        WGMMA runs on its own. Without the fence it may read registers that are still written, without commit and wait
        the accumulators are stored before they are done, and a stage that is released early is overwritten while it is
        read. All of it compiles, and often the results are right by luck.

    Example
        warpgroup_arrive();
        gemm(mma, rA, rB, acc);
        warpgroup_wait<0>();

    Use instead
        warpgroup_arrive();
        gemm(mma, rA, rB, acc);
        warpgroup_commit_batch();
        warpgroup_wait<0>();

    Assumptions
        Steps under conditions count as made. A kernel that has none of these steps is not judged, nor is a file that
        was not walked to its end.

    Fix
        Fence, multiply, commit, wait.

    References
        PTX ISA, wgmma.fence, wgmma.commit_group, wgmma.wait_group; cute/arch/mma_sm90_gmma.hpp
    """

    kinds = ("unfinished", "unfenced", "unordered", "refilled")
    code = "CUT215"
    name = "wgmma-not-waited"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the order of WGMMAs, fences, commits and waits."
    arch = ("sm_90a",)
    valid = (
        _EXAMPLE
        % "warpgroup_arrive(); gemm(Mma{}, rA, rB, acc); warpgroup_commit_batch(); warpgroup_wait<0>(); copy(acc, g);",
    )
    invalid = (
        _EXAMPLE % "warpgroup_arrive(); gemm(Mma{}, rA, rB, acc); warpgroup_wait<0>(); copy(acc, g);",
        _EXAMPLE % "gemm(Mma{}, rA, rB, acc); warpgroup_commit_batch(); warpgroup_wait<0>(); copy(acc, g);",
        _EXAMPLE % "warpgroup_arrive(); gemm(Mma{}, rA, rB, acc); warpgroup_commit_batch(); copy(acc, g);",
    )

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        products = _products(context).get((event.kernel, event.arch), []) if event.kernel else []
        if not products or event not in products or cut_short(context, event):
            return
        steps = _steps(context).get((event.kernel, event.arch), [])
        if not steps:
            return  # a trial of layouts, or who does it is not seen
        fault = self._fault(event, products, steps, context)
        if fault is not None:
            message, label, advice, related = fault
            yield self.finding(
                event.span, message, label=label, help=advice, related=related, enclosing=event.enclosing,
                arch=event.arch,
            )  # fmt: skip

    def _fault(
        self, event: Event, products: list[Event], steps: list[Call], context: Context
    ) -> tuple[str, str, str, list[Related]] | None:
        waits = [s for s in steps if s.function in _WAITS]
        later = [w for w in waits if w.order > event.order]
        if event is products[0] and not any(s.function in _FENCES and s.order < event.order for s in steps):
            return (
                "no fence comes before this WGMMA, the kernel's first: it may read registers that are still written",
                "no wgmma.fence before", "put warpgroup_arrive() before it", [],
            )  # fmt: skip
        if later and not any(s.function in _COMMITS and event.order < s.order < later[0].order for s in steps):
            return (
                "no group is committed between this WGMMA and the next wait, which waits for groups: it does not wait "
                "for this one",
                "not committed", "commit the group before the wait (warpgroup_commit_batch)",
                [Related(later[0].span, "waits for groups")],
            )  # fmt: skip
        left = [groups_left(w) for w in later]
        if event is products[-1] and None not in left and 0 not in left:
            open_ = min(cast("list[int]", left)) if left else 0
            why = f"the waits after it leave {open_} group{'s' * (open_ != 1)} open" if left else "nothing waits for it"
            return (
                f"after this WGMMA, the kernel's last, {why}: its accumulators are read while it may still run",
                "not waited for", "wait for all groups before the accumulators are used (warpgroup_wait<0>)", [],
            )  # fmt: skip
        early = early_release(event, waits, [s for s in steps if s.function in _COMMITS], context)
        if early is not None:
            return (
                "the stage that this WGMMA reads is given back before it is waited for: it may be overwritten while it "
                "is read",
                "still running at the release", "wait for its group before the release (warpgroup_wait<0>), or release "
                "the stage of the pass before", [Related(early.span, "given back here")],
            )  # fmt: skip
        return _released(event, products, waits, context)


def _released(
    event: Event, products: list[Event], waits: list[Call], context: Context
) -> tuple[str, str, str, list[Related]] | None:
    """A stage is released in a loop that waits for none of the WGMMAs in it, which read such stages."""
    for pipeline in pipelines(context).values():
        if pipeline.made.kernel != event.kernel or event not in pipeline.reads or pipeline.escapes:
            continue
        for loop in reversed(event.loops):
            if event is not next(p for p in products if loop in p.loops) or inside(loop, waits):
                break
            releases = inside(loop, pipeline.steps["release"])
            if releases:
                return (
                    "the loop releases a stage that WGMMAs in it read, and waits for none of them: the producer may "
                    "overwrite the stage while it is read",
                    "no wait for groups in the loop",
                    "wait before the release (warpgroup_wait<N>)",
                    [Related(releases[0].span, "releases a stage")],
                )  # fmt: skip
    return None


def _products(context: Context) -> dict[tuple[str, str], list[Event]]:
    """The WGMMAs of each kernel, as they are reached."""
    if "wgmmas" not in context.memo:
        found: dict[tuple[str, str], list[Event]] = {}
        for event in sorted(context.facts.events, key=lambda e: e.order):
            atom = atom_of_event(event)
            if event.kind == "gemm" and atom is not None and "GMMA::" in atom.op:
                found.setdefault((event.kernel, event.arch), []).append(event)
        context.memo["wgmmas"] = found
    return cast("dict[tuple[str, str], list[Event]]", context.memo["wgmmas"])


def _steps(context: Context) -> dict[tuple[str, str], list[Call]]:
    """Fences, commits and waits of WGMMAs of each kernel, as they are reached."""
    if "wgmma steps" not in context.memo:
        found: dict[tuple[str, str], list[Call]] = {}
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            if call.function in _STEPS:
                found.setdefault((call.kernel, call.arch), []).append(call)
        context.memo["wgmma steps"] = found
    return cast("dict[tuple[str, str], list[Call]]", context.memo["wgmma steps"])
