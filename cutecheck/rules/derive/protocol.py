"""Pipelines between producers and consumers: who waits, who releases, and which copies tell their barriers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts import NOT_WALKED, Call, Event, Loop, Unknown
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import is_load, may_be_load
from cutecheck.rules.derive.targets import atom_of_event

_STEP = re.compile(r"(?:^|_)(acquire|commit|wait|release)(?:_|$)")
_ALONE = re.compile(r"(?:producer_|consumer_)?(acquire|commit|wait|release)(?:_and_advance)?")
# a step in a method of this name is one of a class around the pipeline, which may do the others by hand
_METHOD = re.compile(r"(?:producer|consumer)_(?:try_)?(?:acquire|commit|wait|release)")
# what fills a stage tells its barrier by itself; the others' producers say so (commit)
BY_TMA = ("PipelineTmaAsync", "PipelineTmaUmma", "PipelineTmaUmmaAsync", "PipelineTmaMultiConsumersAsync")
BY_THREADS = (
    "PipelineUmmaAsync", "PipelineAsyncUmma", "PipelineUmmaConsumerAsync", "PipelineAsync", "PipelineCpAsync",
)  # fmt: skip
_ELECTED = re.compile(r"(?:[\w:]*::)?elect_one_sync\(\)|\w*elect\w*|lane_predicate")
_OF_UMMA = ("PipelineTmaUmma", "PipelineTmaUmmaAsync")
_TRIES = {"producer_try": "acquire", "consumer_try": "wait"}  # they do not wait, but a loop of them does


@dataclass(slots=True)
class State:
    """A stage and phase that go round: how it was made, and where it advances."""

    made: Call
    advances: list[Call] = field(default_factory=list)
    escapes: bool = False


@dataclass(slots=True)
class Pipeline:
    """One pipeline of a kernel: how it was made, its steps by kind and the loads into it, as they are reached."""

    made: Call
    steps: dict[str, list[Call]] = field(
        default_factory=lambda: {s: [] for s in ("acquire", "commit", "wait", "release")}
    )
    loads: list[Event] = field(default_factory=list)
    unsure: list[Event] = field(default_factory=list)  # copies that may be loads into it: nothing is known of them
    reads: list[Event] = field(default_factory=list)  # of the shared memory that the loads fill, and nothing else does
    states: dict[str, State] = field(default_factory=dict)  # what steps are given, by where they were made
    barriers: list[Call] = field(default_factory=list)  # what gives one of its barriers
    announces: list[Call] = field(default_factory=list)  # bytes that a class around it tells instead of `tx_count`
    adds: bool = False  # bytes are added to what a barrier expects
    escapes: bool = False  # code that is not followed may do any of it

    @property
    def kind(self) -> str:
        return self.made.function.removesuffix(".create")

    def number(self, name: str) -> int | None:
        found = dict(self.made.keywords).get(name)
        return found if isinstance(found, int) else None

    def own(self, step: str) -> list[Call]:
        """Those that are certainly of this pipeline: a step of one that is not known may be another's."""
        return [s for s in self.steps[step] if s.subject == self.made.subject]


def pipelines(context: Context) -> dict[tuple[str, str], Pipeline]:
    """The pipelines of a run whose creation is known, by their barriers and architecture."""
    if "protocols" not in context.memo:
        found: dict[tuple[str, str], Pipeline] = {}
        calls = sorted((c for c in context.facts.calls if c.subject), key=lambda c: c.order)
        for call in calls:
            if call.function.endswith(".create"):
                first = found.setdefault((call.subject, call.arch), Pipeline(call))
                first.escapes |= _again(first.made, call, context)
        states = _states(calls, context)
        for call in calls:
            pipeline, step = found.get((call.subject, call.arch)), _STEP.search(call.function)
            if pipeline is not None and step is not None:
                pipeline.steps[step[1]].append(call)
                pipeline.escapes |= _METHOD.match(call.enclosing.rpartition("::")[2]) is not None
                state = states.get((f"{call.kernel}|{dict(call.keywords).get('state')}", call.arch))
                if state is not None:
                    pipeline.states[state.made.subject] = state
            elif pipeline is not None and call.function == "escapes":
                pipeline.escapes = True
            elif pipeline is not None and call.function == "announces":
                pipeline.announces.append(call)
            elif pipeline is not None and call.function == "producer_get_barrier":
                pipeline.barriers.append(call)
            elif pipeline is not None and call.function == "producer_expect_transaction":
                pipeline.adds = True
        for call in calls:
            pipeline, tried = found.get((call.subject, call.arch)), _TRIES.get(call.function)
            if pipeline is not None and tried is not None:
                pipeline.escapes |= not pipeline.steps[tried] and _may_spin(call, context)
        _link(context, found)
        context.memo["protocols"] = found
    return cast("dict[tuple[str, str], Pipeline]", context.memo["protocols"])


