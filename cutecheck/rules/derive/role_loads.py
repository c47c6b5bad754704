"""What TMA loads in a run of a kernel's roles: which barrier is told of it, and what part of a buffer it fills."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import pairwise

from cutecheck.facts.replayed import BY_ELEMENT, Place, Step, Thread

Barrier = tuple[str, int]
Key = tuple[str, tuple[int, int]]
_AT = {"load": 1, "drain": 0}  # which operand of a copy by TMA is in shared memory
_UNNAMED = "tma"  # a load whose barrier is not known by name


def told_after(steps: tuple[Step, ...]) -> dict[int, Barrier | None]:
    """The loads whose barrier is told of their bytes after them, as its first step says; and that barrier, if known."""
    found: dict[int, Barrier | None] = {}
    after: dict[str, bool] = {}
    for at, step in enumerate(steps):
        if step.kind == "load":
            of = "" if step.function == _UNNAMED else step.function.rpartition("|")[2]
        else:
            of = step.places[0].buffer if step.places else ""
        if step.kind == "barrier" and step.function == "expect":
            after.setdefault(of, False)
        elif step.kind == "load" and of and after.setdefault(of, True):
            told = (s for s in steps[at + 1 :] if s.kind == "barrier" and s.function == "expect")
            found[at] = next((gate_of(s) for s in told if s.places[0].buffer == of), None)
    return found


def sized(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """Loads by assembly say where they begin: they fill the stage that something reads, or up to the next load.

    Stores are of the stage that something fills.
    """
    every = [s for t in threads for s in t.steps]
    if not any(_open(s) for s in every):
        return threads
    reads: dict[str, set[tuple[int, int]]] = defaultdict(set)
    starts: dict[str, set[int]] = defaultdict(set)
    for step in every:
        if step.kind == "load":
            starts[step.places[1].buffer].add(step.places[1].bits[0])
        elif step.kind in ("copy", "gemm") and step.places:
            for place in (p for p in step.places if p.space == "smem" and p.root != (0, 0) and p.bits[0] < p.bits[1]):
                reads[place.buffer].add(place.bits)
    found = ((t, tuple(_filled(s, reads, starts) if _open(s) else s for s in t.steps)) for t in threads)
    return tuple(replace(t, steps=steps) for t, steps in found)


def without_elements(threads: tuple[Thread, ...]) -> tuple[Thread, ...]:
    """Single elements count where TMA fills all that they are of; of other memory each thread may read its own."""
    every = [s for t in threads for s in t.steps]
    if not any(s.function == BY_ELEMENT for s in every):
        return threads
    filled = {key_of(s.places[1]) for s in every if s.kind == "load"}
    return tuple(
        replace(t, steps=tuple(s for s in t.steps if s.function != BY_ELEMENT or key_of(s.places[0]) in filled))
        for t in threads
    )


def by_assembly(step: Step) -> bool:
    """A load, store or product of the program's own assembly: no tensor says what it is of."""
    return _open(step) or (step.kind == "gemm" and not step.places[-1].buffer)


def _open(step: Step) -> bool:
    return step.kind in _AT and step.places[_AT[step.kind]].root == (0, 0)


def _filled(step: Step, reads: dict[str, set[tuple[int, int]]], starts: dict[str, set[int]]) -> Step:
    at = _AT[step.kind]
    place = step.places[at]
    lo, hi = place.bits
    within = sorted(((b - a, (a, b)) for a, b in reads[place.buffer] if a <= lo < b and hi <= b))
    every = sorted(starts[place.buffer])
    if within:
        bits = within[0][1]
    elif hi < lo and step.kind == "drain":
        bits = (lo, lo + 1)
    elif hi < lo:
        gaps = [b - a for a, b in pairwise(every)]
        bits = (lo, lo + (min(gaps) if gaps else 1))
    else:
        bits = place.bits
    return replace(step, places=(*step.places[:at], replace(place, bits=bits), *step.places[at + 1 :]))


def in_parts(threads: tuple[Thread, ...]) -> set[Key]:
    """What is loaded part by part, each with a barrier of its own: who waits for one need not wait for the others."""
    found: dict[Key, dict[int, set[Barrier | None]]] = defaultdict(lambda: defaultdict(set))
    for thread in threads:
        told: Barrier | None = None
        for step in thread.steps:
            if step.kind == "barrier" and step.function == "expect":
                told = gate_of(step)
            elif step.kind == "load":
                found[key_of(step.places[1])][step.places[1].offset].add(told)
    return {k for k, parts in found.items() if len({frozenset(gates) for gates in parts.values()}) > 1}


def stored_in_parts(threads: tuple[Thread, ...]) -> set[Key]:
    """What TMA stores from several places of: which of these a thread writes is not told apart."""
    found: dict[Key, set[int]] = defaultdict(set)
    for step in (s for t in threads for s in t.steps if s.kind == "drain"):
        found[key_of(step.places[0])].add(step.places[0].offset)
    return {k for k, starts in found.items() if len(starts) > 1}


def gate_of(step: Step) -> Barrier:
    return step.places[0].buffer, step.places[0].offset


def key_of(place: Place) -> Key:
    return place.buffer, place.bits


def holds(key: Key, other: Key) -> bool:
    """Whether what is filled has all bits of what is read, which may be those of one warpgroup."""
    (buffer, (lo, hi)), (another, (low, high)) = key, other
    return key == other or (buffer == another and lo <= low < high <= hi)


__all__ = ["Barrier", "Key", "by_assembly", "gate_of", "holds", "in_parts", "key_of", "sized", "stored_in_parts",
           "told_after", "without_elements"]  # fmt: skip
