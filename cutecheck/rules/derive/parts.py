"""Shared memory of a run of all threads, cut into what is filled and read as one: stages of tensors, and of arrays that
have none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import Place, Step
from cutecheck.facts.touch import Touch, hull, owners

Bits = tuple[int, int]
_WARP = 32
_TWO = 2  # stages at least


def staged(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Each place as one of a stage.

    A tensor of two modes has stages where each copy to it fills one coordinate of the last. Bytes that assembly
    copies, and single elements that are read, are a part of the stage that a tensor has there; of an array without
    tensors, what threads fill side by side is one. Elsewhere they are accessed by hand.
    """
    steps = tuple(_in_columns(s, columned) for s in steps) if (columned := _columned(steps)) else steps
    if not any(s.function == CHUNK for s in steps):
        return steps
    known: dict[str, dict[Bits, Place]] = defaultdict(dict)
    for place in (p for s in steps if s.kind in ("copy", "gemm") and s.function != CHUNK for p in s.places):
        if place.space == "smem" and place.root != (0, 0) and place.bits[0] < place.bits[1]:
            known[place.buffer].setdefault(place.bits, place)
    filled = _filled_alone(steps, known)
    return tuple(t for s in steps for t in (_staged(s, known, filled) if s.function == CHUNK else (s,)))


def _columned(steps: Iterable[Step]) -> set[tuple[str, Bits]]:
    """Tensors of two modes of which each access is of one coordinate of the last one, and copies fill several."""
    found: dict[tuple[str, Bits], set[Bits | None]] = defaultdict(set)
    read: set[tuple[str, Bits]] = set()
    for step in (s for s in steps if s.kind in ("copy", "gemm") and s.function != CHUNK):
        for i, place in enumerate(step.places):
            if place.space != "smem":
                continue
            if step.kind == "copy" and i == 1:
                found[place.buffer, place.root].add(place.column)
            elif place.column is None:
                read.add((place.buffer, place.root))
    return {at for at, columns in found.items() if None not in columns and len(columns) >= _TWO} - read


def _in_columns(step: Step, columned: set[tuple[str, Bits]]) -> Step:
    places = tuple(
        replace(p, bits=p.column) if p.column is not None and (p.buffer, p.root) in columned else p for p in step.places
    )
    return step if places == step.places else replace(step, places=places)


def _filled_alone(steps: Iterable[Step], known: dict[str, dict[Bits, Place]]) -> dict[str, list[Bits]]:
    """Of arrays that no tensor is in: what threads fill side by side, by ``cp.async`` of their own."""
    found: dict[str, set[Bits]] = defaultdict(set)
    unknown: set[str] = set()
    for step in (s for s in steps if s.function == CHUNK and s.asynchronous):
        place = step.places[-1]
        bits = hull(place.touch) if place.touch is not None else None
        if bits is None or place.buffer in known:
            unknown.add(place.buffer)
        else:
            found[place.buffer].add(bits)
    made: dict[str, list[Bits]] = {}
    for buffer in found.keys() - unknown:
        joined: list[Bits] = []
        for low, high in sorted(found[buffer]):
            if joined and low < joined[-1][1]:
                joined[-1] = joined[-1][0], max(high, joined[-1][1])
            else:
                joined.append((low, high))
        made[buffer] = joined
    return made


def _staged(step: Step, known: dict[str, dict[Bits, Place]], filled: dict[str, list[Bits]]) -> list[Step]:
    """A step as one of each stage that it is of."""
    at = next(i for i, p in enumerate(step.places) if p.space == "smem")
    mine = step.places[at]
    if mine.buffer in filled:
        low, high = (hull(mine.touch) if mine.touch is not None else None) or mine.bits
        over = [(lo, hi) for lo, hi in filled[mine.buffer] if lo < high and low < hi]
        if at == 1 and (len(over) != 1 or not (over[0][0] <= low and high <= over[0][1])):
            return [replace(step, kind="element", places=(mine,))]
        return [_at(step, at, replace(mine, bits=of, root=of)) for of in over]
    around = [p for (lo, hi), p in known[mine.buffer].items() if lo <= mine.bits[0] and mine.bits[1] <= hi]
    if not around:
        return [] if at == 0 and mine.touch is not None else [replace(step, kind="element", places=(mine,))]
    inner = min(around, key=lambda p: p.bits[1] - p.bits[0])
    return [_at(step, at, replace(mine, bits=inner.bits, root=inner.root, view=inner.view))]


def _at(step: Step, at: int, place: Place) -> Step:
    return replace(step, places=(*step.places[:at], place, *step.places[at + 1 :]))


def meets(first: Touch, then: Touch) -> bool | None:
    """Whether some thread accesses what some thread accessed before; None where that is not known."""
    mine, theirs = _owners(first, then)
    return None if mine is None or theirs is None else not mine.keys().isdisjoint(theirs)


def crosses(first: Touch, then: Touch) -> bool:
    """Whether threads of one warp certainly access what those of another one accessed before."""
    mine, theirs = _owners(first, then)
    if mine is None or theirs is None:
        return False
    return any(
        t // _WARP != u // _WARP
        for place in mine.keys() & theirs.keys() for t in theirs[place] for u in mine[place]
    )  # fmt: skip


def _owners(
    first: Touch, then: Touch
) -> tuple[dict[int, frozenset[int]] | None, dict[int, frozenset[int]] | None]:  # fmt: skip
    unit = 8 if min(first.size, then.size) >= 8 else 1
    return owners(first, unit), owners(then, unit)
