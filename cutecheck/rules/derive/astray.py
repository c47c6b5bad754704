"""Tiles that are copied to the shared memory of another matrix: K to where V's tiles lie in the other passes.

Its own place has the same tile as well, and tiles of no other matrix. Where two matrices take turns in both places, as
in ``A * B^T + B * A^T``, that is meant.
"""

from __future__ import annotations

from collections import defaultdict

from cutecheck.facts.replayed import Replay, Step
from cutecheck.rules.derive.faults import Fault

_Place = tuple[str, tuple[int, int]]  # a tensor in shared memory: its buffer, and its bits there


def astray(replay: Replay) -> list[Fault]:
    """The copies, once a place, with the copies of the same tiles to their own place."""
    homes: dict[tuple[str, int], dict[_Place, Step]] = defaultdict(dict)
    matrices: dict[_Place, set[str]] = defaultdict(set)
    for step in replay.steps if any(s.kind == "gemm" for s in replay.steps) else ():
        if step.kind != "copy" or [p.space for p in step.places] != ["gmem", "smem"]:
            continue
        source, target = step.places
        if target.root[0] >= target.root[1] or not source.buffer:
            return []
        at = target.buffer, target.root
        matrices[at].add(source.buffer)
        if not step.maybe:
            homes[source.buffer, source.offset].setdefault(at, step)
    found: dict[object, Fault] = {}
    for places in homes.values():
        own = [at for at in places if len(matrices[at]) == 1]
        for at, step in places.items():
            home = next((o for o in own if len(matrices[at]) > 1 and _apart(o, at)), None)
            if home is not None:
                found.setdefault((step.span, step.caller), Fault("astray", step, step.places[0], places[home]))
    return list(found.values())


def _apart(one: _Place, other: _Place) -> bool:
    return one[0] != other[0] or one[1][1] <= other[1][0] or other[1][1] <= one[1][0]
