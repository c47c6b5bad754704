"""Steps of a pipeline that are missing: what to say of them."""

from __future__ import annotations

from cutecheck.facts import Call, Event
from cutecheck.model.algebra import get, rank, size
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.rules.derive.protocol import BY_THREADS, Pipeline, inside, outermost

Found = tuple[Call | Event, str, str, str] | None  # a place, a message, its label, what helps


def not_acquired(p: Pipeline) -> Found:
    acquired = p.steps["acquire"]
    for load in p.loads:
        loop = outermost(load)
        if any(a.order < load.order for a in acquired) and (loop is None or inside(loop, acquired)):
            continue
        why = "in this loop" if acquired else "before it"
        return (
            load, f"a load tells the barriers of a {p.kind}, and nothing acquires its stage {why}: the stage may still "
            "be read, and the barrier is not told how many bytes come",
            "no producer_acquire", "acquire the stage before the loads into it (producer_acquire)",
        )  # fmt: skip
    return None


def not_waited(p: Pipeline) -> Found:
    waits, releases = p.steps["wait"], p.steps["release"]
    advice = "wait for the stage before it is read (consumer_wait)"
    for read in p.reads:
        loop = outermost(read)
        if not any(w.order < read.order for w in waits):
            return (
                read, f"shared memory is read that a {p.kind} fills, and nothing has waited for a stage of it: the "
                "data need not be there", "no consumer_wait before", advice,
            )  # fmt: skip
        if loop is not None and inside(loop, releases) and not inside(loop, waits) and not _drains(waits, releases):
            return (
                read, f"the loop reads what a {p.kind} fills and releases a stage in each pass, but waits for none: "
                "the data need not be there", "no consumer_wait in the loop", advice,
            )  # fmt: skip
    if releases and not waits and (p.steps["acquire"] or p.loads):
        return (
            releases[0], f"a stage of a {p.kind} is released, and nothing ever waits for one: the data need not be "
            "there",
            "no consumer_wait", advice,
        )  # fmt: skip
    return None


def _drains(first: list[Call], then: list[Call]) -> bool:
    """A loop has only the first step: another may have only the second one."""
    return any(o is not None and not inside(o, then) for o in map(outermost, first))


def not_released(p: Pipeline, others: list[Call]) -> Found:
    waits, releases = p.steps["wait"], p.steps["release"]
    if not any(map(outermost, p.steps["acquire"])) or _drains(releases, waits):
        return None
    looped = [(w, loop) for w in waits if (loop := outermost(w)) is not None]
    if any(inside(loop, releases) for _, loop in looped):
        return None  # a loop that only waits comes before the main loop
    stages = p.number("num_stages")
    for wait, loop in looped:
        if any(len(c.loops) > len(wait.loops) and loop in c.loops for c in others):
            continue  # a loop over tiles, which may run once
        if loop.trips is None or (stages is not None and loop.trips > stages):
            return (
                wait, f"the loop waits for a stage of a {p.kind} in each pass and releases none: the producer gets no "
                "stage back and waits for ever",
                "no consumer_release in the loop", "release each stage when it has been read (consumer_release)",
            )  # fmt: skip
    return None


def not_committed(p: Pipeline) -> Found:
    acquired, waits = p.steps["acquire"], p.steps["wait"]
    if p.kind not in BY_THREADS or p.steps["commit"] or not acquired or not waits:
        return None
    return (
        acquired[0], f"a stage of a {p.kind} is acquired, and nothing commits one: whoever waits for it waits for ever",
        "no producer_commit", "commit the stage when it is filled (producer_commit)",
    )  # fmt: skip


def too_many_stages(p: Pipeline) -> Found:
    stages = p.number("num_stages")
    for load in p.loads:
        root = load.operands[1].root_layout if len(load.operands) > 1 else None
        layout = root.b if isinstance(root, ComposedLayout) else root
        if stages is None or layout is None:
            continue
        try:
            last = rank(layout) - 1
            extent = known_value(size(get(layout, last))) if last > 1 else None
        except (CuteError, UndecidedError):
            continue
        if extent is not None and extent < stages:
            return (
                load, f"the {p.kind} has {stages} stages, the shared memory that it fills has {extent}: the last "
                "stages lie beyond its end",
                f"{extent} stages here, {stages} in the pipeline", "give the layout and the pipeline as many stages",
            )  # fmt: skip
    return None
