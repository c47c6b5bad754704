"""Two loads by TMA to one place of shared memory, the second before anybody can have been told that the first came.

``copy(tma_a, gA, sB); copy(tma_b, gB, sB)`` with the tiles of both matrices at the same bytes: a thread that does no
more than announce bytes and arrive between the two has not waited until the first tile was used.
"""

from __future__ import annotations

from cutecheck.facts.replayed import Replay, Step
from cutecheck.rules.derive.faults import Fault

_TELLS = ("arrive", "expect", "init")  # of barriers: the thread goes on at once


def loaded_over(replay: Replay) -> list[Fault]:
    """The second loads, the first of each place, with the loads that they overwrite."""
    found: dict[object, Fault] = {}
    for thread in replay.threads:
        since: dict[tuple[str, tuple[int, int], int], Step] = {}  # loads since the thread last waited
        for step in thread.steps:
            if step.kind == "barrier" and step.function in _TELLS:
                continue
            if step.kind != "load" or step.maybe:
                since.clear()
                continue
            target = step.places[1]
            if target.bits[1] <= target.bits[0]:
                continue
            first = since.setdefault((target.buffer, target.bits, target.offset), step)
            # one place of the source that runs again may fill a stage in parts whose places are not told apart
            if first.span != step.span and first.caller == step.caller:
                found.setdefault(step.span, Fault("loaded over", step, target, first))
    return list(found.values())


__all__ = ["loaded_over"]
