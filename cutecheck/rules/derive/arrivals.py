"""Arrivals at barriers in shared memory, counted in a run of all roles of a block.

Phase ``p`` of a barrier that counts ``n`` arrivals is over after ``n * (p + 1)`` of them. So the phases that are waited
for need so many in the whole run, whatever comes first; and where many more come, phases are over before all have
arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cutecheck.facts.replayed import ANY_BARRIER, Step, Thread
from cutecheck.facts.span import Span
from cutecheck.rules.derive.faults import Fault

Barrier = tuple[str, int]
PIPELINE = "@"  # starts the name of a pipeline's barriers, which its constructor initialises
_OPEN = ("", "?", "tma")  # of loads whose barrier is not known
_WARP = 32
# phases that are waited for, from which on the arrivals behind the last wait are the fewer; of a pipeline's barriers
# there is one round of them
_PHASES = 2


def counts(threads: tuple[Thread, ...]) -> dict[Barrier, int]:
    """What barriers count that are initialised once, and at which it is known how often each thread arrives."""
    inits: dict[Barrier, list[Step]] = defaultdict(list)
    alike: dict[str, set[int]] = defaultdict(set)  # what threads initialise, each a barrier of its own in an array
    used: set[Barrier] = set()
    vague: set[Barrier] = set()
    told: set[tuple[Barrier, Span, int]] = set()  # by whose first lane a commit of a warp is counted
    for thread in threads:
        first = thread.number % _WARP == 0
        told |= {(_at(s), s.span, thread.number // _WARP) for s in thread.steps if first and _commits(s)}
    for thread in threads:
        for step in thread.steps:
            if step.kind != "barrier" or not step.places:
                continue
            if step.function == "init" and step.maybe:
                alike[_at(step)[0]].add(step.number or 0)
                continue
            used.add(_at(step))
            if step.function == "init":
                inits[_at(step)] += [step] * thread.counts
            elif step.function in ("arrive", "expect"):
                known = not _commits(step) or (_at(step), step.span, thread.number // _WARP) in told
                if step.arrives is None or not known:
                    vague.add(_at(step))
    found = {at: s[0].number or 0 for at, s in inits.items() if len(s) == 1 and at[0] not in alike}
    for buffer, numbers in alike.items():
        if len(numbers) == 1 and not any(at[0] == buffer for at in inits):
            found |= dict.fromkeys((at for at in used if at[0] == buffer), next(iter(numbers)))
    return {at: count for at, count in found.items() if count > 0 and at not in vague}


def miscounted(
    threads: tuple[Thread, ...], counted: list[Barrier], waited: dict[Barrier, int], ends: bool
) -> Iterator[Fault]:
    """Of barriers that can be counted those whose count goes not with who arrives.

    ``waited``: how many phases of each a thread has waited for, or waits for now; ``ends``: all threads come to an end.
    """
    come: dict[Barrier, int] = defaultdict(int)
    once: dict[Barrier, int] = defaultdict(int)  # if each place is come to once a phase
    inits: dict[Barrier, Step] = {}
    for thread in threads:
        places: set[tuple[Barrier, Span]] = set()
        for step in (s for s in thread.steps if s.kind == "barrier" and s.places):
            at = _at(step)
            if step.function == "init":
                inits[at] = step
                if step.maybe:
                    inits |= {other: step for other in counted if other[0] == at[0]}
            elif step.function in ("arrive", "expect"):
                times = thread.counts * (step.arrives or 0)
                come[at] += times
                once[at] += 0 if (at, step.span) in places else times
                places.add((at, step.span))
    for at in counted:
        init, arrived, phases = inits[at], come[at], waited.get(at, 0)
        count = init.number or 0
        if not arrived or not phases:
            continue
        shown = once[at] if once[at] != count else arrived // phases
        if arrived < count * phases and once[at] != count:
            yield Fault("scant", init, init.places[0], None, shown)
        elif not ends or phases < (1 if at[0].startswith(PIPELINE) else _PHASES) or once[at] == count:
            continue
        elif arrived >= count * (phases + 2) and 4 * arrived >= 5 * count * phases:
            yield Fault("overfull", init, init.places[0], None, shown)


def uninitialised(threads: tuple[Thread, ...]) -> Fault | None:
    """The first use of a barrier that nothing initialises, of an array of which others are, each of them known."""
    steps = [s for t in threads for s in t.steps if s.kind == "barrier" and s.places]
    made: dict[str, dict[int, Step]] = defaultdict(dict)
    for step in steps:
        if step.function == "init":
            buffer, offset = _at(step)
            made[buffer].setdefault(ANY_BARRIER if step.maybe else offset, step)
    for step in steps:
        buffer, offset = _at(step)
        known = made.get(buffer, {})
        if known and offset not in known and ANY_BARRIER not in known and "?" not in made:
            return Fault("uninitialised", step, step.places[0], next(iter(known.values())), offset)
    unseen = any(s.kind == "unknown" and not s.places for t in threads for s in t.steps)
    own = {b for b in made if not b.startswith(PIPELINE)}
    alone = None if unseen or "?" in made else _unmade_member(steps, own)
    if alone is not None:
        return Fault("unmade", alone, alone.places[0])
    waits = any(s.function == "wait" for s in steps)
    if made or unseen or not waits or any(_at(s)[0].startswith((PIPELINE, "?")) for s in steps):
        return None
    return Fault("unmade", steps[0], steps[0].places[0])  # no barrier of the kernel is initialised


def made_twice(threads: tuple[Thread, ...]) -> Fault | None:
    """A barrier that one thread initialises at two places of the program, to count other arrivals, and at which nothing
    is done in between: what the first was to be is not there."""
    for thread in threads:
        made: dict[Barrier, Step] = {}
        for step in thread.steps:
            if step.kind in ("load", "unknown") or (step.kind == "barrier" and not step.places):
                made.clear()
            elif step.kind == "barrier" and (step.function != "init" or step.maybe or step.number is None):
                made.pop(_at(step), None)
            elif step.kind == "barrier" and _at(step)[1] != ANY_BARRIER:
                first = made.setdefault(_at(step), step)
                if first.span != step.span and first.number != step.number:
                    return Fault("made twice", step, step.places[0], first, first.number or 0)
    return None


def _unmade_member(steps: list[Step], made: set[str]) -> Step | None:
    """The first use of a barrier that is a member of shared memory and waited for, where others of its structure are
    initialised, and nothing that it is a part of, or that is a part of it."""
    waited = {_at(s)[0] for s in steps if s.function == "wait"}
    for step in steps:
        buffer = _at(step)[0]
        if step.function == "init" or buffer not in waited or buffer.startswith((PIPELINE, "?")) or buffer in made:
            continue
        structure = buffer.rpartition("::")[0]
        if "." in buffer.rpartition("::")[2] and any(
            b.rpartition("::")[0] == structure and not _nested(b, buffer) for b in made
        ) and not any(_nested(b, buffer) for b in made):  # fmt: skip
            return step
    return None


def _nested(one: str, other: str) -> bool:
    """Whether a member holds the other."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def starved(threads: tuple[Thread, ...]) -> Fault | None:
    """A barrier of a pipeline is told of bytes, and the thread that tells it loads nothing for it before it does so
    again, or ends; and some thread waits for this phase.

    Into other stages, or in other phases, the same thread loads, always after it has told.
    """
    for thread in threads:
        told: dict[Barrier, list[tuple[Step, int]]] = defaultdict(list)  # phases, and how many loads are in each
        last: dict[str, Barrier] = {}
        vague = not thread.complete
        for step in (s for s in thread.steps if s.kind in ("barrier", "load")):
            at = _at(step)
            if step.kind == "barrier" and step.function == "expect" and at[0].startswith(PIPELINE):
                told[at].append((step, 0))
                last[at[0]] = at
            elif step.kind == "load" and step.number is None and step.function in last:
                phases = told[last[step.function]]
                phases[-1] = phases[-1][0], phases[-1][1] + 1
            elif step.kind == "load":  # of a barrier of no pipeline, or it may be of any
                vague |= step.function in _OPEN or step.function.startswith(PIPELINE)
        for at, phases in told.items() if not vague else ():
            fed = any(n for other in told for _, n in told[other] if other[0] == at[0])
            for number, (step, loads) in enumerate(phases):
                if fed and not loads and not step.maybe and _phases_waited(threads, at) > number:
                    return Fault("starved", step, step.places[0])
    return _strayed(threads)


