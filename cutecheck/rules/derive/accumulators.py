"""Accumulators of asynchronous MMAs, as one thread uses them: set before they are added to, used when they are done."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.faults import Kind

_Wrong = tuple[Kind, Place, Step | None]


class Accumulators:
    """Of one thread: registers and tensor memory that products are summed up in."""

    def __init__(self, stored: bool) -> None:
        self.stored = stored  # some thread stores to tensor memory: any of its accumulators may be set
        self.set: set[str] = set()
        self.sums: dict[tuple[str, int], Step] = {}  # that nothing has used, by buffer and offset
        self.open: dict[str, Step] = {}  # products that no group holds yet
        self.groups: list[dict[str, Step]] = []  # that are not waited for
        self.trusts = True  # no loop that is not run may have set any

    def waited(self) -> None:
        """Other threads may have used what is in tensor memory."""
        self.sums = {key: step for key, step in self.sums.items() if step.places[-1].space != "tmem"}

    def does(self, step: Step) -> Iterator[_Wrong]:
        """What is wrong with a step."""
        if step.kind == "gemm":
            yield from self._product(step)
        elif step.function == "warpgroup_commit_batch":
            self.groups.append(self.open)
            self.open = {}
        elif step.function == "warpgroup_wait":
            left = step.number or 0
            self.groups = self.groups[len(self.groups) - left :] if left else []
        elif step.kind == "copy":
            yield from self._used(step, step.places[:1])
            self._renewed(step.places[1:2])
        elif step.kind == "unknown":
            yield from self._used(step, step.places)
            self._renewed(step.places)
            if not step.places and step.function != "library":
                self.trusts = False
                self.sums.clear()
        elif step.kind == "made":
            self._renewed(step.places)
            self.set -= {p.buffer for p in step.places}
        elif step.kind not in ("barrier", "named", "load", "drain", "call"):
            if step.kind in ("use", "axpby", "transform"):
                yield from self._used(step, step.places)
            self._renewed(step.places)

    def _product(self, step: Step) -> Iterator[_Wrong]:
        *_, a, _, c = step.places
        at = step.places[0] if len(step.places) == 4 else c
        yield from self._used(step, [a] if a.space == "rmem" else [])
        if not at.buffer or at.buffer != c.buffer or at.space not in ("rmem", "tmem"):
            return
        key = at.buffer, at.offset
        open_to_others = at.space == "tmem" and self.stored
        known = at.buffer in self.set or not self.trusts or open_to_others
        if step.asynchronous and step.adds is True and not known:
            yield "unset", at, None
        if step.asynchronous and step.adds is False and key in self.sums:
            yield "replaced", at, self.sums[key]
        self.set.add(at.buffer)
        if step.asynchronous:
            self.sums[key] = step
        if step.asynchronous and step.function == "wgmma":
            self.open[at.buffer] = step

    def _used(self, step: Step, places: tuple[Place, ...] | list[Place]) -> Iterator[_Wrong]:
        for place in places:
            running = next((g[place.buffer] for g in (*self.groups, self.open) if place.buffer in g), None)
            if running is not None and place.space == "rmem":
                yield "unfinished", place, running
            for key in [k for k in self.sums if k[0] == place.buffer]:
                del self.sums[key]

    def _renewed(self, places: tuple[Place, ...]) -> None:
        for place in places:
            self.set.add(place.buffer)
            for key in [k for k in self.sums if k[0] == place.buffer]:
                del self.sums[key]
