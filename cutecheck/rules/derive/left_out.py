"""What a run of a kernel slices that does not exist, and what it leaves out, whatever orders its threads."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from cutecheck.facts.replayed import PASSED, Replay
from cutecheck.rules.derive.faults import Fault, Kind


def past_the_ends(replay: Replay) -> list[Fault]:
    """Copies and products at stages and tiles that do not exist, the first of each place."""
    found: dict[tuple[object, str], Fault] = {}
    for step in (*replay.steps, *replay.tiles, *(s for thread in replay.threads for s in thread.steps)):
        for place in step.places:
            there = not step.maybe or (step.masked and place.space == "smem")  # predicates bound tiles, not stages
            if place.past is not None and there and place.space in ("smem", "gmem"):
                kind: Kind = "past stage" if place.space == "smem" else "past tile"
                found.setdefault((step.span, kind), Fault(kind, step, place))
    return list(found.values())


def before_the_start(replay: Replay) -> list[Fault]:
    """Copies of tiles before the first one, by a loop that goes down and took the second and the first: once a place.

    Such a loop may move a pointer, and no extent says where the matrix ends; where it begins the kernel is told.
    """
    found: dict[object, Fault] = {}
    taken: dict[str, set[int]] = defaultdict(set)
    for step in replay.steps:
        for place in step.places if step.kind == "copy" else ():
            if place.space != "gmem" or not place.buffer:
                continue
            if place.offset < 0 and place.past is None and not step.maybe and {0, -place.offset} <= taken[place.buffer]:
                found.setdefault((step.span, step.caller), Fault("before", step, place, tile=-place.offset))
            taken[place.buffer].add(place.offset)
    return list(found.values())


def missed(replay: Replay) -> list[Fault]:
    """Tiles that no copy brings, in a kernel with products that brings the others, at the last copy of these."""
    found = []
    steps = (*replay.steps, *replay.tiles)
    for buffer, tile, most in replay.missed if any(s.kind == "gemm" for s in steps) else ():
        copies = [s for s in steps if s.kind == "copy" and s.places[0].buffer == buffer]
        if copies and copies[-1].places[0].space == "gmem":
            found.append(Fault("missed", copies[-1], replace(copies[-1].places[0], past=(tile, most))))
    return found


def unwritten(replay: Replay) -> list[Fault]:
    """Reads of fragments and of shared memory that nothing has written."""
    found = []
    for step in (s for s in replay.tiles if s.kind == "unwritten"):
        place = step.places[0]
        kind: Kind = "unfilled" if place.space == "smem" else "unset" if step.function == "accumulates" else "unwritten"
        if step.function == PASSED:
            kind = "passed on"
        found.append(Fault(kind, step, place))
    return found
