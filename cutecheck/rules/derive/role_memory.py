"""Shared memory that lies under several tensors, or is stored by TMA, as threads that were run side by side use it.

An access counts for all of the tensor's stage that the hardware reads or writes at once: the operands of an MMA that
all warps read, and what TMA loads and stores. A TMA store reads until its thread has waited for its group. Of the
operand that each warp reads its own rows of (``rows``), those of other warpgroups are asked where these read it, too;
where each warpgroup has a part of its own (``part``), threads that multiply nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Literal

from cutecheck.facts.replayed import Place, Step, Thread
from cutecheck.facts.span import Span

Clock = dict[object, int]
How = Literal["threads", "load", "mma", "rows", "part", "drain"]
_MMA = ("mma", "rows", "part")
_Identity = tuple[str, int, int]  # a variable, where a tensor starts in it, and by which layout


_WARP = 32
_WARPS = 4  # of a warpgroup
Rows = tuple[Span, tuple[int, int], tuple[str, int] | None]  # where a WGMMA is, and the bits of its first operand
_COMMITS = ("cp_async_fence", "cp_async_commit_group")
_WAITS = ("cp_async_wait", "cp_async_wait_group")


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
    multiplies: bool = False  # of a thread that has MMAs read shared memory


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
        self.tellers: set[int] = set()  # threads that arrive at some barrier
        self.products: dict[int, Stores] = defaultdict(Stores)  # WGMMAs, of threads that wait for their groups
        self.multiplying: set[int] = set()
        self.writes: dict[int, dict[Span, list[Place]]] = {}  # to shared memory, that each thread makes

    def used(self, me: int, clock: Clock, step: Step, place: Place, how: How, written: bool,
             phase: tuple[object, int] | None = None, warp: int = 0) -> Clash | None:  # fmt: skip
        """Note an access; an earlier one that need not be over, and must be."""
        within = _within(place)
        if within is None:
            return None
        of, bits = within
        when = clock.get(me, 0)
        copied = how == "threads" and written and step.asynchronous and me in self.copies
        running = how in _MMA and me in self.products
        over = None if how == "drain" or copied or running else when
        multiplies = me in self.multiplying
        now = Access(of, bits, me, over, step, place, how, written, phase, when, warp, copied, multiplies)
        if copied or running:
            (self.copies if copied else self.products)[me].open.append(now)
        known = self.last[of[0]]
        again = any(a.thread == me and a.how == how and a.written == written and a.bits == bits for a in known.values())
        # a WGMMA is one of four warps: any thread of theirs may say for the others that it is done; and a lane for
        # those of its warp that say nothing themselves (__syncwarp), of which not all need be run
        over_ones = [a for a in known.values() if _is_over(a, now, clock)]
        said = {_product(a) for a in over_ones if a.how in _MMA}
        told = {(a.bits, a.step.span) for a in over_ones if a.how == "threads" and a.thread in self.tellers}
        wrong = next(
            (
                a for a in known.values()
                if (_wrong(a, now, clock) or self._unseen(a, now, clock)) and _product(a) not in said
                and (a.how != "threads" or a.thread in self.tellers or (a.bits, a.step.span) not in told)
            ),
            None,
        )  # fmt: skip
        known[of, bits, me, how, written, step.span] = now
        if how == "drain":
            self.stores[me].open.append(now)
        if wrong is None:
            return None
        return Clash(wrong, wrong.how == "drain" and not again and clock.get(wrong.thread, 0) < wrong.since)

    def follows(self, me: int, steps: tuple[Step, ...], waits: bool, seen: bool) -> None:
        """What this thread starts is done when it has waited for it: of others that is not seen.

        ``seen``: all that may wait is a step, so a thread that has copies under way and no wait never waits.
        """
        made = [s for s in steps if s.kind == "copy" and len(s.places) > 1 and s.places[1].space == "smem"]
        if any(s.function in _WAITS for s in steps) or (seen and any(s.asynchronous for s in made)):
            self.copies[me] = Stores()
        self.writes[me] = defaultdict(list)
        for s in made:
            self.writes[me][s.span].append(s.places[1])
        if waits:
            self.products[me] = Stores()
        if any(s.kind == "gemm" for s in steps):
            self.multiplying.add(me)

    def _unseen(self, a: Access, now: Access, clock: Clock) -> bool:
        """Whether a thread reads, as it lies there, what others have copied, and it never does, and knows not of it."""
        if (a.how, now.how, a.written, now.written) != ("threads", "threads", True, False) or a.bits != now.bits:
            return False
        if a.of != now.of or _is_over(a, now, clock) or a.thread == now.thread:
            return False
        mine = (p for places in self.writes.get(now.thread, {}).values() for p in places)
        return not any((w := _within(p)) is None or (w[0][0] == now.of[0] and _meet(w[1], now.bits)) for p in mine)

    def orders(self, me: int, clock: Clock, step: Step) -> None:
        """A commit or wait; with nothing left open a wait for cp.async is for all of the thread's copies."""
        left = step.number or 0
        if step.function == "tma_store_arrive":
            self.commit(me)
        elif step.function == "tma_store_wait":
            self.wait(me, clock, left)
        elif step.function in _COMMITS or (step.function in _WAITS and not left):
            self.commit(me, self.copies)
        elif step.function == "warpgroup_commit_batch" and me in self.products:
            self.commit(me, self.products)
        elif step.function == "warpgroup_wait" and me in self.products:
            self.wait(me, clock, left, self.products)
        if step.function in _WAITS:
            self.wait(me, clock, left, self.copies)

    def left_open(self, me: int) -> Access | None:
        """The last TMA store of a thread that has not waited for it, as it ends."""
        mine = self.stores[me] if me in self.stores else Stores()
        late = [a for group in (*mine.groups, mine.open) for a in group if a.over is None]
        return late[-1] if late else None

    def commit(self, me: int, queues: dict[int, Stores] | None = None) -> None:
        """The stores of a thread so far are a group, or what it has done of another kind."""
        mine = (self.stores if queues is None else queues)[me]
        mine.groups.append(mine.open)
        mine.open = []

    def wait(self, me: int, clock: Clock, left: int, queues: dict[int, Stores] | None = None) -> None:
        """All groups of a thread but so many have been read, or are done."""
        mine = (self.stores if queues is None else queues)[me]
        done = mine.groups[: len(mine.groups) - left] if left else mine.groups
        for access in (a for group in done for a in group):
            access.over = access.over if access.over is not None else clock.get(me, 0)


