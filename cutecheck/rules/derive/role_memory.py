"""Shared memory that lies under several tensors, or is stored by TMA, as threads that were run side by side use it.

An access counts for all of the tensor's stage that the hardware reads or writes at once: the operands of an MMA that
all warps read, and what TMA loads and stores. A TMA store reads until its thread has waited for its group.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from cutecheck.facts.replayed import Place, Step

Clock = dict[object, int]
How = Literal["threads", "load", "mma", "drain"]
_Identity = tuple[str, int, int]  # a variable, where a tensor starts in it, and by which layout


@dataclass(slots=True)
class Access:
    """``over``: when it was over, by the steps of its thread; None where it still reads.

    ``phase``: the barrier and phase that say so of a load, whoever asks. ``since``: when it began, by those steps.
    """

    of: _Identity
    bits: tuple[int, int]
    thread: int
    over: int | None
    step: Step
    place: Place
    how: How
    written: bool
    phase: tuple[object, int] | None = None
    since: int = 0
    warp: int = 0
    copied: bool = False  # by cp.async, by a thread that waits for it


@dataclass(slots=True)
class Clash:
    """An earlier access that need not be over, and must be; ``first``: it is a TMA store of which the thread that
    writes knows nothing, and which knows of nothing that this thread has written there: that should come first."""

    access: Access
    first: bool


@dataclass(slots=True)
class Stores:
    """TMA stores of a thread: those of each group that was committed, and those of none."""

    open: list[Access] = field(default_factory=list)
    groups: list[list[Access]] = field(default_factory=list)


class Memory:
    """What was used so far."""

    def __init__(self) -> None:
        self.last: dict[str, dict[tuple[object, ...], Access]] = defaultdict(dict)
        self.stores: dict[int, Stores] = defaultdict(Stores)
        self.copies: dict[int, Stores] = defaultdict(Stores)  # by cp.async

    def used(self, me: int, clock: Clock, step: Step, place: Place, how: How, written: bool,
             phase: tuple[object, int] | None = None, warp: int = 0) -> Clash | None:  # fmt: skip
        """Note an access; an earlier one that need not be over, and must be."""
        within = _within(place)
        if within is None:
            return None
        of, bits = within
        when = clock.get(me, 0)
        copied = how == "threads" and written and step.asynchronous and me in self.copies
        over = None if how == "drain" or copied else when
        now = Access(of, bits, me, over, step, place, how, written, phase, when, warp, copied)
        if copied:
            self.copies[me].open.append(now)
        known = self.last[of[0]]
        again = any(a.thread == me and a.how == how and a.written == written and a.bits == bits for a in known.values())
        wrong = next((a for a in known.values() if _wrong(a, now, clock)), None)
        known[of, bits, me, how, written, step.span] = now
        if how == "drain":
            self.stores[me].open.append(now)
        if wrong is None:
            return None
        return Clash(wrong, wrong.how == "drain" and not again and clock.get(wrong.thread, 0) < wrong.since)

    def copied(self, me: int, clock: Clock, left: int) -> None:
        """All groups of a thread's ``cp.async`` but so many are done; with none left all of its copies."""
        if not left:
            self.commit(me, True)
        self.wait(me, clock, left, True)

    def commit(self, me: int, copies: bool = False) -> None:
        """The stores of a thread so far are a group (``copies``: what it copies by ``cp.async``)."""
        mine = (self.copies if copies else self.stores)[me]
        mine.groups.append(mine.open)
        mine.open = []

    def wait(self, me: int, clock: Clock, left: int, copies: bool = False) -> None:
        """All groups of a thread but so many have been read, or copied."""
        mine = (self.copies if copies else self.stores)[me]
        done = mine.groups[: len(mine.groups) - left] if left else mine.groups
        for access in (a for group in done for a in group):
            access.over = access.over if access.over is not None else clock.get(me, 0)


def _within(place: Place) -> tuple[_Identity, tuple[int, int]] | None:
    if place.whole is None or place.space != "smem" or place.bits[1] <= place.bits[0]:
        return None
    variable, before = place.whole
    lo, hi = place.bits
    return (variable, before + place.root[0], place.view), (before + lo, before + hi)


def _wrong(a: Access, now: Access, clock: Clock) -> bool:
    """Whether an earlier access may still go on that this one must come after."""
    if a.bits[1] <= now.bits[0] or now.bits[1] <= a.bits[0]:
        return False
    if a.how == "load":
        arrived = a.phase is None or clock.get(a.phase[0], -1) >= a.phase[1]
        return not arrived and now.how == "threads" and now.written and a.of != now.of
    over = a.over is not None and (a.thread == now.thread or clock.get(a.thread, 0) >= a.over)
    if over or not (a.written or now.written):
        return False
    if a.how == "drain":
        return now.written
    if a.thread == now.thread:
        return False
    if now.how == "drain":
        return a.how == "threads" and a.written
    if now.how == "load" and now.written:
        return a.of != now.of and a.how == "threads"
    if now.how == "mma" and a.how == "threads":
        return a.written and a.warp != now.warp and (a.copied or not a.step.asynchronous)
    return now.how == "threads" and now.written and a.how == "mma" and not a.written
