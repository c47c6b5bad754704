"""Steps of a pipeline that are missing: what to say of them."""

from __future__ import annotations

from cutecheck.facts import Call, Event
from cutecheck.model.algebra import get, rank, size
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.rules.derive.protocol import BY_THREADS, Pipeline, inside, outermost, state_of

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
    given = p.own("release")
    brings = p.loads or (p.steps["acquire"] and p.kind in BY_THREADS)
    if given and not waits and brings:
        return (
            given[0], f"a stage of a {p.kind} is released, and nothing ever waits for one: the data need not be "
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
    looped = [(w, loop) for w in p.own("wait") if (loop := outermost(w)) is not None]
    if any(inside(loop, releases) for loop in map(outermost, waits) if loop is not None):
        return None  # a loop that only waits comes before the main loop
    stages = p.number("num_stages")
    for wait, loop in looped:
        if _around_others(wait, others):
            continue
        if loop.trips is None or (stages is not None and loop.trips > stages):
            return (
                wait, f"the loop waits for a stage of a {p.kind} in each pass and releases none: the producer gets no "
                "stage back and waits for ever",
                "no consumer_release in the loop", "release each stage when it has been read (consumer_release)",
            )  # fmt: skip
    return None


def not_committed(p: Pipeline) -> Found:
    acquired, waits = p.own("acquire"), p.steps["wait"]
    told = p.barriers or any(e.signals == p.made.subject for e in p.loads)
    if p.kind not in BY_THREADS or p.steps["commit"] or not acquired or not waits or told:
        return None
    return (
        acquired[0], f"a stage of a {p.kind} is acquired, and nothing commits one: whoever waits for it waits for ever",
        "no producer_commit", "commit the stage when it is filled (producer_commit)",
    )  # fmt: skip


def too_many_stages(p: Pipeline) -> Found:
    stages = None if p.adds else p.number("num_stages")  # bytes of what is loaded once are added to a stage's
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


def not_advanced(p: Pipeline, others: list[Call]) -> Found:
    for step in (*p.own("acquire"), *p.own("wait")):
        state, loop = state_of(p, step), outermost(step)
        if state is None or loop is None or inside(loop, state.advances) or _around_others(step, others):
            continue
        if loop in state.made.loops:
            continue  # another one in each pass
        if loop.trips is None or loop.trips > 1:
            return (
                step, f"each pass of the loop asks for the same stage of a {p.kind}: its state does not advance in the "
                "loop",
                "the state does not advance", "advance the state in each pass (state.advance())",
            )  # fmt: skip
    return None


def other_state(p: Pipeline) -> Found:
    stages = p.number("num_stages")
    waits, releases = p.steps["wait"], p.steps["release"]
    given_first = bool(releases) and (not waits or releases[0].order < waits[0].order)  # the consumer gives all stages
    for word, whose in (("acquire", "Consumer"), ("wait", "Producer")):
        for step in p.own(word):
            state = state_of(p, step)
            given = dict(state.made.keywords) if state is not None else {}
            if stages is not None and given.get("num_stages") not in (None, stages):
                return (
                    step, f"the state goes round {given['num_stages']} stages, the {p.kind} has {stages}",
                    f"{given['num_stages']} stages, {stages} in the pipeline",
                    "make the state with the pipeline's stages",
                )  # fmt: skip
            changed = state is None or any(a.order < step.order for a in state.advances)
            changed |= given_first and word == "acquire"
            if given.get("type") == whose and not changed:
                return (
                    step, f"the state is a {whose.lower()}'s: its first phase is the other one, so that the first "
                    f"{word} of each stage {'returns at once' if word == 'wait' else 'never ends'}",
                    f"a {whose.lower()}'s state", "make it with the PipelineUserType of who uses it",
                )  # fmt: skip
    return None


def too_few_barriers(p: Pipeline) -> Found:
    room, stages = dict(p.made.keywords).get("barrier_bytes"), p.number("num_stages")
    if not isinstance(room, int) or stages is None or room >= 16 * stages:
        return None
    return (
        p.made, f"a {p.kind} of {stages} stages has two barriers of 8 bytes for each, {16 * stages} bytes; the array "
        f"has {room}",
        f"{room} bytes for {16 * stages}", "allocate 2 * num_stages barriers",
    )  # fmt: skip


def _around_others(step: Call, others: list[Call]) -> bool:
    """Other steps are in loops inside of this one's: a loop over tiles, which may run once."""
    return any(len(c.loops) > len(step.loops) and step.loops[-1] in c.loops for c in others)
