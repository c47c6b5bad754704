"""CUT708 registers-do-not-fit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.findings import Finding, Related, Severity
from cutecheck.model.ints import Condition, Dyn, Rel, Sym, as_expr, known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import passing
from cutecheck.rules.derive.launches import threads_of
from cutecheck.rules.derive.pressure import FILE, accumulators
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.whole_warpgroups import left_out

ALLOCATES = ("warpgroup_reg_alloc", "setmaxregister_increase")
_MEASURED = "sm_90"  # where warps that do not come were seen to stop the others
FREES = ("warpgroup_reg_dealloc", "setmaxregister_decrease")
_WARPGROUP = 128
_LEAST, _MOST, _STEP = 24, 256, 8

_EXAMPLE = """
        using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
            Layout<Shape<_2, _1, _1>>{}));
        using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
        __global__ void __launch_bounds__(384, 1) product(float* out) {
          __shared__ alignas(1024) half_t a[cosize_v<Smem>], b[cosize_v<Smem>];
          if (threadIdx.x < 128) {
            cutlass::arch::warpgroup_reg_dealloc<%s>();
            a[threadIdx.x] = half_t(0);
            b[threadIdx.x] = half_t(0);
          } else {
            cutlass::arch::warpgroup_reg_alloc<%s>();
            auto thr = Mma{}.get_slice(threadIdx.x - 128);
            Tensor rA = thr.make_fragment_A(thr.partition_A(make_tensor(make_smem_ptr(a), Smem{})));
            Tensor rB = thr.make_fragment_B(thr.partition_B(make_tensor(make_smem_ptr(b), Smem{})));
            Tensor g = thr.partition_C(make_tensor(make_gmem_ptr(out), Layout<Shape<_128, _128>, Stride<_128, _1>>{}));
            Tensor acc = thr.make_fragment_C(g);
            warpgroup_arrive();
            gemm(Mma{}, rA, rB, acc);
            warpgroup_commit_batch();
            warpgroup_wait<0>();
            copy(acc, g);
          }
        }
        void run(float* out) { product<<<1, 384>>>(out); }
        """

# each warpgroup multiplies for itself
_ALONE = _EXAMPLE.replace("Shape<_2, _1, _1>", "Shape<_1, _1, _1>").replace("threadIdx.x - 128", "threadIdx.x & 127")


class RegisterCounts(Rule):
    """Warpgroups ask for more registers than the block has, or for a number that the instruction does not take.

    What it checks
        The counts of ``setmaxnreg`` (``warpgroup_reg_alloc``, ``warpgroup_reg_dealloc``; of the DSL also
        ``setmaxregister_increase`` and ``setmaxregister_decrease``) are multiples of 8 from 24 to 256; no warpgroup
        gives back down to more than a thread can have when the kernel starts; what the warpgroups keep and ask for
        together is no more than the block was given; and the accumulators of a warpgroup fit what it asks for. All four
        warps of a warpgroup of which one executes the instruction come to one.

    Why
        A block gets its registers when it starts: 65536 shared by its threads, a multiple of 8 each. ``setmaxnreg.inc``
        waits until the other warpgroups have given back as many as it asks for. Where they do not, it waits for ever.
        All warps of a warpgroup execute the same ``setmaxnreg``; what comes of it where one does not is undefined. An
        H200 waits for ever, also where the other warps have ended. Elsewhere than on sm_90 it is a warning.

    Example
        cutlass::arch::warpgroup_reg_dealloc<56>();  // the producer, of 384 threads
        cutlass::arch::warpgroup_reg_alloc<240>();   // two warpgroups of consumers: 56 + 2 * 240 > 3 * 168

    Use instead
        cutlass::arch::warpgroup_reg_dealloc<24>();
        cutlass::arch::warpgroup_reg_alloc<240>();

    Assumptions
        Branches of one condition are of different warpgroups: as many as its threads are, where the condition is on
        the thread's index alone; else a branch in which an MMA of 256 threads is issued has two. The kernel starts
        with as many registers a thread as its ``__launch_bounds__`` allow in one block.

    Fix
        Give back more in the producer, or ask for less: 40 and 232, or 24 and 240, for three warpgroups.

    References
        PTX ISA, setmaxnreg; cutlass/arch/reg_reconfig.h
    """

    code = "CUT708"
    name = "registers-do-not-fit"
    family = "register-pressure"
    severity = "error"
    confidence = "proved"
    unasked = "The table of public trees was counted before this rule was there."
    arch = ("sm_90a",)
    valid = (_EXAMPLE % (40, 232), _EXAMPLE % (24, 240), _ALONE % (24, 240))
    invalid = (_EXAMPLE % (56, 240), _EXAMPLE % (40, 236), _EXAMPLE % (24, 56), _ALONE % (32, 248))

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        count = asked(call)
        if count is None or not call.kernel:
            return
        if count % _STEP or not _LEAST <= count <= _MOST:
            yield self._finding(
                call, f"setmaxnreg takes a multiple of {_STEP} from {_LEAST} to {_MOST}, not {count}",
                f"{count} registers", "round it to a multiple of 8",
            )  # fmt: skip
            return
        threads = _block(call, context)
        whole = not cut_short(context, call)
        if threads is not None and whole:
            yield from self._by_all_warps(call, threads, context)
        start = None if threads is None else min(FILE // threads // _STEP * _STEP, _MOST)
        if call.function in FREES and start is not None and not self._holds(count, start, call, context):
            yield self._finding(
                call, f"setmaxnreg.dec to {count} registers, where a thread of a block of {threads} has at most "
                f"{start}", f"{count} of {start} registers", "ask for fewer than the kernel starts with",
            )  # fmt: skip
            return
        if call.function in ALLOCATES and start is not None and threads is not None and whole:
            yield from self._together(call, start, threads // _WARPGROUP, context)
        for made in context.facts.calls:
            taken = accumulators(made) if made.kernel == call.kernel and made.arch == call.arch else None
            if taken is None or not _under(made, call) or self._holds(taken, count, call, context):
                continue
            yield self._finding(
                call, f"the warpgroup asks for {count} registers a thread, its accumulators alone take {taken}: they "
                "are spilled", f"{count} registers, {taken} of accumulators",
                "ask for more registers, or use more warpgroups", [Related(made.span, f"{taken} registers")], "warning",
            )  # fmt: skip
            return

    def _together(self, call: Call, start: int, groups: int, context: Context) -> Iterable[Finding]:
        calls = _counts(context).get((call.kernel, call.arch), [])
        if call is not next((c for c in calls if c.function in ALLOCATES), None):
            return
        if not all(_apart(a, b) for i, a in enumerate(calls) for b in calls[:i]):
            return
        counts = [(cast("int", asked(c)), _warpgroups(c, groups, context)) for c in calls]
        others = groups - sum(n for _, n in counts)
        if others < 0:
            return
        parts = [*counts, *([(min(start, *(c for c, _ in counts)), others)] if others else [])]
        total = sum(c * n for c, n in parts)
        if self._holds(total, start * groups, call, context):
            return
        text = " + ".join(f"{n} * {c}" if n > 1 else str(c) for c, n in parts)
        yield self._finding(
            call, f"the warpgroups of a block of {groups * _WARPGROUP} threads ask for {text} = {total} registers a "
            f"thread, the block has {groups} * {start} = {start * groups}: setmaxnreg.inc waits for ever",
            f"{total} of {start * groups}", "give back more registers in the producer, or ask for fewer",
            [Related(c.span, f"{asked(c)} registers") for c in calls if c is not call],
        )  # fmt: skip

    def _by_all_warps(self, call: Call, threads: int, context: Context) -> Iterable[Finding]:
        """``setmaxnreg`` is one instruction of a warpgroup: all of its warps have to come to it."""
        calls = _counts(context).get((call.kernel, call.arch), [])
        lacking = left_out(calls, threads) if calls and call is calls[0] else None
        if lacking is not None:
            which = ", ".join(map(str, lacking.missing))
            measured = (call.arch or "").startswith(_MEASURED)
            who = f"warps {which} of the block never execute"
            who = who if "," in which else f"warp {which} of the block never executes"
            yield self._finding(
                lacking.call, f"{who} setmaxnreg, other warps of the same warpgroup do: "
                + ("it waits for all four" if measured else "all four have to"),
                "some of the warpgroup's warps", "let every warp of the warpgroup execute it, also one "
                "that has nothing else to do", severity=None if measured else "warning",
            )  # fmt: skip

    def _holds(self, taken: int, have: int, call: Call, context: Context) -> bool:
        payload = Holds((Condition(Rel.LE, as_expr(taken), as_expr(have)),), "registers of the warpgroups")
        outcome = context.prove(make_obligation(payload, arch=call.arch, span=call.span))
        return outcome.verdict is not Verdict.REFUTED

    def _finding(
        self, call: Call, message: str, label: str, advice: str, related: Sequence[Related] = (),
        severity: Severity | None = None,
    ) -> Finding:  # fmt: skip
        return self.finding(
            call.span, message, label=label, help=advice, related=list(related), enclosing=call.enclosing,
            arch=call.arch, severity=severity,
        )  # fmt: skip


def asked(call: Call) -> int | None:
    """How many registers a thread of the warpgroup has after a call."""
    if call.function not in (*ALLOCATES, *FREES):
        return None
    numbers = [a for a in call.arguments if isinstance(a, (int, Dyn, Sym)) and not isinstance(a, bool)]
    return known_value(numbers[0]) if len(numbers) == 1 else None


def _counts(context: Context) -> dict[tuple[str, str], list[Call]]:
    """Of each kernel all calls that set how many registers a warpgroup has; none where one of them is open."""
    if "register counts" not in context.memo:
        found: dict[tuple[str, str], list[Call]] = {}
        vague: set[tuple[str, str]] = set()
        for c in sorted(context.facts.calls, key=lambda c: c.order):
            if c.function in (*ALLOCATES, *FREES):
                found.setdefault((c.kernel, c.arch), []).append(c)
                vague |= {(c.kernel, c.arch)} if asked(c) is None else set()
        context.memo["register counts"] = {at: calls for at, calls in found.items() if at not in vague}
    return cast("dict[tuple[str, str], list[Call]]", context.memo["register counts"])


def _block(call: Call, context: Context) -> int | None:
    """Threads of the kernel's launch bounds; of a kernel of the DSL those of its launch. A multiple of 128."""
    origin = "launch" if call.span.is_python else "launch_bounds"
    found = {
        known_value(x.block_threads) if x.block_threads is not None else None
        for x in context.index.launches_of.get(call.kernel, []) if x.origin == origin and x.arch in ("", call.arch)
    }  # fmt: skip
    threads = next(iter(found)) if len(found) == 1 else None
    return None if not threads or threads % _WARPGROUP else threads


def _warpgroups(call: Call, groups: int, context: Context) -> int:
    """Of how many of the block's warpgroups it certainly is: of those whose threads its conditions let through, where
    they say so, else those of the WGMMAs that come after it under its conditions."""
    exact = passing(inner(call.guards), groups * _WARPGROUP)
    if exact:
        return -(-exact // _WARPGROUP)
    found = [1]
    for event in context.facts.events:
        atom = atom_of_event(event)
        if event.kind != "gemm" or (event.kernel, event.arch) != (call.kernel, call.arch) or not _under(event, call):
            continue
        threads = threads_of(event.tiled) if atom is not None and "GMMA::" in atom.op else None
        number = None if threads is None else known_value(threads)
        found.append(1 if number is None else -(-number // _WARPGROUP))
    return max(found)


def _under(at: Call | Event, call: Call) -> bool:
    """It comes after the call, under all of its conditions."""
    mine = {(g.span, g.negated) for g in at.guards}
    return at.order > call.order and all((g.span, g.negated) in mine for g in call.guards)


def _apart(a: Call, b: Call) -> bool:
    return any(x.span == y.span and x.negated != y.negated for x in a.guards for y in b.guards)