def _may_spin(call: Call, context: Context) -> bool:
    """A loop around the try may be there to try again; none does in which tiles are copied or multiplied.

    Unless it asks for the answer: ``while (!pipe.consumer_try_wait(state))``.
    """
    loop = call.loops[-1] if call.loops else None
    return (
        loop is None
        or bool(dict(call.keywords).get("asked"))
        or not any(loop in e.loops and e.kernel == call.kernel for e in context.facts.events)
    )


def _again(first: Call, call: Call, context: Context) -> bool:
    """One place makes several in one walk of a kernel: which of them is meant is not known."""
    starts = (c.order for c in context.facts.calls if c.function == "stream_wait")
    return call is not first and not any(first.order < s < call.order for s in starts)


def _states(calls: list[Call], context: Context) -> dict[tuple[str, str], State]:
    found: dict[tuple[str, str], State] = {}
    for call in calls:
        if call.function == "make_pipeline_state":
            first = found.setdefault((call.subject, call.arch), State(call))
            first.escapes |= _again(first.made, call, context)
    for call in calls:
        state = found.get((call.subject, call.arch))
        if state is not None and call.function == "advance":
            state.advances.append(call)
        elif state is not None and call.function == "escapes":
            state.escapes = True
    return found


def state_of(pipeline: Pipeline, step: Call) -> State | None:
    """What a step was given, where it is one that the kernel makes and nothing else gets."""
    found = pipeline.states.get(f"{step.kernel}|{dict(step.keywords).get('state')}")
    return None if found is None or found.escapes else found


def _link(context: Context, found: dict[tuple[str, str], Pipeline]) -> None:
    """Loads by the barrier that they tell, and what reads where they alone write."""
    events = sorted(context.facts.events, key=lambda e: e.order)
    writers: dict[tuple[str, str], set[str]] = {}
    for event in events:
        pipeline = found.get((event.signals, event.arch))
        if pipeline is not None and is_load(event):
            pipeline.loads.append(event)
        for place, t in enumerate(event.operands):
            if t.buffer is not None and t.space == "smem" and event.kind == "copy" and place == 1:
                writers.setdefault((t.buffer, event.arch), set()).add(event.signals)
    by_buffer = {at: next(iter(who)) for at, who in writers.items() if len(who) == 1}
    for event in events:
        for place, t in enumerate(event.operands):
            if t.space != "smem" or t.buffer is None or (event.kind == "copy" and place == 1):
                continue
            pipeline = found.get((by_buffer.get((t.buffer, event.arch), ""), event.arch))
            if pipeline is not None and event.kernel == pipeline.made.kernel and event not in pipeline.reads:
                pipeline.reads.append(event)
    unsure = [e for e in events if may_be_load(e)]
    vague = _vague(context)
    for pipeline in found.values():
        pipeline.escapes |= cut_short(context, pipeline.made)
        pipeline.unsure += [e for e in unsure if (e.kernel, e.arch) == (pipeline.made.kernel, pipeline.made.arch)]
        for step in vague.get((pipeline.made.kernel, pipeline.made.arch), []):
            pipeline.steps[step[0]].append(step[1])  # it may be of this one


def _vague(context: Context) -> dict[tuple[str, str], list[tuple[str, Call]]]:
    """Steps of pipelines that are not known (a handle that branches leave open), by kernel."""
    known = {(c.span, c.arch) for c in context.facts.calls if c.subject}
    found: dict[tuple[str, str], list[tuple[str, Call]]] = {}
    for call in context.facts.calls:
        step = _ALONE.fullmatch(call.function)
        if step is not None and not call.subject and (call.span, call.arch) not in known:
            found.setdefault((call.kernel, call.arch), []).append((step[1], call))
    return found


