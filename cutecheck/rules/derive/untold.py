"""Loads by TMA that tell a barrier other than the one that their thread has announced their bytes to."""

from __future__ import annotations

from cutecheck.facts.replayed import Step, Thread
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.role_loads import gate_of


def untold(threads: tuple[Thread, ...]) -> Fault | None:
    """A load, made again for another stage, that tells the same barrier as before, where the thread has announced bytes
    to other barriers of its array since then, and none to that one."""
    for thread in threads:
        last: dict[object, tuple[Step, int]] = {}
        announced: list[Step] = []
        for step in thread.steps:
            if step.kind == "barrier" and step.function == "expect":
                announced.append(step)
            elif step.kind == "load" and step.number is not None and not step.maybe:
                before, count = last.get(step.span, (None, 0))
                own = [s for s in announced[count:] if gate_of(s)[0] == step.function]
                same = before is not None and (before.function, before.number) == (step.function, step.number)
                moved = before is not None and before.places[1].bits != step.places[1].bits
                if same and moved and own and all(gate_of(s)[1] != step.number for s in own):
                    return Fault("untold", step, step.places[1], own[-1])
                last[step.span] = step, len(announced)
    return None


__all__ = ["untold"]
