"""Fragments of a product whose slices are copied from those of a tile in shared memory, one of them from a wrong one.

Where each slice of a fragment comes from one of a tile, and one slice of the tile goes to two of the fragment, another
one of the tile goes to none: ``copy(sA(_, k), rA(_, k + 1))`` behind ``copy(sA(_, 0), rA(_, 0))``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.rules.derive.faults import Fault

_FEW = 3  # slices of a fragment, from which on one of them is an exception
_Copied = dict[int, tuple[int, Step]]  # by where a slice of a fragment starts: where it comes from, and the copy


def doubled(replay: Replay) -> list[Fault]:
    """The copies of slices that other slices of their fragment have, too, one of each place."""
    found: dict[object, Fault] = {}
    for steps in (replay.steps, *(thread.steps for thread in replay.threads)):
        for step in _of(steps):
            found.setdefault(step.span, Fault("doubled", step, step.places[0]))
    return list(found.values())


def _of(steps: tuple[Step, ...]) -> Iterator[Step]:
    multiplied = {p.buffer for s in steps if s.kind == "gemm" for p in s.places if p.space == "rmem"}
    fills: dict[tuple[str, tuple[int, int]], int] = defaultdict(int)  # how often each stage was written to
    copied: dict[object, _Copied] = defaultdict(dict)
    mixed: set[object] = set()  # of which a slice was copied from several
    for step in steps:
        if step.kind != "copy" or len(step.places) != 2:
            continue
        source, target = step.places
        if target.space == "smem":
            for at in [k for k in fills if k[0] == target.buffer and _overlap(k[1], target)]:
                fills[at] += 1
        elif source.space == "smem" and target.buffer in multiplied and not step.maybe:
            stage = source.buffer, source.bits
            key = stage, fills[stage], source.view, source.source, target.buffer
            mine = copied[key]
            if mine.setdefault(target.offset, (source.offset, step))[0] != source.offset:
                mixed.add(key)
    for of, mine in copied.items():
        if of in mixed or len(mine) < _FEW or len({offset for offset, _ in mine.values()}) != len(mine) - 1:
            continue
        seen: set[int] = set()
        for offset, step in mine.values():
            if offset in seen:
                yield step
            seen.add(offset)


def _overlap(bits: tuple[int, int], place: Place) -> bool:
    return bits[0] < place.bits[1] and place.bits[0] < bits[1]


__all__ = ["doubled"]
