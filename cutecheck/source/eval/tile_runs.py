"""Runs of a kernel for the tiles that it takes, and for what it reads that nothing writes."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts.replayed import Replay
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.one_run import Start, others, run
from cutecheck.source.eval.record.past import GRID
from cutecheck.source.eval.record.rounds import EACH, MEMORY, Numbers, shares
from cutecheck.source.eval.record.tiles import FEW_TILES, MOST_COST, TileWalk

_FEW = 24  # passes of a loop whose number a parameter is


def _few_passes(walk: TileWalk) -> Numbers:
    """Small numbers for what says as it is how often a loop runs, a parameter or memory."""
    found = {f"{MEMORY}{buffer}{EACH}" for buffer in walk.memory.read}
    divided = {v.name for v in walk.rounds.divisors}
    asked = {n for x in walk.rounds.loops.values() if x.long for n in x.names()} - divided
    told = {n for n in asked if not n.startswith((MEMORY, GRID))}
    return dict.fromkeys(found, FEW_TILES) | dict.fromkeys(told, _FEW)


def with_tiles(m: Machine, start: Start, made: Replay | None) -> tuple[Replay | None, int]:
    """What is known of a kernel with the tiles that it takes, and what that cost; as it was where these are not all."""
    walk = TileWalk(m)
    complete = run(m, start, False, made=walk, most=MOST_COST)[1]
    cost = walk.cost
    if walk.chose and not complete:
        walk = TileWalk(m, given=True)
        complete = run(m, start, True, made=walk, most=MOST_COST)[1]
        cost += walk.cost
    few = _few_passes(walk) if walk.long and not complete else {}
    if few:
        walk = TileWalk(m, walk.given, few)
        complete = run(m, start, walk.given, made=walk, most=MOST_COST)[1]
        cost += walk.cost
    divided = shares(walk.rounds.loops.values())
    if divided and not complete:
        walk = TileWalk(m, walk.given, dict.fromkeys(divided, 1))
        complete = run(m, start, walk.given, made=walk, most=MOST_COST)[1]
        cost += walk.cost
    for numbers in others(walk) if complete and not walk.steps else ():
        walk = TileWalk(m, numbers=numbers)
        complete = run(m, start, False, made=walk, most=MOST_COST)[1]
        cost += walk.cost
        if walk.steps:
            break
    if not complete:
        return made, cost
    known = made if made is not None else Replay((), False)
    whole = known.complete or known.threads
    steps = [s for s in walk.steps if s.kind == "unwritten" or not whole]
    missed = known.missed if whole else walk.slices.missed()
    found = (*steps, *walk.unwritten.never_stored(), *walk.unwritten.passed_on())
    return replace(known, tiles=found, missed=missed), cost
