"""Threads of a block that wait for ever: for whom; and loads that several lanes make."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts.replayed import Step, Thread
from cutecheck.rules.derive.arrivals import PIPELINE
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.role_loads import Barrier, Key, gate_of, key_of
from cutecheck.rules.derive.role_workers import Worker, arrives_at

_WARP = 32


def arrives_later(w: Worker, at: Barrier) -> bool:
    """Whether a thread arrives at the barrier if it goes on."""
    return any(arrives_at(s, at) for s in w.thread.steps[w.at :])


def nobody_comes(step: Step, here: Sequence[Worker]) -> bool:
    """All that come to a named barrier at all are there, or have been, and it waits for more."""
    buffer = step.places[0].buffer
    ahead = (s for w in here for s in w.thread.steps[w.at + 1 :] if w.thread.steps[w.at].kind != "named")
    return not any(s.kind == "named" and s.places[0].buffer == buffer for s in ahead)


def too_few(at: Barrier, workers: Sequence[Worker], count: int) -> tuple[Step, int] | None:
    """Where a barrier is initialised that counts more than arrive there, if each place is come to once a phase."""
    every = [(w.thread, s) for w in workers for s in w.thread.steps if s.kind == "barrier" and s.places]
    inits = [s for _, s in every if s.function == "init"]
    made = [s for s in inits if gate_of(s) == at or (s.maybe and gate_of(s)[0] == at[0])]
    places = {(t.number, s.span): t.counts * (s.arrives or 0) for t, s in every if arrives_at(s, at)}
    come = sum(places.values())
    return (made[0], come) if made and 0 < come < count else None


def under_way(loads: Sequence[tuple[Barrier, int, Step]], workers: Sequence[Worker]) -> Fault | None:
    """A load (with its barrier, and the phase that says that it has come) that all threads end without having waited
    for, at a barrier that they have waited at before.

    Not those of a first phase: at the numbers of a run there may be fewer tiles than stages.
    """
    for gate, phase, step in loads:
        last = max(w.clock.get(gate, -1) for w in workers)
        if 0 <= last < phase and not step.maybe:
            return Fault("under way", step, step.places[1], None, phase)
    return None


class Loaders:
    """Who loads a tile first, by the place, the phase of the barrier that is told, and the warp."""

    def __init__(self) -> None:
        self.first: dict[tuple[object, Key, int, object, Barrier, int, int], int] = {}
        self.here: dict[tuple[int, Key, int, Barrier, int], Step] = {}  # what a thread brings to a place in a phase

    def over(self, me: int, step: Step, gate: Barrier, phase: int) -> Step | None:
        """Another load of the thread that brings something else to the same place, for the same phase."""
        target = step.places[1]
        before = self.here.setdefault((me, key_of(target), target.offset, gate, phase), step)
        return before if before.span != step.span and not step.maybe and not before.maybe else None

    def again(self, me: int, thread: Thread, step: Step, gate: Barrier, phase: int) -> bool:
        """Whether another lane of the warp has TMA bring the same tile, for the same phase.

        Lanes that each tell a barrier of their bytes, too, may do so; of a pipeline one leader tells.
        """
        tells = not gate[0].startswith(PIPELINE) and any(
            s.kind == "barrier" and s.function == "expect" and gate_of(s) == gate for s in thread.steps
        )
        source, target = step.places[:2]
        at = (step.span, key_of(target), target.offset, source.walk, gate, phase, thread.number // _WARP)
        known = source.walk is not None and all(isinstance(a.start, int) for a in source.walk)
        return self.first.setdefault(at, me) != me and known and not tells and not step.maybe