def cut_short(context: Context, at: Call | Event) -> bool:
    """Not all of its kernel or file was walked, or the run was interrupted (an error of no file): what is missing
    there may be in the rest."""
    if "unread" not in context.memo:
        ends = (c for c in context.facts.calls if isinstance(c.result, Unknown))
        context.memo["unread"] = {
            (c.kernel, c.arch) for c in ends if isinstance(c.result, Unknown) and c.result.reason == NOT_WALKED
        }
    unread = cast("set[tuple[str, str]]", context.memo["unread"])
    return (at.kernel, at.arch) in unread or any(e.path in ("", at.span.path) for e in context.facts.errors)


def in_pairs(pipeline: Pipeline, loads: list[Event]) -> bool:
    """Two CTAs certainly multiply together, and load for it: each brings half, and the first is told of both."""
    bringing = [atom_of_event(e) for e in loads]
    multiplying = [atom_of_event(e) for e in pipeline.reads if e.kind == "gemm"]
    return (
        pipeline.kind in _OF_UMMA
        and bool(multiplying)
        and all(a is not None and ("2SM" in a.op or dict(a.extra).get("ctas") == "2") for a in bringing)
        and all(a is not None and "2x1SM" in a.op for a in multiplying)
    )


def expected(pipeline: Pipeline, brought: int, told: int) -> bool:
    """Whether a stage gets so many bytes: of two CTAs that multiply together each brings half, the first is told."""
    atoms = [atom_of_event(e) for e in pipeline.reads if e.kind == "gemm"]
    alone = bool(atoms) and all(a is not None and "2x1SM" not in a.op for a in atoms)
    return told == brought or (pipeline.kind in _OF_UMMA and told == 2 * brought and not alone)


def stage_bytes(pipeline: Pipeline, loads: list[Event]) -> int | None:
    """What the stage of these loads is told to expect; None where that is not known."""
    acquired = max((a.order for a in pipeline.steps["acquire"] if a.order < loads[0].order), default=0)
    own = [a for a in pipeline.announces if acquired < a.order < loads[0].order]
    if not own:
        return pipeline.number("tx_count")
    told = dict(own[0].keywords).get("tx_count")
    alike = len(own) == 1 and set(own[0].guards) == set(loads[0].guards) and own[0].loops == loads[0].loops
    return told if alike and isinstance(told, int) else None


def _filled(load: Event) -> object:
    """What a load writes: one of a loop over all tensors (``for atom, to, of in loads: copy(...)``) another each."""
    to = load.operands[1].buffer if len(load.operands) > 1 else None
    return to if to is not None else ""


def fills(pipeline: Pipeline) -> list[list[Event]]:
    """The loads into each stage that is acquired, where they are certainly all of it.

    Of several calls at one place those with other operands alone are kept, so a stage is left out in which one of its
    loads comes from a place that was reached before, but where each of them fills another buffer. So are loads under
    conditions or in loops of their own, or beside copies of which nothing is known.
    """
    acquired = pipeline.steps["acquire"]
    out: list[list[Event]] = []
    seen: set[object] = set()
    for at, call in enumerate(acquired):
        end = acquired[at + 1].order if at + 1 < len(acquired) else None
        loads = [e for e in pipeline.loads if e.order > call.order and (end is None or e.order < end)]
        places = {e.span for e in loads}
        plain = all(e.loops == call.loops and _alike(e, call) for e in loads)
        apart = len(places) == len(loads) or len({_filled(e) for e in loads}) == len(loads)
        more = any(e.order > call.order and (end is None or e.order < end) for e in pipeline.unsure)
        if loads and plain and apart and not more and not places & seen:
            out.append(loads)
        seen |= places
    return out


def _alike(load: Event, acquire: Call) -> bool:
    """Under the same conditions, or one thread of the warp that acquires loads: ``if (elect_one_sync())``."""
    more = set(load.guards) - set(acquire.guards)
    elected = all(not g.negated and _ELECTED.fullmatch(g.text.strip()) for g in more)
    return set(acquire.guards) <= set(load.guards) and elected


def outermost(at: Call | Event) -> Loop | None:
    return at.loops[0] if at.loops else None


def inside(loop: Loop, steps: list[Call]) -> list[Call]:
    return [s for s in steps if loop in s.loops]


__all__ = [
    "BY_THREADS",
    "BY_TMA",
    "Pipeline",
    "cut_short",
    "expected",
    "fills",
    "in_pairs",
    "inside",
    "outermost",
    "pipelines",
    "stage_bytes",
    "state_of",
]
