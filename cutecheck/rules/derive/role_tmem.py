"""Accumulators in tensor memory, as threads that were run side by side use them.

An MMA that begins a new sum there comes after those that still copy the last one, which somebody has copied, and none
adds to one that was copied, unless threads store sums there. Who gives the memory back knows that all have copied.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.faults import Kind
from cutecheck.rules.derive.role_memory import Clock

OF_SUMS = ("replaced early", "replaced", "kept")  # what follows, too, where a thread goes past a barrier
GIVES_BACK = "dealloc_tmem"
_THREE = 3
_COLUMNS = 0xFFFF  # of an address; what is above are lanes
_At = tuple[str, int]  # a buffer, and the column at which sums of products start there


@dataclass(slots=True)
class Sum:
    """Of one accumulator: which step of each thread copied it last, the last MMA that began a sum there, and what was
    done since."""

    copied: dict[int, tuple[int, Step]] = field(default_factory=dict)
    begun: tuple[int, int, Step] | None = None
    used: Step | None = None


class TensorMemory:
    """The accumulators of MMAs, by where they start."""

    def __init__(self, steps: list[Step], moved: tuple[str, ...] = ()) -> None:
        self._moved = moved  # of these it is not known which accumulator is where
        starts: dict[str, set[int]] = defaultdict(set)
        for step in (s for s in steps if _multiplies(s)):
            starts[sums_of(step).buffer].add(sums_of(step).offset & _COLUMNS)
        self._starts = {buffer: sorted(found) for buffer, found in starts.items()}
        self._sums: dict[_At, Sum] = defaultdict(Sum)
        self._read = {self._at(s.places[0]) for s in steps if self._copies(s)}
        self._stored = any(s.kind == "copy" and s.places[-1].space == "tmem" for s in steps)
        self._given_back: tuple[int, Step] | None = None  # by which thread

    def does(self, me: int, clock: Clock, step: Step) -> tuple[Kind, Step, Step] | None:
        """What is wrong with a step, of which the clock says what its thread knows to be over, and the other step.

        A copy is over for those that know of this step of its thread: what tells them comes after it.
        """
        if step.function == GIVES_BACK:
            self._given_back = me, step
            copied = [(i, n, s) for now in self._sums.values() for i, (n, s) in now.copied.items()]
            late = next((s for i, n, s in copied if i != me and clock.get(i, 0) < n), None)
            return None if late is None else ("given back", late, step)
        if _multiplies(step):
            return None if sums_of(step).buffer in self._moved else self._product(me, clock, step)
        if self._copies(step):
            now = self._sums[self._at(step.places[0])]
            now.copied[me], now.used = (clock.get(me, 0), step), step
            if now.begun is not None and now.begun[0] != me and clock.get(now.begun[0], 0) < now.begun[1]:
                return "replaced early", now.begun[2], step
            if self._given_back is not None and self._given_back[0] != me:
                return "given back", step, self._given_back[1]
        return None

    def _product(self, me: int, clock: Clock, step: Step) -> tuple[Kind, Step, Step] | None:
        at = self._at(sums_of(step))
        now = self._sums[at]
        if step.adds is not False:
            kept = now.used if step.adds is True and not self._stored else None
            return None if kept is None else ("kept", step, kept)
        late = next((s for i, (n, s) in now.copied.items() if i != me and clock.get(i, 0) < n), None)
        before, unused = now.begun, now.used is None
        now.begun, now.used = (me, clock.get(me, 0), step), None
        if late is not None:
            return "replaced early", step, late
        again = before is not None and before[0] == me and unused and at in self._read
        return ("replaced", step, before[2]) if again and before is not None else None

    def _copies(self, step: Step) -> bool:
        known = step.kind == "copy" and step.places[0].buffer in self._starts
        return known and step.places[0].space == "tmem" and step.places[0].buffer not in self._moved

    def _at(self, place: Place) -> _At:
        starts, column = self._starts[place.buffer], place.offset & _COLUMNS
        return place.buffer, starts[max(0, bisect_right(starts, column) - 1)]


def _multiplies(step: Step) -> bool:
    return step.kind == "gemm" and step.function == "umma" and bool(step.places) and sums_of(step).space == "tmem"


def sums_of(step: Step) -> Place:
    """The accumulators of a product: ``gemm(mma, D, A, B, C)``, or ``gemm(mma, A, B, C)``."""
    return step.places[0 if len(step.places) > _THREE else -1]
