"""Barriers of a kernel whose threads are run side by side: their phases, and what those know that arrived in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from cutecheck.facts.replayed import ANY_BARRIER, Step, Thread
from cutecheck.rules.derive.role_loads import Barrier, gate_of
from cutecheck.rules.derive.role_memory import Clock

_NEVER = 1 << 62


def made_again(thread: Thread) -> bool:
    """One initialises a barrier more than once: as for each tile, which then is the first for it."""
    made = [gate_of(s) for s in thread.steps if s.kind == "barrier" and s.function == "init" and not s.maybe]
    known = [at for at in made if at[1] != ANY_BARRIER]
    return len(set(known)) < len(known)


@dataclass(slots=True)
class Gate:
    """A barrier: of phases that are over what all knew that arrived in them, and who arrived since."""

    over: list[Clock] = field(default_factory=list)
    arrived: dict[int, list[Clock]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0  # arrivals that end a phase, where these can be counted; else all must arrive that ever do
    came: list[tuple[int, int, Clock]] = field(default_factory=list)  # who, how many, and what they know
    shares: dict[int, int] = field(default_factory=dict)  # how many of each phase are a thread's, where that is known

    each: int = 1  # arrivals in each phase of the one thread that comes there, where these are not counted

    def alone(self, count: int, steps: Sequence[Step], at: Barrier) -> None:
        """One thread comes there, and arrives as often for each time that it tells of bytes as the barrier counts."""
        own = [s for s in steps if s.kind == "barrier" and s.function in ("arrive", "expect") and gate_of(s) == at]
        told = sum(s.function == "expect" for s in own)
        if told and sum(s.arrives or 0 for s in own) == count * told:
            self.each = count

    def share(self, count: int, threads: Sequence[Thread], comers: set[int], at: Barrier) -> None:
        """So many arrivals end a phase: who comes to each place once, if that is as many."""
        self.count = count
        places = {
            (i, s.span): threads[i].counts * (s.arrives or 0)
            for i in comers for s in threads[i].steps
            if s.kind == "barrier" and s.function in ("arrive", "expect") and gate_of(s) == at
        }  # fmt: skip
        if sum(places.values()) == count:
            for (i, _), times in places.items():
                self.shares[i] = self.shares.get(i, 0) + times

    def come(self, worker: int, times: int, clock: Clock) -> None:
        """So many arrive, and may end a phase, or several."""
        if times:
            self.came.append((worker, times, dict(clock)))
        while sum(n for _, n, _ in self.came) >= self.count:
            known = dict(self.over[-1]) if self.over else {}
            left = self.count
            while left:
                who, n, knows = self.came.pop(0)
                learn(known, knows)
                if n > left:
                    self.came.insert(0, (who, n - left, knows))
                left -= min(n, left)
            self.over.append(known)

    def pending(self, worker: int, comers: set[int]) -> int:
        """Phases that arrivals of a thread since the last one that is over are for: of one that comes once in each.

        One that alone arrives may come several times in each, and one whose places are all that a phase takes.
        """
        if self.shares.get(worker):
            return sum(n for who, n, _ in self.came if who == worker) // self.shares[worker]
        if self.count and comers == {worker}:
            return sum(n for _, n, _ in self.came) // self.count
        return sum(who == worker for who, _, _ in self.came) if self.count else len(self.arrived[worker]) // self.each


@dataclass(slots=True)
class Named:
    """A barrier of the hardware: threads that came since it opened, what they know, and how often it opened."""

    came: int = 0
    known: Clock = field(default_factory=dict)
    opened: list[Clock] = field(default_factory=list)
    last: Step | None = None


class Made:
    """Barriers that one thread of a block initialises, and when it did."""

    def __init__(self, threads: Sequence[Thread]) -> None:
        self.by: dict[Barrier, dict[int, Step]] = defaultdict(dict)
        self.when: dict[tuple[Barrier, int], int] = {}
        vague: set[str] = set()
        for i, thread in enumerate(threads):
            for s in (s for s in thread.steps if s.kind == "barrier" and s.function == "init" and s.places):
                self.by[gate_of(s)].setdefault(i, s)
                vague |= {gate_of(s)[0]} if s.maybe or gate_of(s)[1] == ANY_BARRIER else set()
        self.by = {at: found for at, found in self.by.items() if at[0] not in vague}

    def does(self, me: int, clock: Clock, step: Step) -> Step | None:
        """Where the barrier of a step is initialised by another thread, of which this one knows not that it did."""
        at = gate_of(step)
        by = self.by.get(at, {})
        if step.function == "init":
            clock[me] = clock.get(me, 0) + 1
            self.when[at, me] = clock[me]
            return None
        if not by or me in by or any(clock.get(i, 0) >= self.when.get((at, i), _NEVER) for i in by):
            return None
        return next(iter(by.values()))


def learn(clock: Clock, other: Clock) -> None:
    for who, when in other.items():
        clock[who] = max(clock.get(who, -1), when)
