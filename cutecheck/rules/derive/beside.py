"""What the next block of a cluster does in a run of the first one's roles, where it makes the same steps."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.rules.derive.companions import mislaid
from cutecheck.rules.derive.displaced import displaced
from cutecheck.rules.derive.faults import Fault


def of_both(threads: tuple[Thread, ...]) -> Fault | None:
    """All tiles that TMA stores are those that the next block stores, too: each is computed twice, others never.

    Blocks that add to one tile may each have a part of K.
    """
    drains = [s for t in threads for s in t.steps if s.kind == "drain"]
    walks = [s.places[1].walk for s in drains]
    if not drains or any(not t.complete for t in threads) or any(s.maybe or s.adds for s in drains) or not all(walks):
        return None
    if all(a.beside is not None and a.beside == a.start for walk in walks for a in walk or ()):
        return Fault("of both", drains[0], drains[0].places[1])
    return None


def in_neighbour(threads: tuple[Thread, ...]) -> Fault | None:
    """A tile that the next block stores, or loads beside its operands, that is not one of those of its operands."""
    if not any(a.beside is not None for t in threads for s in t.steps for p in s.places for a in p.walk or ()):
        return None
    others = tuple(replace(t, steps=tuple(map(_moved, t.steps))) for t in threads)
    found = displaced(others) or mislaid(others)
    return None if found is None else replace(found, kind="of neighbour", tile=1)


def _moved(step: Step) -> Step:
    if all(p.walk is None for p in step.places):
        return step
    return replace(step, places=tuple(map(_there, step.places)))


def _there(place: Place) -> Place:
    return place if place.walk is None else replace(place, walk=tuple(map(_start, place.walk)))


def _start(along: Along) -> Along:
    return replace(along, start="" if along.beside is None else along.beside)


__all__ = ["in_neighbour", "of_both"]