def _strayed(threads: tuple[Thread, ...]) -> Fault | None:
    """The same of barriers that a program has by hand: of one thread of the block that loads for any of their array.

    Each load is known to be for one of them, and others of these are told first and then loaded for.
    """
    every = [s for t in threads for s in t.steps]
    if not all(t.complete for t in threads) or any("cluster" in s.function or "MULTICAST" in s.function for s in every):
        return None
    loads = [(t.number, s.function) for t in threads for s in t.steps if s.kind == "load"]
    if any(s.kind == "load" and s.number is None for s in every):
        return None
    counted = counts(threads)
    for array in dict.fromkeys(of for _, of in loads if not of.startswith(PIPELINE) and of not in _OPEN):
        who = {number for number, of in loads if of == array}
        tells = [t for t in threads if any(_tells(s, array) for s in t.steps)]
        if len(who) != 1 or [t.number for t in tells] != list(who):
            continue
        told: dict[int, list[tuple[Step, int]]] = defaultdict(list)
        for step in tells[0].steps:
            phases = told[step.places[0].offset] if _tells(step, array) else []
            if step.kind == "load" and step.function == array:
                phases = told[step.number or 0]
                if not phases:
                    break  # its bytes are told of later
                phases[-1] = phases[-1][0], phases[-1][1] + 1
            elif _tells(step, array) and not step.arrives:
                break  # more may be told of the same phase
            elif _tells(step, array):
                phases.append((step, 0))
        else:
            once = [(offset, phases) for offset, phases in told.items() if counted.get((array, offset)) == 1]
            for offset, phases in once:
                for number, (step, brought) in enumerate(phases):
                    if not brought and not step.maybe and _phases_waited(threads, (array, offset)) > number:
                        return Fault("starved", step, step.places[0])
    return None


def _tells(step: Step, array: str) -> bool:
    return step.kind == "barrier" and step.function == "expect" and _at(step)[0] == array


def _phases_waited(threads: tuple[Thread, ...], at: Barrier) -> int:
    """Phases of a barrier that some thread waits for: of waits for the same parity one after the other only one."""
    most = 0
    for thread in threads:
        waits = [s.number for s in thread.steps if s.kind == "barrier" and s.function == "wait" and _at(s) == at]
        most = max(most, sum(i == 0 or n != waits[i - 1] for i, n in enumerate(waits)))
    return most


def _commits(step: Step) -> bool:
    return step.kind == "barrier" and step.asynchronous and bool(step.places)


def _at(step: Step) -> Barrier:
    return step.places[0].buffer, step.places[0].offset