def shared_rows(threads: tuple[Thread, ...]) -> set[Rows]:
    """First operands of WGMMAs, in shared memory, that have rows of other warpgroups: several read all of one, or the
    only one that does has written nothing there and others have."""
    readers: dict[Rows, set[int]] = defaultdict(set)
    writers: dict[str, list[tuple[tuple[int, int], int]]] = defaultdict(list)
    for t in threads:
        team = t.number // (_WARP * _WARPS)
        for s in t.steps:
            if s.kind == "gemm" and s.function == "wgmma" and len(s.places) > 2 and s.places[-3].space == "smem":
                rows = s.places[-3]
                readers[s.span, rows.bits, rows.whole].add(team)
            elif s.kind == "copy" and len(s.places) > 1 and (within := _within(s.places[1])) is not None:
                writers[within[0][0]].append((within[1], team))

    def by_others(rows: Rows, own: set[int]) -> bool:
        _, (lo, hi), whole = rows
        bits = (lo, hi) if whole is None else (whole[1] + lo, whole[1] + hi)
        teams = {team for at, team in writers.get(whole[0], ()) if _meet(at, bits)} if whole is not None else set()
        return bool(teams) and teams.isdisjoint(own)

    return {rows for rows, teams in readers.items() if len(teams) > 1 or by_others(rows, teams)}


def _within(place: Place) -> tuple[_Identity, tuple[int, int]] | None:
    if place.whole is None or place.space != "smem" or place.bits[1] <= place.bits[0]:
        return None
    variable, before = place.whole
    lo, hi = place.bits
    return (variable, before + place.root[0], place.view), (before + lo, before + hi)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _product(a: Access) -> tuple[object, ...]:
    return a.how, a.warp // _WARPS, a.bits, a.step.span


def _is_over(a: Access, now: Access, clock: Clock) -> bool:
    return a.over is not None and (a.thread == now.thread or clock.get(a.thread, 0) >= a.over)


def _wrong(a: Access, now: Access, clock: Clock) -> bool:
    """Whether an earlier access may still go on that this one must come after."""
    if a.bits[1] <= now.bits[0] or now.bits[1] <= a.bits[0]:
        return False
    if a.how == "load":
        arrived = a.phase is None or clock.get(a.phase[0], -1) >= a.phase[1]
        return not arrived and now.how == "threads" and now.written and a.of != now.of
    if _is_over(a, now, clock) or not (a.written or now.written):
        return False
    if a.how == "drain":
        return now.written
    if a.thread == now.thread:
        return False
    if now.how == "drain":
        return a.how == "threads" and a.written
    if now.how == "load" and now.written:
        return a.of != now.of and a.how == "threads"
    if now.how in _MMA and a.how == "threads":
        return a.written and _apart(a, now) and (a.copied or not a.step.asynchronous)
    return (
        now.how == "threads" and now.written and a.how in _MMA and not a.written and (a.how == "mma" or _apart(a, now))
    )


def _apart(a: Access, now: Access) -> bool:
    """Whether other warps than the reader's write an operand; of its rows, warps of another warpgroup."""
    if "part" in (a.how, now.how) and any(x.how == "threads" and x.multiplies for x in (a, now)):
        return False
    if {"rows", "part"} & {a.how, now.how}:
        return a.warp // _WARPS != now.warp // _WARPS
    return a.warp != now.warp
