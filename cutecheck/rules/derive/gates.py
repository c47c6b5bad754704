"""Barriers of a kernel whose threads are run side by side: their phases, and what those know that arrived in them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from cutecheck.facts.replayed import Step
from cutecheck.rules.derive.role_memory import Clock


@dataclass(slots=True)
class Gate:
    """A barrier: of phases that are over what all knew that arrived in them, and who arrived since."""

    over: list[Clock] = field(default_factory=list)
    arrived: dict[int, list[Clock]] = field(default_factory=lambda: defaultdict(list))
    count: int = 0  # arrivals that end a phase, where these can be counted; else all must arrive that ever do
    came: list[tuple[int, int, Clock]] = field(default_factory=list)  # who, how many, and what they know

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

    def pending(self, worker: int) -> int:
        """Arrivals of a thread since the last phase that is over."""
        return sum(who == worker for who, _, _ in self.came) if self.count else len(self.arrived[worker])


@dataclass(slots=True)
class Named:
    """A barrier of the hardware: threads that came since it opened, what they know, and how often it opened."""

    came: int = 0
    known: Clock = field(default_factory=dict)
    opened: list[Clock] = field(default_factory=list)
    last: Step | None = None


def learn(clock: Clock, other: Clock) -> None:
    for who, when in other.items():
        clock[who] = max(clock.get(who, -1), when)
