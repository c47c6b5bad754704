"""What a kernel stores to global memory as it was loaded from there, by way of shared memory.

An epilogue brings results through the memory of an operand. Without the copy that puts them there it stores that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cutecheck.facts.replayed import Place, Step

_OUTSIDE = ("gmem", "coord")


class Passing:
    """The way of tiles through a run of all threads, whatever orders it."""

    def __init__(self) -> None:
        self.brought: list[Place] = []  # tensors in shared memory to which tiles of global memory are copied
        self._read: dict[str, Step] = {}  # registers to which shared memory is copied, and where
        self._computed: set[str] = set()  # registers that get other values as well
        self._passed: list[Step] = []  # reads of shared memory whose values are stored to global memory
        self._results = False  # something else is
        self._products = False
        self._operands: list[Place] = []  # what is multiplied of shared memory

    def computed(self, buffer: str) -> None:
        self._computed.add(buffer)

    def multiplied(self, operands: Sequence[Place], target: str) -> None:
        self._products = True
        self._computed.add(target)
        for place in operands:
            if place.space == "smem":
                self._operands.append(place)
            elif place.buffer in self._read:
                self._operands.append(self._read[place.buffer].places[0])

    def copied(self, read: Step, target: Place) -> None:
        """``read``: the copy's source, and what is to be said of it if nothing else is stored."""
        (source,) = read.places
        if target.space == "smem":
            self.brought += [target] if source.space in _OUTSIDE else []
        elif target.space == "rmem":
            if source.space != "smem":
                self._computed.add(target.buffer)
            self._read.setdefault(target.buffer, read)
        elif target.space in _OUTSIDE and source.space == "smem":
            self._passed.append(read)
        elif target.space in _OUTSIDE and source.buffer in self._read and source.buffer not in self._computed:
            self._passed.append(self._read[source.buffer])
        elif target.space in _OUTSIDE:
            self._results = True

    def stored(self) -> list[Step]:
        """The reads, once a place, of a kernel with products that stores nothing else by copies."""
        found = {(s.span, s.places[0].root): s for s in self._passed}
        return list(found.values()) if self._products and not self._results else []

    def is_brought(self, read: Place, stores: Sequence[Place], overlap: Callable[[Place, Place], bool]) -> bool:
        """Whether all that is written where this reads was copied there from global memory, and is multiplied."""
        known = {id(p) for p in self.brought}
        written = [s for s in stores if overlap(read, s)]
        there = any(p.buffer == read.buffer and overlap(read, p) for p in self._operands)
        return bool(written) and there and all(id(s) in known for s in written)
