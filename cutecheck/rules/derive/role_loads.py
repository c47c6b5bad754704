"""What TMA loads in a run of a kernel's roles: which barrier is told of it, and what part of a buffer it fills."""

from __future__ import annotations

from collections import defaultdict

from cutecheck.facts.replayed import Place, Step, Thread

Barrier = tuple[str, int]
Key = tuple[str, tuple[int, int]]
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


def gate_of(step: Step) -> Barrier:
    return step.places[0].buffer, step.places[0].offset


def key_of(place: Place) -> Key:
    return place.buffer, place.bits


def holds(key: Key, other: Key) -> bool:
    """Whether what is filled has all bits of what is read, which may be those of one warpgroup."""
    (buffer, (lo, hi)), (another, (low, high)) = key, other
    return key == other or (buffer == another and lo <= low < high <= hi)


__all__ = ["Barrier", "Key", "gate_of", "holds", "in_parts", "key_of", "told_after"]
