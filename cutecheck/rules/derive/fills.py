"""What was copied to a stage of shared memory, and how places there lie to one another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts.replayed import Place, Step
from cutecheck.facts.touch import Touch
from cutecheck.rules.derive.ownership import shared_alike
from cutecheck.rules.derive.parts import crosses, meets

Root = tuple[int, int]
Key = tuple[str, Root]  # the buffer, and the bits of a stage in it
Part = tuple[int, int]  # of a tile: the offset in its stage, and by which layout
Tile = tuple[tuple[str, int], ...]  # where its parts come from
FEW = 3  # tiles of a buffer, from which on it is a pipeline's


@dataclass(slots=True)
class Fill:
    """What was copied to a stage: offset of each part there, its group (None: stored at once), time and source."""

    key: Key
    of: Key  # the whole tensor
    number: int
    step: Step
    at: int = 0
    parts: dict[int, tuple[int | None, int, tuple[str, int] | None]] = field(default_factory=dict)
    writers: set[object] = field(default_factory=set)
    wrote: list[Touch | None] = field(default_factory=list)
    read: Step | None = None
    read_at: int = -1
    groups_at: int = -1  # when several warpgroups multiplied all of it
    readers: set[object] = field(default_factory=set)
    reads: list[tuple[int, Touch | None]] = field(default_factory=list)  # by those without a partition, and when
    maybe: bool = True

    @property
    def tile(self) -> Tile | None:
        found = [source for _, _, source in self.parts.values()]
        return None if None in found else tuple(sorted(cast("list[tuple[str, int]]", found)))


Held = tuple[Fill, Part]  # registers hold a part of a tile


def one_slice(
    known: dict[tuple[Tile, Part, Tile, Part], Step], new: tuple[Tile, Part, Tile, Part]
) -> tuple[int, Step] | None:
    """In one sum one slice of a tile meets several of the other operand's, and they no other of it.

    The operand (0 is A), and where it was multiplied first. Two slices may be the halves of numbers of more bits.
    """
    alike = {pair: step for pair, step in known.items() if (pair[0], pair[2]) == (new[0], new[2])}
    for operand, mine, others in ((0, 1, 3), (1, 3, 1)):
        if {pair[mine] for pair in alike} == {new[mine]} and len({p[others] for p in (*alike, new)}) >= FEW:
            return operand, next(iter(alike.values()))
    return None


def key_of(place: Place) -> Key:
    return place.buffer, place.bits


def overlap(key: Key, other: Key) -> bool:
    (buffer, (lo, hi)), (another, (low, high)) = key, other
    return buffer == another and lo < high and low < hi


def may_overlap(stored: Key, key: Key) -> bool:
    return stored[0] == key[0] and (stored[1][1] < stored[1][0] or overlap(stored, key))


def may_meet(wrote: list[Touch | None], read: Touch | None) -> bool:
    """Whether what is read is a part of what was written, as far as both are known."""
    return read is None or any(w is None or meets(w, read) is not False for w in wrote)


def by_others(fill: Fill, place: Place) -> bool:
    """Whether other threads have written what is read."""
    if None not in fill.writers and place.source is not None:
        return of_others(fill.writers, place.source)
    touch = place.touch
    return touch is not None and None not in fill.wrote and any(crosses(w, touch) for w in fill.wrote if w is not None)


def holds(outer: Root, inner: Root) -> bool:
    """A tensor of which the end is not known may hold any other."""
    return outer[1] < outer[0] or (outer[0] <= inner[0] and inner[1] <= outer[1])


def of_others(sources: set[object], source: object) -> bool:
    """Elements go to other threads than they come from, as far as what partitioned them says."""
    return None not in sources and source is not None and not all(shared_alike(other, source) for other in sources)
