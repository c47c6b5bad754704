"""Barriers that a kernel initialises and uses by hand: steps that are missing, and what to say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts import NOT_WALKED, Call, Event, Loop, Span, Unknown
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.prove.domains import per_thread
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import array_of, is_load
from cutecheck.rules.derive.arrivals import PIPELINE
from cutecheck.rules.derive.guards import inner, selects_threads
from cutecheck.rules.derive.lanes import coming, passing
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.steps import Found
from cutecheck.rules.derive.walks import Walks

_KINDS = ("init", "expect", "wait", "arrive")
_STEP = "mbarrier."
_WARP = 32
_SOME = re.compile(r"%|(?<!&)&(?!&)")  # of several passes one
_ONE = re.compile(
    r"elect|lane_pred|leader|thread0|(?:threadIdx\.x|tid\w*|lane_id\w*|thread_idx)\s*==\s*0"
)  # one thread


@dataclass(slots=True)
class Barriers:
    """What a kernel does with the barriers of one array, in the order it is reached."""

    name: str
    steps: dict[str, list[Call]] = field(default_factory=lambda: {k: [] for k in _KINDS})
    loads: list[Call | Event] = field(default_factory=list)
    escapes: bool = False
    initialises: bool = False  # the kernel initialises some barriers where it is seen

    def first(self) -> Call | Event | None:
        reached: list[Call | Event] = [*(c for k in _KINDS for c in self.steps[k]), *self.loads]
        return min(reached, key=lambda r: r.order, default=None)


def barriers(context: Context) -> dict[tuple[str, str, int], Barriers]:
    """By kernel and buffer, architecture and walk; of walks in which all barriers of the kernel are known."""
    if "barriers" not in context.memo:
        found: dict[tuple[str, str, int], Barriers] = {}
        vague: set[tuple[str, str, int]] = set()
        walks = Walks(context)
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            kernel = (call.kernel, call.arch, walks.of(call))
            if isinstance(call.result, Unknown) and call.result.reason == NOT_WALKED:
                vague.add(kernel)
            if not call.function.startswith(_STEP):
                continue
            kind, buffer = call.function.removeprefix(_STEP), call.subject.partition("|")[2]
            if kind.startswith("named"):
                continue
            if buffer == "?" or cut_short(context, call):
                vague.add(kernel)
                continue
            if buffer.startswith(PIPELINE):
                continue  # the other steps at its barriers are the methods of the library
            mine = found.setdefault((call.subject, *kernel[1:]), Barriers(buffer.rpartition("::")[2]))
            if kind == "load":
                mine.loads.append(call)
            elif kind in mine.steps:
                mine.steps[kind].append(call)
            else:
                mine.escapes = True
        for event in context.facts.events:
            if is_load(event):
                told = found.get((array_of(event.signals), event.arch, walks.of(event)))
                if told is not None:
                    told.loads.append(event)
                elif not event.signals:
                    vague.add((event.kernel, event.arch, walks.of(event)))
        starts = {(s.partition("|")[0], arch, walk) for (s, arch, walk), b in found.items() if b.steps["init"]}
        for (subject, arch, walk), mine in found.items():
            kernel = (subject.partition("|")[0], arch, walk)
            mine.escapes |= kernel in vague
            mine.initialises = kernel in starts
        context.memo["barriers"] = found
    return cast("dict[tuple[str, str, int], Barriers]", context.memo["barriers"])


def not_initialised(b: Barriers) -> Found:
    at = b.first()
    if at is None or b.steps["init"]:
        return None
    return (
        at, f"nothing initialises the barriers in `{b.name}`, as the kernel does with others: what waits on them may "
        "wait for ever, or not at all",
        "not initialised", "initialise them, by one thread, before the barrier of the block",
    )  # fmt: skip


def not_expected(b: Barriers) -> Found:
    """A load tells a barrier that nothing told how many bytes come."""
    expects = b.steps["expect"]
    for load in sorted(b.loads, key=lambda e: e.order):
        loop = load.loops[0] if load.loops else None
        inside = [e for e in expects if loop is not None and loop in e.loops]
        before = [e for e in expects if e.order < load.order]
        goes_on = loop is not None and loop.trips is None
        elsewhere = [e for e in expects if e.loops and e.loops[0].trips is None]
        if expects and (inside or (before and not goes_on) or (goes_on and elsewhere)):
            continue
        if expects and loop is None:
            continue
        why = "in this loop" if before else "before it" if expects else "ever"
        return (
            load, f"a TMA load tells the barriers in `{b.name}`, and nothing tells them {why} how many bytes come: "
            "their phase does not end when the data is there",
            "no arrive_and_expect_tx", "call arrive_and_expect_tx with the bytes before the loads",
        )  # fmt: skip
    return None


def not_waited(b: Barriers) -> Found:
    # An arrival under another condition than which thread it is may be one that never holds, nor that of its wait.
    arrived = [a for a in b.steps["arrive"] if all(selects_threads([g]) for g in inner(a.guards))]
    told = [*b.steps["expect"], *arrived]
    if b.steps["wait"] or not (told or b.loads):
        return None
    what = "TMA loads tell" if b.loads else "threads arrive at"
    at: Call | Event = b.loads[0] if b.loads else told[0]
    return (
        at, f"{what} the barriers in `{b.name}`, and nothing ever waits for them: "
        + ("the data need not be there when it is read" if b.loads else "what they are to protect is not protected"),
        "nothing waits", "wait for the barrier of the stage before it is used",
    )  # fmt: skip


def not_arrived(b: Barriers) -> Found:
    expects = b.steps["expect"]
    if not b.steps["wait"] or b.steps["arrive"] or any(_arrivals(c) != 0 for c in expects):
        return None
    if b.loads and not expects:
        return None  # bytes alone are missing as well
    return (
        b.steps["wait"][0], f"nothing ever arrives at the barriers in `{b.name}`, which are waited for: the wait never "
        "ends",
        "nothing arrives", "arrive at the barrier (ClusterBarrier::arrive) when the stage may be used again",
    )  # fmt: skip


def one_not_told(b: Barriers) -> Found:
    """A barrier of the array that is waited for, where all that arrives comes to others of it."""
    told = [range_of(c) for k in ("expect", "arrive") for c in b.steps[k]]
    for wait in b.steps["wait"] if told else ():
        at = range_of(wait)
        if at is None or at[0] != at[1] or not all(r is not None and not r[0] <= at[0] <= r[1] for r in told):
            continue
        return (
            wait, f"nothing ever arrives at barrier {at[0]} of `{b.name}`, which is waited for, as at others of them: "
            "the wait never ends",
            "nothing arrives here", "wait for barriers that the loads tell, or load what this one is for",
        )  # fmt: skip
    return None


def range_of(step: Call) -> tuple[int, int] | None:
    """The barriers of the array that a step may be at."""
    offset = step.arguments[0] if step.arguments else None
    if not isinstance(offset, (int, Dyn, Sym)):
        return None
    lo, hi = bounds(as_expr(offset))
    return None if lo is None or hi is None else (lo, hi)


def same_phase(b: Barriers) -> Found:
    """A wait in a loop that goes on, whose phase is the same in each pass."""
    for wait in b.steps["wait"]:
        loop = wait.loops[-1] if wait.loops else None
        phase = wait.arguments[1] if len(wait.arguments) > 1 else None
        if loop is None or loop.trips is not None or not isinstance(phase, (int, Dyn, Sym)):
            continue
        if known_value(phase) is None or not _bounded(wait.arguments[0]) or not _in_each_pass(wait, loop):
            continue
        if any(loop in c.loops for c in b.steps["init"]):
            continue
        others = [w for w in b.steps["wait"] if loop in w.loops]
        if not all(_in_each_pass(w, loop) and _phase(w) == known_value(phase) for w in others):
            continue
        return (
            wait, f"each pass of the loop waits for phase {known_value(phase)} of the barriers in `{b.name}`: once "
            "they have come round, the wait ends at once, or never",
            "the same phase in each pass", "flip the phase each time that the barriers have come round",
        )  # fmt: skip
    return None


def _in_each_pass(wait: Call, loop: Loop) -> bool:
    """No condition in the loop but on which threads wait."""
    return all(selects_threads([g]) for g in wait.guards if _within(g.span, loop))


def _phase(wait: Call) -> int | None:
    phase = wait.arguments[1] if len(wait.arguments) > 1 else None
    return known_value(phase) if isinstance(phase, (int, Dyn, Sym)) else None


def too_few_arrivals(b: Barriers, threads: int | None) -> Found:
    """Barriers that count fewer arrivals than threads that arrive, all of the block or of a role, at one place."""
    count = counted(b)
    if threads is None or count is None or b.steps["expect"]:
        return None
    for step in b.steps["arrive"]:
        guards = inner(step.guards)
        arrive = threads if not guards and _surely(step) else coming(guards, threads) if local(step) else None
        if arrive is None or count >= arrive or not _of_all(step):
            continue
        return (
            step, f"{_who(arrive, threads)} at the barriers in `{b.name}`, which count {count}: a phase ends before "
            "all have arrived",
            f"{arrive} arrive, {count} are counted", f"initialise the barrier with {arrive}, or let {count} arrive",
        )  # fmt: skip
    return None


def _surely(step: Call) -> bool:
    """Whether each thread that comes arrives: at a barrier of another block only those may that a flag tells to."""
    sure = dict(step.keywords).get("if", 1)
    return isinstance(sure, (int, Dyn, Sym)) and known_value(sure) is not None


def _who(arrive: int, threads: int) -> str:
    return f"all {threads} threads of the block arrive" if arrive == threads else f"{arrive} threads arrive"


def all_expect(b: Barriers, threads: int | None) -> Found:
    """Each thread of the block, or of a warp, arrives and tells of the bytes, at barriers that count fewer arrivals."""
    count = counted(b)
    for step in b.steps["expect"] if threads is not None and count is not None else ():
        if threads is None or count is None or not local(step) or not _of_all(step):
            continue
        arrive = coming(inner(step.guards), threads)
        if arrive is not None and count < arrive:
            who = f"all {threads} threads of the block" if arrive == threads else f"{arrive} threads"
            return (
                step, f"{who} tell the barriers in `{b.name}` of the bytes and arrive, "
                f"where {count} {'is' if count == 1 else 'are'} counted: {arrive} times the bytes are waited for",
                f"{arrive} arrive, {count} counted", "let one thread call it (elect_one_sync, threadIdx.x == 0)",
            )  # fmt: skip
    return None


def too_few_arrive(b: Barriers, threads: int | None) -> Found:
    """Barriers that count more arrivals than can come before the next wait for them: it never ends."""
    count, arrives, expects = counted(b), b.steps["arrive"], b.steps["expect"]
    if threads is None or count is None or not b.steps["wait"] or not all(map(local, (*arrives, *expects))):
        return None
    places = {c.span for c in (*arrives, *expects)}
    sure = {coming(inner(c.guards), threads) for c in (*arrives, *expects)}
    known = next(iter(sure)) if len(sure) == 1 and len(places) == 1 else None
    if arrives and not expects:
        loop = arrives[0].loops[-1] if arrives[0].loops else None
        together = loop is not None and all(w.loops and w.loops[-1] == loop for w in b.steps["wait"])
        most = threads
        if len(places) != 1 or any(_SOME.search(g.text) for w in b.steps["wait"] for g in w.guards):
            return None
        if known:
            most = known
        elif len({tuple(inner(c.guards)) for c in arrives}) == 1:
            most = passing((g for g in inner(arrives[0].guards) if g.asks is not None), threads) or threads
        if not together and not (known and _misfits(count, known, arrives)):
            return None
    elif expects and not arrives and all(any(_ONE.search(g.text) for g in c.guards) for c in expects):
        most = known or len(places) * -(-threads // _WARP)  # of each warp one thread at most
    else:
        return None
    if count <= most:
        return None
    who = "one thread arrives" if expects and not arrives else _who(most, threads)
    who = who if most in (known, threads) or expects else f"at most {who}"
    step = (arrives or expects)[0]
    return (
        step, f"the barriers in `{b.name}` count {count} arrivals, and {who} before each wait: it never ends",
        f"{count} are counted", "initialise the barrier with as many as arrive in one phase",
    )  # fmt: skip


def _misfits(count: int, arrive: int, arrives: list[Call]) -> bool:
    """Passes of a loop elsewhere cannot make up the count, or it is that of threads where one of each warp arrives."""
    whole = all(loop.trips is None for c in arrives for loop in c.loops[-1:])
    return whole and all(c.loops for c in arrives) and (count % arrive != 0 or count == _WARP * arrive)


def _of_all(step: Call) -> bool:
    """All threads that come there are at the same barrier of the array."""
    offset = step.arguments[0] if step.arguments else None
    if not isinstance(offset, (int, Dyn, Sym)):
        return False
    return not any("threadIdx" in v.name or per_thread(v.name) for v in as_expr(offset).variables())


def local(step: Call) -> bool:
    return _arrivals(step) == 1


def _arrivals(step: Call) -> object:
    return dict(step.keywords).get("arrivals")


def counted(b: Barriers) -> int | None:
    """The arrivals that all barriers of the array count."""
    inits = b.steps["init"]
    counts = {known_value(a) if isinstance(a := c.arguments[-1], (int, Dyn, Sym)) else None for c in inits}
    return next(iter(counts)) if len(counts) == 1 and all(len(c.arguments) > 1 for c in inits) else None


def _bounded(offset: object) -> bool:
    """The barrier is one of a known number: in a loop that goes on, the same ones come again.

    So they do where a stage is counted that starts again at some time: of a loop's own index its start is known.
    """
    if not isinstance(offset, (int, Dyn, Sym)):
        return False
    lo, hi = bounds(as_expr(offset))
    if lo is not None and hi is not None:
        return True
    variables = list(as_expr(offset).variables())
    return len(variables) == 1 and variables[0].domain.bounds() == (None, None) and not per_thread(variables[0].name)


def _within(span: Span, loop: Loop) -> bool:
    at = loop.span
    return span.path == at.path and (at.line, at.column) <= (span.line, span.column) <= (at.end_line, at.end_column)


def threads_of_block(call: Call, context: Context) -> int | None:
    """Threads of the kernel's blocks, where all its launches agree."""
    found = {
        None if x.block_threads is None else known_value(x.block_threads)
        for x in context.index.launches_of.get(call.kernel, []) if x.origin == "launch" and x.arch in ("", call.arch)
    }  # fmt: skip
    return next(iter(found)) if len(found) == 1 else None


__all__ = [
    "Barriers",
    "all_expect",
    "barriers",
    "counted",
    "local",
    "not_arrived",
    "not_expected",
    "not_initialised",
    "not_waited",
    "one_not_told",
    "range_of",
    "same_phase",
    "threads_of_block",
    "too_few_arrivals",
    "too_few_arrive",
]
