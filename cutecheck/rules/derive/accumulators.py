"""Accumulators of asynchronous MMAs, as one thread uses them: set before they are added to, used when they are done."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Span
from cutecheck.facts.replayed import COMPUTED, Place, Step
from cutecheck.rules.derive.faults import Kind

_Met = tuple[dict[int, Place], dict[int, Step]]  # slices of one operand, and of the other one
_Wrong = tuple[Kind, Step, Place, Step | None]  # what is wrong with which step, of what, and the other step


_SLICES = 3  # of one operand: two may be the halves of numbers of more bits


class Accumulators:
    """Of one thread: registers and tensor memory that products are summed up in."""

    def __init__(self, stored: bool) -> None:
        self.stored = stored  # some thread stores to tensor memory: any of its accumulators may be set
        self.set: set[str] = set()
        self.sums: dict[tuple[str, int], Step] = {}  # that nothing has used, by buffer and offset
        self.open: dict[str, Step] = {}  # products that no group holds yet
        self.groups: list[dict[str, Step]] = []  # that are not waited for
        self.trusts = True  # no loop that is not run may have set any
        # what each slice of an operand of the products in a sum was multiplied with, since the thread last waited
        self.pairs: dict[tuple[object, ...], _Met] = {}
        self.before: dict[tuple[object, ...], list[_Met]] = {}  # and before it did, of products that are not waited for
        # registers that WGMMAs read as A, by buffer and offset: of no group yet, and of those that are not waited for
        self.read: dict[tuple[str, int], Step] = {}
        self.reading: list[dict[tuple[str, int], Step]] = []
        self.orders = False  # the thread has come to a fence of WGMMAs
        # registers that it has used itself since the last one, and where
        self.touched: dict[tuple[str, object], Step] = {}

    def waited(self) -> None:
        """Other threads may have used what is in tensor memory, and may have filled shared memory anew."""
        for key, met in self.pairs.items():
            self.before.setdefault(key, []).append(met)
        self.pairs.clear()
        self.sums = {key: step for key, step in self.sums.items() if step.places[-1].space != "tmem"}

    def does(self, step: Step) -> Iterator[_Wrong]:
        """What is wrong with a step."""
        if step.function == COMPUTED:  # before a loop or an assignment that has a step of its own
            known = self.set if self.trusts else {p.buffer for p in step.places}
            yield from (("unwritten", step, p, None) for p in step.places if p.buffer not in known)
            return
        self.touches(step)
        if step.kind == "gemm":
            yield from self._product(step)
        elif step.function in ("warpgroup_commit_batch", "warpgroup_wait"):
            yield from self._unpaired() if step.function == "warpgroup_wait" else ()
            self.in_groups(step)
        elif step.kind == "barrier" and step.function == "arrive" and step.asynchronous:
            yield from self._unpaired()  # tcgen05.commit: the stage is given back
        elif step.kind == "copy":
            yield from self.used(step, step.places[:1])
            yield from self.refilled(step, step.places[1:2])
            self._renewed(step.places[1:2])
        elif step.kind == "unknown":
            yield from self.used(step, step.places)
            self._renewed(step.places)
            if not step.places and step.function != "library":
                self.trusts = False
                self.sums.clear()
        elif step.kind == "made":
            self._renewed(step.places)
            self.set -= {p.buffer for p in step.places}
        elif step.kind not in ("barrier", "named", "load", "drain", "call"):
            if step.kind in ("use", "axpby", "transform"):
                yield from self.used(step, step.places)
            self._renewed(step.places)

    def touches(self, step: Step) -> None:
        """A fence, or a step of the thread's own that has registers: a loop that is not run has all it names."""
        if step.function == "warpgroup_arrive":
            self.orders = True
            self.touched.clear()
        elif step.kind not in ("gemm", "made", "barrier", "named", "load", "drain", "call"):
            self.touched.update({(p.buffer, p.offset): step for p in step.places if p.space == "rmem" and p.buffer})

    def out_of_order(self, step: Step, places: list[Place]) -> Iterator[_Wrong]:
        """Registers of a WGMMA that the thread has used since the last fence."""
        for place in places:
            at = place.buffer, place.offset  # another slice may be filled for a product that is yet to be ordered
            if self.orders and place.space == "rmem" and at in self.touched:
                yield "unordered", step, place, self.touched[at]
                return

    def starts(self, step: Step, a: Place, at: Place) -> None:
        """A WGMMA runs from now on, of no group yet."""
        if a.space == "rmem" and a.buffer:
            self.read[a.buffer, a.offset] = step
        if at.space == "rmem" and at.buffer:
            self.open[at.buffer] = step

    def in_groups(self, step: Step) -> None:
        """Groups of WGMMAs are committed, or waited for."""
        if step.function == "warpgroup_commit_batch":
            self.groups.append(self.open)
            self.reading.append(self.read)
            self.open, self.read = {}, {}
        elif step.function == "warpgroup_wait":
            left = step.number or 0
            self.groups = self.groups[len(self.groups) - left :] if left else []
            self.reading = self.reading[len(self.reading) - left :] if left else []

    def forget(self) -> None:
        """Any group may have been waited for."""
        self.open, self.groups, self.read, self.reading = {}, [], {}, []

    def _paired(self, step: Step, c: Place) -> None:
        """Which slices of shared memory are multiplied with which in one sum."""
        if step.adds is not True:
            self.pairs = {k: v for k, v in self.pairs.items() if k[0] != (c.buffer, c.offset)}
            self.before = {k: v for k, v in self.before.items() if k[0] != (c.buffer, c.offset)}
        a, b = step.places[-3:-1]
        for one, other in ((a, b), (b, a)):
            if one.space != "smem" or not other.buffer:
                continue  # registers may be filled anew
            key = (c.buffer, c.offset), one.buffer, one.root, other.buffer, other.root, step.span
            mine, theirs = self.pairs.setdefault(key, ({}, {}))
            mine.setdefault(one.offset, one)
            theirs.setdefault(other.offset, step)

    def _unpaired(self) -> Iterator[_Wrong]:
        """Always one slice of an operand was multiplied with several of the other's, all of one tensor, in one sum.

        Asked when the products are waited for, or committed (UMMA): each part of a number may be multiplied with all
        parts of another.
        """
        for key, met in self.pairs.items():
            self.before.setdefault(key, []).append(met)
        alone = [every for every in self.before.values() if len({offset for mine, _ in every for offset in mine}) == 1]
        wrong = [(mine, theirs) for every in alone for mine, theirs in every if len(theirs) >= _SLICES]
        self.pairs.clear()
        self.before.clear()
        for mine, theirs in wrong[:1]:
            first, *_, last = theirs.values()
            yield "unpaired", last, next(iter(mine.values())), first

    def _product(self, step: Step) -> Iterator[_Wrong]:
        *_, a, _, c = step.places
        at = step.places[0] if len(step.places) == 4 else c
        if step.asynchronous and step.function == "wgmma":
            yield from self.out_of_order(step, [a, at])
            if a.space == "rmem" and a.buffer:
                self.read[a.buffer, a.offset] = step
        yield from self.used(step, [a] if a.space == "rmem" else [])
        if not at.buffer or at.buffer != c.buffer or at.space not in ("rmem", "tmem"):
            return
        if step.asynchronous and step.function in ("wgmma", "umma"):
            self._paired(step, at)
        key = at.buffer, at.offset
        open_to_others = at.space == "tmem" and self.stored
        known = at.buffer in self.set or not self.trusts or open_to_others
        if step.asynchronous and step.adds is True and not known:
            yield "unset", step, at, None
        if step.asynchronous and step.adds is False and key in self.sums:
            yield "replaced", step, at, self.sums[key]
        self.set.add(at.buffer)
        if step.asynchronous:
            self.sums[key] = step
        if step.asynchronous and step.function == "wgmma":
            self.open[at.buffer] = step

    def used(self, step: Step, places: tuple[Place, ...] | list[Place]) -> Iterator[_Wrong]:
        for place in places:
            running = next((g[place.buffer] for g in (*self.groups, self.open) if place.buffer in g), None)
            if running is not None and place.space == "rmem":
                yield "unfinished", step, place, running
            for key in [k for k in self.sums if k[0] == place.buffer]:
                del self.sums[key]

    def refilled(self, step: Step, places: tuple[Place, ...]) -> Iterator[_Wrong]:
        """Registers are filled that a WGMMA may still read. Single elements do not say which slice they are of."""
        for place in (p for p in places if p.space == "rmem" and self.trusts):
            at = place.buffer, place.offset
            running = next((g[at] for g in (*self.reading, self.read) if at in g), None)
            if running is not None:
                yield "refilled", step, place, running

    def _renewed(self, places: tuple[Place, ...]) -> None:
        for place in places:
            self.set.add(place.buffer)
            for key in [k for k in self.sums if k[0] == place.buffer]:
                del self.sums[key]


def by_one_path(steps: tuple[Step, ...]) -> Iterator[_Wrong]:
    """Of a run by one path, once a place: WGMMAs that use registers which the thread has used since the last fence,
    copies to registers of A that a WGMMA may still read, and copies of accumulators that one may still write."""
    made = Accumulators(stored=True)
    told: set[tuple[Kind, Span]] = set()
    for step in steps:
        for wrong in _of_one_path(made, step):
            if (wrong[0], step.span) not in told:
                told.add((wrong[0], step.span))
                yield wrong


def _of_one_path(made: Accumulators, step: Step) -> Iterator[_Wrong]:
    if step.kind == "gemm" and step.asynchronous and step.function == "wgmma" and not step.maybe:
        a, at = step.places[-3], step.places[0] if len(step.places) == 4 else step.places[-1]
        yield from made.out_of_order(step, [a, at])
        made.starts(step, a, at)
        return
    if step.kind == "copy" and not step.maybe:
        yield from made.used(step, step.places[:1])
        yield from made.refilled(step, step.places[1:2])
    made.touches(step)
    made.in_groups(step)
    if step.kind == "unknown" or (step.function == "warpgroup_wait" and step.number is None):
        made.forget()  # a loop or a call that may wait
