"""CUT217 barrier-wrong-steps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import cast

from cutecheck.facts import NOT_WALKED, Call, Event, Span, Unknown
from cutecheck.findings import Finding, Related
from cutecheck.model.access import WARP
from cutecheck.model.ints import Dyn, Sym, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.barrier_arrays import arrays, committed_otherwise, initialised_twice, too_few_of_all
from cutecheck.rules.derive.barriers import (
    Barriers,
    all_expect,
    barriers,
    not_arrived,
    not_expected,
    not_initialised,
    not_waited,
    one_not_told,
    same_phase,
    threads_of_block,
    too_few_arrivals,
    too_few_arrive,
)
from cutecheck.rules.derive.cluster_arrivals import (
    blocks_of_cluster,
    miscounted,
    not_everywhere,
    not_released,
)
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import at_most, in_turns, in_warps
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.remote import too_early, too_late
from cutecheck.rules.replayed import Replayed

_NAMED = "mbarrier.named"
# other calls that may be at a barrier of the hardware
_HARDWARE = re.compile(r"^(?:asm\.)?(?:barrier|barrier_arrive|arrive_and_wait|arrive_unaligned|arrive|wait|sync)$")
_EXAMPLE = """
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        using Full = cutlass::arch::ClusterTransactionBarrier;
        using Empty = cutlass::arch::ClusterBarrier;
        template <class Tma>
        __global__ void __launch_bounds__(128) sum(CUTE_GRID_CONSTANT Tma const tma, half_t* out, int tiles) {
          __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
          __shared__ alignas(8) uint64_t full[1], empty[1];
          Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
          Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(_, 0));
          auto cta = tma.get_slice(0);
          if (threadIdx.x == 0) {
            Full::init(&full[0], 1);
            Empty::init(&empty[0], 128);
          }
          __syncthreads();
          int phase = 0;
          for (int i = 0; i < tiles; ++i) {
            if (threadIdx.x == 0) {
              Empty::wait(&empty[0], phase ^ 1);
              %s
              copy(tma.with(full[0]), cta.partition_S(gA(_, _, i)), cta.partition_D(sA));
            }
            Full::wait(&full[0], %s);
            Tensor r = make_tensor<half_t>(Shape<_64>{});
            copy(sA(threadIdx.x, _), r);
            out[threadIdx.x] = r(0);
            %s
            phase ^= 1;
          }
        }
        void run(half_t const* A, half_t* out, int tiles) {
          Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
          sum<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}), out, tiles);
        }
        """
_EXPECT = "Full::arrive_and_expect_tx(&full[0], size(Smem{}) * sizeof(half_t));"
_ARRIVE = "Empty::arrive(&empty[0]);"


class BarrierStepMissing(Replayed):
    """A step of a barrier in shared memory is missing that a kernel uses by hand, or its phase stays.

    What it checks
        Of each array of barriers that a kernel initialises and uses itself (``ClusterTransactionBarrier``,
        ``ClusterBarrier``, ``initialize_barrier``, ``wait_barrier`` ...; in Python ``cute.arch.mbarrier_init``,
        ``mbarrier_arrive_and_expect_tx``, ``mbarrier_wait`` ...): something initialises it, tells it the bytes
        of the TMA loads that signal it (in a loop around the loads, too), arrives at it where it is waited for, at
        this one of the array as at others, and waits for it where something arrives; the phase of a wait in a loop that
        goes on is not a constant; and it counts as many arrivals as the block has threads, where all of them arrive in
        each pass, or as those of one role, where conditions on the thread's index pick them and ``elect_one()`` one of
        each warp: no fewer where they tell of bytes, too, and few where one thread does; no more than the threads of
        all roles that arrive at it. No two places initialise one barrier: where several uses stand in one array, each
        is what one place initialises. A ``NamedBarrier`` that all
        threads of a block come to, or those of one role and no others, counts as many; where the kernel can be run
        thread by thread, as many as come there in any of its passes, the threads do not come to a stop at waits
        for phases that none of them ends, and barriers in shared memory count as many as arrive for the phases that are
        waited for; no thread waits for the parity of a phase that it knows to be over where the others may end the
        next one without it; some barrier is initialised, and each member of a structure that threads wait for where
        others of it are; a pipeline's stage that is acquired, and waited for, is loaded to; blocks of persistent
        kernels take several tiles; no TMA load is under way as the block ends, where those before were waited for.
        No thread uses a barrier that another one initialises before the two have met. The barriers of
        ``PipelineAsync`` and ``PipelineTransactionAsync`` (``producer_arv_count``, ``consumer_arv_count``) and of empty
        stages of ``PipelineTmaAsync`` (``num_consumers``), within one block, count as many threads as commit and
        release. Of one warp one lane loads a tile by TMA, and no load
        tells one barrier in all passes whose thread announces its bytes to another one in each.
        In a cluster of several blocks: where arrivals are at blocks whose numbers are constants or those of a loop,
        each block that waits gets some, and barriers count those of all blocks; a multicast in a loop waits for a
        barrier that other blocks' threads arrive at, too, unless blocks meet in the loop; before shared memory of
        another block is reached (an arrival there, a multicast, ``st.shared::cluster``, ``st.async``) all blocks have
        met, and they meet after it, or a barrier there is waited for.

    Why
        All of it compiles. A wait whose barrier nobody tells never ends; one for a phase that is over ends at once, and
        the kernel computes with the tile before.

    Example
        for (int k = 0; k < tiles; ++k) {
          ClusterTransactionBarrier::wait(&full[state.index()], 0);

    Use instead
        for (int k = 0; k < tiles; ++k) {
          ClusterTransactionBarrier::wait(&full[state.index()], state.phase());

    Assumptions
        Steps under conditions count as made. A kernel in which a barrier or the barrier of a load is not known, of
        which not all was walked, or that gives the array to code, or to instructions, that are not followed, is not
        judged.

    Fix
        Initialise; expect, load; wait, read, arrive: with phases that flip each time the barriers have come round.

    References
        PTX ISA, mbarrier; cutlass/arch/barrier.h; examples/cute/tutorial/hopper/wgmma_tma_sm90.cu
    """

    kinds = (
        "crowded", "shut", "stuck", "starved", "untold", "repeated", "outrun", "scant", "overfull", "uninitialised",
        "unmade", "made twice", "premature", "under way",
    )  # fmt: skip
    code = "CUT217"
    name = "barrier-wrong-steps"
    family = "lint"
    severity = "error"
    confidence = "heuristic"
    unasked = "None: it compares the order of a barrier's steps."
    arch = ("sm_90a",)
    valid = (_EXAMPLE % (_EXPECT, "phase", _ARRIVE),)
    invalid = (
        _EXAMPLE % ("", "phase", _ARRIVE),
        _EXAMPLE % (_EXPECT, "0", _ARRIVE),
        _EXAMPLE % (_EXPECT, "phase", ""),
    )

    def _is_said(self, fault: Fault, call: Call, context: Context) -> bool:
        if fault.kind in ("stuck", "outrun") and self._array_told(call, context):
            return True  # which is why
        if fault.kind == "made twice" and fault.other is not None:  # of one array the source alone says it
            twice = (initialised_twice(mine) for found in arrays(context).values() for mine in found)
            if any(t is not None and t[0].span in (fault.step.span, fault.other.span) for t in twice):
                return True
        of_arrays = ("scant", "overfull", "uninitialised", "unmade", "premature")
        if fault.kind in of_arrays and not fault.place.name and self._counted_apart(call, context):
            return True
        if fault.kind in ("shut", "crowded"):  # what it counts may be wrong by the conditions around it alone
            at = (_NAMED, fault.step.span, call.kernel, call.arch)
            mine = (c for c in context.facts.calls if (c.function, c.span, c.kernel, c.arch) == at)
            if any(True for c in mine for _ in self._named(c, context)):
                return True
        return super()._is_said(fault, call, context)

    def _array_told(self, call: Call, context: Context) -> bool:
        """Something is said of an array of barriers of the kernel without a run."""
        steps = (c for c in context.facts.calls if (c.kernel, c.arch) == (call.kernel, call.arch))
        found = ((mine, c) for c in steps for mine in arrays(context).get(id(c), ()))
        return any(True for mine, c in found for _ in self._of_array(mine, c, context))

    def _counted_apart(self, call: Call, context: Context) -> bool:
        """What the steps of some barrier of the kernel say without a run is said of these."""
        mine = [
            b
            for (s, arch, _), b in barriers(context).items()
            if (s.partition("|")[0], arch) == (call.kernel, call.arch)
        ]
        threads = threads_of_block(call, context)
        asked = (too_few_arrivals, all_expect, too_few_arrive)
        judged = [b for b in mine if not b.escapes and b.initialises]
        steps = (c for c in context.facts.calls if (c.kernel, c.arch) == (call.kernel, call.arch))
        return any(ask(b, threads) is not None for b in judged for ask in asked) or any(
            committed_otherwise(b, threads) is not None for c in steps for b in arrays(context).get(id(c), ())
        )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        yield from super().on_call(call, context)
        yield from self._of_cluster(call, context)
        if not call.function.startswith("mbarrier."):
            return
        if call.function.startswith(_NAMED):
            if call.function == _NAMED:
                yield from self._named(call, context)
            return
        for mine in arrays(context).get(id(call), ()):
            yield from self._of_array(mine, call, context)

    def _of_array(self, mine: Barriers, call: Call, context: Context) -> Iterable[Finding]:
        threads, blocks = threads_of_block(call, context), blocks_of_cluster(call, context)
        for found in (
            not_initialised(mine), not_expected(mine), not_waited(mine), not_arrived(mine), one_not_told(mine),
            same_phase(mine), too_few_arrivals(mine, threads), all_expect(mine, threads), too_few_arrive(mine, threads),
            too_few_of_all(mine, threads), initialised_twice(mine), not_everywhere(mine, threads, blocks),
            miscounted(mine, threads, blocks), committed_otherwise(mine, threads),
        ):  # fmt: skip
            if found is not None:
                at, message, label, advice = found
                yield self.finding(
                    at.span, message, label=label, help=advice, enclosing=at.enclosing, arch=call.arch
                )  # fmt: skip

    def _of_cluster(self, at: Call | Event, context: Context) -> Iterable[Finding]:
        """Other blocks' shared memory, before they have started, or after they may have ended."""
        if too_early(at, context):
            yield self.finding(
                at.span,
                "this reaches shared memory of other blocks of the cluster, and nothing before it waits for them: they "
                "need not have started, nor have initialised their barriers",
                label="no cluster_sync() before",
                help="cluster_sync() (cluster_arrive_relaxed, cluster_wait) after the barriers are initialised",
                enclosing=at.enclosing, arch=at.arch,
            )  # fmt: skip
        if too_late(at, context):
            yield self.finding(
                at.span,
                "this reaches shared memory of other blocks of the cluster, and nothing after it waits for them: a "
                "block may have ended, or not see what was written",
                label="no cluster_sync() after", help="cluster_sync() before what was written is read, and at the end",
                enclosing=at.enclosing, arch=at.arch, severity="warning",
            )  # fmt: skip

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._of_cluster(event, context)
        wait = not_released(event, context)
        if wait is not None:
            yield self.finding(
                event.span,
                "this load goes to other blocks of the cluster, too, and none of them says that its stage is free: the "
                "wait before it is for threads of this block alone",
                label="other blocks may still read there",
                help="let the consumers arrive at the empty barriers of all blocks that write to their shared memory "
                "(ClusterBarrier::arrive(cta_id)), and count the arrivals of all blocks",
                related=[Related(wait.span, "waits for this block")],
                enclosing=event.enclosing, arch=event.arch,
            )  # fmt: skip

    def _named(self, call: Call, context: Context) -> Iterable[Finding]:
        """A barrier of the hardware that the block, or one role of it, comes to, for another number of threads."""
        count, threads = _number(call, 0), threads_of_block(call, context)
        guards = [g for g in inner(call.guards) if not g.alike]  # no thread of a block comes, or all do
        come = None if threads is None else in_warps(guards, threads)
        if count is None or threads is None or count == come:
            return
        if not come or (guards and count > come and not _alone(call, context)):
            most = _at_most(call, threads, context)
            if most is not None and count > most:
                yield self._never_opens(call, count, most)
            return
        if guards and (_number(call, 1) is None or in_turns(count, come)):
            return
        if count < come and _is_open(call, 1):
            return  # threads of each role come to one of their own
        who = f"all {come} threads of the block come" if come == threads else f"{come} threads come"
        yield self.finding(
            call.span,
            f"{who} to a named barrier for {count}: "
            + ("it opens before all have come" if count < come else "it never opens"),
            label=f"{count} threads",
            help=f"sync {come} threads" + ("" if guards else ", or use __syncthreads()"),
            enclosing=call.enclosing, arch=call.arch,
        )  # fmt: skip

    def _never_opens(self, call: Call, count: int, most: int) -> Finding:
        return self.finding(
            call.span,
            f"at most {most} threads come to a named barrier for {count}: it never opens",
            label=f"{count} threads",
            help=f"sync the threads that come, {most} if all do",
            enclosing=call.enclosing,
            arch=call.arch,
        )


def _at_most(call: Call, threads: int, context: Context) -> int | None:
    """Threads of the warps that may come to the barrier, from all places; None where others may that are not seen."""
    which = _number(call, 1)
    numbers = _numbers(call, context)
    if which is None or threads > LARGEST_BLOCK or None in numbers.values():
        return None
    places = {s for s, n in numbers.items() if n == which}
    # of those that sync, and by place of those that arrive, which may come again to wait
    warps: dict[Span | None, set[int]] = defaultdict(set)
    for c in _named_of(call, context):
        if c.span in places:
            warps[None if c.function == _NAMED else c.span] |= at_most(inner(c.guards), threads)
    return sum(min(threads, WARP * len(w)) for w in warps.values())


def _named_of(call: Call, context: Context) -> list[Call]:
    """The steps of a kernel at named barriers."""
    if "steps at named barriers" not in context.memo:
        steps: dict[tuple[str, str], list[Call]] = defaultdict(list)
        for c in context.facts.calls:
            if c.function.startswith(_NAMED):
                steps[c.kernel, c.arch].append(c)
        context.memo["steps at named barriers"] = steps
    every = cast("dict[tuple[str, str], list[Call]]", context.memo["steps at named barriers"])
    return every[call.kernel, call.arch]


def _number(call: Call, at: int) -> int | None:
    given = call.arguments[at] if len(call.arguments) > at else None
    return known_value(given) if isinstance(given, (int, Dyn, Sym)) else None


def _is_open(call: Call, at: int) -> bool:
    """Whether an argument is a number that is not the same for all threads, as far as is known."""
    given = call.arguments[at] if len(call.arguments) > at else None
    return isinstance(given, Dyn) and known_value(given) is None


def _alone(call: Call, context: Context) -> bool:
    """No thread comes to this barrier elsewhere, as far as is seen, nor to one that is not known."""
    return all(s == call.span or n not in (None, _number(call, 1)) for s, n in _numbers(call, context).items())


def _numbers(call: Call, context: Context) -> dict[Span, int | None]:
    """The barriers that the kernel comes to, by place; None for one that is not known."""
    if "named" not in context.memo:
        named: dict[tuple[str, str], dict[Span, int | None]] = defaultdict(dict)
        calls = context.facts.calls
        for c in (c for c in calls if c.function.startswith(_NAMED)):
            of = named[c.kernel, c.arch]
            of[c.span] = _number(c, 1) if of.get(c.span, _number(c, 1)) == _number(c, 1) else None
        for c in calls:
            unseen = isinstance(c.result, Unknown) and c.result.reason == NOT_WALKED
            lost = c.function == "mbarrier.escapes" and c.subject.endswith("|named")
            if unseen or lost or _HARDWARE.search(c.function):
                named[c.kernel, c.arch].setdefault(c.span, None)
        context.memo["named"] = named
    others = cast("dict[tuple[str, str], dict[Span, int | None]]", context.memo["named"])
    return others[call.kernel, call.arch]
