"""What a run of a kernel's roles brings to shared memory: tiles some twice and others never, or nothing at all."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise, permutations

from cutecheck.facts.replayed import Along, Place, Replay, Step, Thread
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.role_workers import is_unseen

_NAMES = re.compile(r"[A-Za-z_][\w.]*")
_FEW = 4  # loads, from which on they go through the tiles of a mode


@dataclass(slots=True)
class _Loads:
    """Those of one thread into one buffer, with the same coordinates but along one mode at most."""

    steps: list[Step] = field(default_factory=list)
    walks: list[tuple[Along, ...]] = field(default_factory=list)


def not_walked(threads: tuple[Thread, ...]) -> Fault | None:
    """A buffer gets as many tiles as a mode of its tensor has, some of them more than once, others never.

    The other buffers that the thread loads to in as many steps have a mode of the same extent, in tiles of the same
    size: so many passes go along that. Or they go on along one in such tiles, and these stay.
    """
    for thread in threads:
        loads: dict[tuple[str, tuple[int, int], int], _Loads] = defaultdict(_Loads)
        vague: set[str] = set()
        parts: dict[str, tuple[tuple[int, int], list[int]]] = {}  # of the stage that a buffer's last load is to
        for step in (s for s in thread.steps if s.kind == "load"):
            source, target = step.places
            if source.walk is None or step.maybe or target.root == (0, 0):
                vague.add(target.buffer)
            else:
                found = loads[target.buffer, target.root, _part(target, parts)]
                found.steps.append(step)
                found.walks.append(source.walk)
        known = {key: x for key, x in loads.items() if key[0] not in vague} if thread.complete else {}
        for mine, other in permutations(known.values(), 2):
            if (wrapped := _starts_again(mine, other)) is not None:
                return Fault("wrapped", wrapped, wrapped.places[0])
            if (ahead := _ahead(mine, other)) is not None:
                return ahead
        for key, mine in known.items():
            others = [x for k, x in known.items() if k != key and len(x.steps) == len(mine.steps)]
            for mode in _modes(mine):
                first = mine.walks[0][mode]
                alone = thread.decided == (first.extent,)  # as many passes as this mode has tiles
                if alone or any(_goes_along(first, x) or _goes_on(mine, mode, x) for x in others):
                    again = _again(mine)
                    return Fault("unwalked", again, again.places[0])
    return None


def not_counted(threads: tuple[Thread, ...]) -> Fault | None:
    """A mode whose tiles are loaded one after the other, in as many passes as its extent decides, all but the first or
    the last; or in as many as the extent of another mode does, along which no tiles are loaded."""
    loads: dict[tuple[str, tuple[int, int]], list[tuple[Thread, Step, tuple[Along, ...] | None]]] = defaultdict(list)
    for thread in threads:
        for step in (s for s in thread.steps if s.kind == "load"):
            walk = step.places[0].walk if thread.complete and not step.maybe else None
            loads[step.places[1].buffer, step.places[1].root].append((thread, step, walk))
    known = {key: [w for *_, w in found if w is not None] for key, found in loads.items()}
    going = {w[m].extent for walks in known.values() if walks for w in walks[:1] for m in _going(walks)}
    for key, found in loads.items():
        decided = {t.decided for t, *_ in found}
        walks = known[key]
        names = next(iter(decided)) if len(decided) == 1 else None
        modes = _going(walks) if len(walks) == len(found) else []
        if names is None or len(names) != 1 or len(modes) != 1:
            continue
        along, last = walks[0][modes[0]], found[-1][1]
        tiles = -(-along.many // along.span)
        starts = {w[modes[0]].start for w in walks}
        left = sorted(set(range(0, tiles * along.span, along.span)) - starts)
        if along.extent == names[0] and tiles > _FEW and left in ([0], [(tiles - 1) * along.span]):
            return Fault("missed", last, replace(last.places[0], past=(left[0] // along.span, tiles)))
        others = {a.extent for m, a in enumerate(walks[0]) if m != modes[0]}
        if along.extent and names[0] in others - going - {along.extent} and len(starts) >= _FEW:
            return Fault("miscounted", last, last.places[0])
    return None


def _going(walks: list[tuple[Along, ...]]) -> list[int]:
    """The modes along which loads go, by whole tiles; all of them where that is not known."""
    if not walks or any(_shape(w) != _shape(walks[0]) for w in walks):
        return []
    every = range(len(walks[0]))
    going = [m for m in every if len({w[m].start for w in walks}) > 1]
    starts = [w[m].start for w in walks for m in going]
    whole = all(isinstance(n, int) for n in starts) and all(
        isinstance(w[m].start, int) and int(w[m].start) % w[m].span == 0 for w in walks for m in going
    )
    return going if whole else list(every)


def _part(target: Place, parts: dict[str, tuple[tuple[int, int], list[int]]]) -> int:
    """Which part of its stage a load brings, as those do that come one after the other to other places of it."""
    stage, offsets = parts.get(target.buffer, (None, []))
    if stage != target.bits or target.offset in offsets:
        offsets = []
    parts[target.buffer] = target.bits, [*offsets, target.offset]
    return len(offsets)


def _modes(loads: _Loads) -> Iterator[int]:
    """Modes with as many tiles as there are loads in a row, along which alone these go on, if they do."""
    first = loads.walks[0]
    if any(len(w) != len(first) or _shape(w) != _shape(first) for w in loads.walks):
        return
    for mode, along in enumerate(first):
        tiles = -(-along.many // along.span)
        whole = [[w[mode].start for w in row] for row in _rows(loads.walks, mode)]
        if tiles < _FEW or any(len(starts) % tiles for starts in whole):
            continue  # of a persistent kernel one row of tiles comes after the other, or the same one again
        rows = [starts[at : at + tiles] for starts in whole for at in range(0, len(starts), tiles)]
        if all(len(set(starts)) == tiles for starts in rows):
            continue
        known = all(isinstance(n, int) and n % along.span == 0 <= n < along.many for starts in rows for n in starts)
        if known or all(len(set(starts)) == 1 for starts in rows):
            yield mode


def _rows(walks: list[tuple[Along, ...]], mode: int) -> Iterator[list[tuple[Along, ...]]]:
    """Loads that come one after the other and start alike but along one mode."""

    def others(walk: tuple[Along, ...]) -> tuple[int | str, ...]:
        return tuple(a.start for m, a in enumerate(walk) if m != mode)

    for _, row in groupby(walks, key=others):
        yield list(row)


def _shape(walk: tuple[Along, ...]) -> list[tuple[int, str]]:
    return [(a.span, a.extent) for a in walk]


def _goes_along(mine: Along, others: _Loads) -> bool:
    """Whether other loads, in as many steps, are of a tensor with the same mode."""
    return any(a.extent == mine.extent and a.span == mine.span for a in others.walks[0]) and mine.extent != ""


def _goes_on(mine: _Loads, mode: int, others: _Loads) -> bool:
    """Whether other loads go on, in as many steps as this mode has tiles, by tiles of the same size, and these stay: of
    two tensors whose extents are named apart, as those of two operands of a product."""
    along = mine.walks[0][mode]
    tiles = -(-along.many // along.span)
    for at in range(0, len(mine.walks), tiles):
        if len(set(mine.walks[at : at + tiles])) != 1:
            return False
    for m, other in enumerate(others.walks[0]):
        rows = [[w[m].start for w in others.walks[at : at + tiles]] for at in range(0, len(others.walks), tiles)]
        if (other.span == along.span or _made_of(along, other)) and all(len(set(row)) == tiles for row in rows):
            return True
        if (other.span, other.many) == (along.span, along.many) and all(len(set(row)) == 1 for row in rows):
            return True  # neither goes on
    return False


def _made_of(mine: Along, other: Along) -> bool:
    """Whether a mode has one element for each tile of another's, whose extent it is made of: scales of blocks of K."""
    names = set(_NAMES.findall(mine.extent)) & set(_NAMES.findall(other.extent))
    return bool(names) and -(-mine.many // mine.span) == -(-other.many // other.span)


def _starts_again(mine: _Loads, others: _Loads) -> Step | None:
    """A load of a tile that comes before the last one's, where the other operand's tiles go on one by one: each two are
    told to the same barrier, have as many elements along these modes, and go along no others."""
    if [(s.function, s.number) for s in mine.steps] != [(s.function, s.number) for s in others.steps]:
        return None
    if any(_shape(w) != _shape(x.walks[0]) for x in (mine, others) for w in x.walks):
        return None
    for mode, along in enumerate(others.walks[0]):
        at = 0
        for row in _rows(others.walks, mode) if along.span > 1 else ():
            starts = [w[mode].start for w in row]
            mine_too = mine.walks[at : at + len(row)]
            goes = [m for m, a in enumerate(mine_too[0]) if any(w[m] != a for w in mine_too)]
            if starts == [i * along.span for i in range(len(row))] and len(row) >= _FEW and len(goes) == 1:
                its = mine_too[0][goes[0]]
                here = [w[goes[0]].start for w in mine_too]
                back = (
                    i for i, (a, b) in enumerate(pairwise(here)) if isinstance(a, int) and isinstance(b, int) and b < a
                )
                first = next(back, None) if its.span == along.span or _made_of(its, along) else None
                if first is not None and set(here) <= {i * its.span for i in range(len(row))}:
                    return mine.steps[at + first + 1]
            at += len(row)
    return None


def _ahead(mine: _Loads, others: _Loads) -> Fault | None:
    """A load of a tile that does not exist, where each tile is some places ahead of, or behind, the other operand's,
    which is told to the same barrier and goes through as many tiles of the same size, from the first to the last."""
    if [(s.function, s.number) for s in mine.steps] != [(s.function, s.number) for s in others.steps]:
        return None
    if any(_shape(w) != _shape(x.walks[0]) for x in (mine, others) for w in x.walks):
        return None
    for mode, along in enumerate(others.walks[0]):
        tiles = -(-along.many // along.span)
        starts = [w[mode].start for w in others.walks]
        whole = [i * along.span for i in range(tiles)] * (len(starts) // tiles)
        goes = [m for m, a in enumerate(mine.walks[0]) if any(w[m].start != a.start for w in mine.walks[:tiles])]
        if tiles < _FEW or along.span < 2 or starts != whole or len(goes) != 1:
            continue
        here = [w[goes[0]].start for w in mine.walks]
        its = mine.walks[0][goes[0]]
        known = [n for n in here if isinstance(n, int)]
        apart = {a - b for a, b in zip(known, whole, strict=False)} if len(known) == len(whole) else set()
        by = apart.pop() if len(apart) == 1 else 0
        if by and by % along.span == 0 and (its.span, its.many) == (along.span, along.many):
            at = next(i for i, n in enumerate(here) if isinstance(n, int) and not 0 <= n < its.many)
            place = mine.steps[at].places[0]
            return Fault("ahead", mine.steps[at], replace(place, past=(int(here[at]) // its.span, tiles)))
    return None


def _again(loads: _Loads) -> Step:
    """The first load of a tile that was loaded before."""
    seen: set[tuple[int | str, ...]] = set()
    for step, walk in zip(loads.steps, loads.walks, strict=True):
        at = tuple(a.start for a in walk)
        if at in seen:
            return step
        seen.add(at)
    return loads.steps[-1]


def never_filled(replay: Replay) -> Fault | None:
    """Shared memory is multiplied or copied from, and no step of any thread writes a part of its variable there."""
    if "" in replay.pointed or any(is_unseen(s) for t in replay.threads for s in t.steps):
        return None
    pointed = {b.rpartition("::")[2].partition(".")[0] for b in replay.pointed}
    steps = [s for t in replay.threads for s in t.steps if s.kind in ("copy", "load", "gemm") and s.places]
    written = [s.places[1] for s in steps if s.kind != "gemm" and len(s.places) > 1 and s.places[1].space == "smem"]
    if any(_whole(p) is None for p in written):
        return None
    for step in (s for s in steps if s.kind != "load" and not s.maybe):
        for place in step.places[-3:-1] if step.kind == "gemm" else step.places[:1]:
            mine = _whole(place) if place.space == "smem" and place.root[0] < place.root[1] else None
            if mine is None or place.buffer in replay.pointed or place.buffer in pointed:
                continue
            if not any(_meet(mine, other) for p in written if (other := _whole(p)) is not None):
                return Fault("unfilled", step, place)
    return None


def _whole(place: Place) -> tuple[str, int, int] | None:
    """The variable in shared memory, and the bits of it that the tensor with all stages has; those that it has where
    it is not known which tensor that is."""
    if place.whole is None:
        return None
    variable, before = place.whole
    lo, hi = place.root if place.root[0] < place.root[1] else place.bits
    return (variable, before + lo, before + hi) if lo < hi else None


def _meet(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
