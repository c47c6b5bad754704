"""Arrivals at barriers in shared memory, counted in a run of all roles of a block.

Phase ``p`` of a barrier that counts ``n`` arrivals is over after ``n * (p + 1)`` of them. So the phases that are waited
for need so many in the whole run, whatever comes first; and where many more come, phases are over before all have
arrived.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cutecheck.facts.replayed import Step, Thread
from cutecheck.facts.span import Span
from cutecheck.rules.derive.faults import Fault

Barrier = tuple[str, int]
_PHASES = 2  # that are waited for, from which on the arrivals behind the last wait are the fewer


def miscounted(threads: tuple[Thread, ...], waited: dict[Barrier, int]) -> Iterator[Fault]:
    """Barriers whose count goes not with who arrives; ``waited``: how many phases of each a thread has waited for."""
    inits: dict[Barrier, list[Step]] = defaultdict(list)
    come: dict[Barrier, int | None] = defaultdict(int)
    once: dict[Barrier, int] = defaultdict(int)  # if each place is come to once a phase
    for thread in threads:
        places: set[tuple[Barrier, Span]] = set()
        for step in thread.steps:
            if step.kind != "barrier" or not step.places:
                continue
            at = step.places[0].buffer, step.places[0].offset
            if step.function == "init":
                inits[at] += [step] * thread.counts
            elif step.function in ("arrive", "expect"):
                known = come[at]
                come[at] = None if known is None or step.arrives is None else known + thread.counts * step.arrives
                if (at, step.span) not in places:
                    once[at] += thread.counts * (step.arrives or 0)
                    places.add((at, step.span))
    for at, steps in inits.items():
        count, arrived, phases = steps[0].number or 0, come[at], waited.get(at, 0)
        if len(steps) != 1 or count < 1 or not arrived or not phases:
            continue
        shown = once[at] if once[at] != count else arrived // phases
        if arrived < count * phases:
            yield Fault("scant", steps[0], steps[0].places[0], None, shown)
        elif phases >= _PHASES and arrived >= count * (phases + 2) and 4 * arrived >= 5 * count * phases:
            yield Fault("overfull", steps[0], steps[0].places[0], None, shown)
