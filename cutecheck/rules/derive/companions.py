"""Tensors that are loaded beside others in a run of a kernel's roles, at other tiles of the modes that both have."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from cutecheck.facts.replayed import Along, Step, Thread
from cutecheck.rules.derive.faults import Fault

_TWO = 2
_FEW = 4  # tiles, from which on loads go through a mode
_Walk = tuple[Along, ...]


def mislaid(threads: tuple[Thread, ...]) -> Fault | None:
    """A load of what no product reads (scales, a source that is added), at a place along a mode where no tile of an
    operand that has this mode, by its extent's name, was loaded.

    The block has done all that it does, and TMA has brought all operands of its products: so a mode of one name is one
    of theirs. What says where tiles lie may be numbers in memory, the same for both.
    """
    if any(not t.complete for t in threads):
        return None
    loads = [s for t in threads for s in t.steps if s.kind == "load"]
    read = [p for t in threads for s in t.steps if s.kind == "gemm" for p in s.places[-3:-1]]
    filled = {s.places[1].buffer for s in loads}
    if not read or any(p.space != "smem" or p.buffer not in filled for p in read):
        return None
    if any(s.places[0].walk is None for s in loads):
        return None
    of_products = {p.buffer for p in read}
    products = (s.function for t in threads for s in t.steps if s.kind == "gemm")
    blocks = 1 if all(function == "wgmma" for function in products) else _TWO
    operands = [s.places[0].walk or () for s in loads if s.places[1].buffer in of_products]
    for step in (s for s in loads if s.places[1].buffer not in of_products and not s.maybe):
        for along in step.places[0].walk or ():
            there = _of_name(along.extent, step.places[0].walk or (), operands)
            if there and not any(_meet(a, along, blocks) for a in there) and _same_memory([along], there):
                return Fault("mislaid", step, replace(step.places[0], past=(int(along.start), along.many)))
    return None


def apart(threads: tuple[Thread, ...]) -> Fault | None:
    """Two tensors of which as many tiles are loaded, the one along a mode that the other has, too, and that goes along
    other tiles of it (or at another head): neither all nor none of those are the other's.

    Both are the first operands of all products that read them, or both the second ones, or one of them is none: K and
    V, say. The two operands of one product may be tiles of one tensor, a row of tiles against another.
    """
    if any(not t.complete for t in threads):
        return None
    streams: dict[tuple[str, tuple[int, int]], list[Step]] = defaultdict(list)
    for step in (s for t in threads for s in t.steps if s.kind == "load"):
        streams[step.places[1].buffer, step.places[1].root].append(step)
    sides: dict[str, set[int]] = defaultdict(set)
    for places in (s.places[-3:-1] for t in threads for s in t.steps if s.kind == "gemm" and len(s.places) > 2):
        for side, place in enumerate(places):
            sides[place.buffer].add(side)
    known = {key: x for key, x in streams.items() if all(s.places[0].walk and not s.maybe for s in x)}
    if len(known) < len(streams):
        return None
    for (mine, x), (other, y) in permutations(known.items(), 2):
        of = sides[mine[0]] | sides[other[0]]
        if len(x) != len(y) or len(of) > 1 or not sides[other[0]]:
            continue
        found = _differ([s.places[0].walk or () for s in x], [s.places[0].walk or () for s in y])
        if found is not None:
            return Fault("apart", x[found], x[found].places[0], y[found])
    return None


def odd(threads: tuple[Thread, ...]) -> Fault | None:
    """A tensor that is taken at other elements of a mode (heads, groups, a batch) than all others that have this mode:
    at least two, which are taken at the same elements, several of them, as operands or results of the kernel."""
    if any(not t.complete for t in threads):
        return None
    taken: dict[tuple[str, str, bool], list[tuple[Step, Along]]] = defaultdict(list)
    unclear: set[str] = set()  # modes of which not all is known
    for step in (s for t in threads for s in t.steps if s.kind in ("load", "drain")):
        loads = step.kind == "load"
        walk = step.places[0 if loads else 1].walk
        if walk is None or step.maybe:
            return None
        for along in walk:
            many = sum(a.extent == along.extent for a in walk)
            if along.extent.isdigit() or along.span != 1 or many > 1 or not isinstance(along.start, int):
                unclear.add(along.extent)
            key = along.extent, step.places[1 if loads else 0].buffer, loads
            taken[key].append((step, along))
    for extent in sorted({e for e, *_ in taken} - unclear - {""}):
        mine = {key: uses for key, uses in taken.items() if key[0] == extent}
        sets = {key: frozenset(int(a.start) for _, a in uses) for key, uses in mine.items()}
        common = Counter(sets.values()).most_common(1)[0]
        others = [key for key, found in sets.items() if found != common[0]]
        if len(others) != 1 or common[1] < _TWO or len(common[0]) < _TWO or not sets[others[0]] & common[0]:
            continue
        strange, uses = sets[others[0]], mine[others[0]]
        if len(uses) < len(common[0]) or (strange < common[0] and len(strange) > 1):
            continue  # it is not loaded for each of them
        step, along = next((s, a) for s, a in uses if a.start not in common[0] or len(strange) == 1)
        theirs = next(uses for key, uses in mine.items() if key != others[0])
        if _same_memory([along], [a for _, a in theirs]):
            missed = next((s for s, a in theirs if a.start not in strange), theirs[0][0])
            place = step.places[0 if step.kind == "load" else 1]
            return Fault("odd", step, replace(place, past=(int(along.start), along.many)), missed)
    return None


def _differ(mine: list[_Walk], other: list[_Walk]) -> int | None:
    """The first load that is of another tile than all of the other tensor's, or was made before instead of another."""
    both = [a.extent for a in other[0] if _of_name(a.extent, mine[0], other) and _of_name(a.extent, other[0], mine)]
    theirs = {a.extent: a for a in other[0]}
    both = [
        n for n in both if all((a.span, a.many) == (theirs[n].span, theirs[n].many) for a in mine[0] if a.extent == n)
    ]
    for extent in (n for n in both if _goes_along(n, other)):
        names = [extent, *(n for n in both if n != extent and theirs[n].span == 1)]
        here, there = _tiles(names, mine), _tiles(names, other)
        if set(here) == set(there) or not set(here) & set(there):
            continue
        pairs = [(a, b) for x, y in zip(mine, other, strict=True) for a, b in _pairs(names, x, y)]
        if any(a.read != b.read for a, b in pairs):
            continue
        seen: set[tuple[int, ...]] = set()
        for at, tile in enumerate(here):
            if tile not in set(there) or (tile in seen and set(here) < set(there)):
                return at
            seen.add(tile)
    return None


def _pairs(names: list[str], one: _Walk, other: _Walk) -> Iterator[tuple[Along, Along]]:
    for name in names:
        yield next(a for a in one if a.extent == name), next(a for a in other if a.extent == name)


def _tiles(names: list[str], walks: list[_Walk]) -> list[tuple[int, ...]]:
    return [tuple(int(next(a for a in w if a.extent == n).start) for n in names) for w in walks]


def _goes_along(extent: str, walks: list[_Walk]) -> bool:
    """Whether one load after the other is of another tile along a mode, and starts alike along all others."""
    run: set[int | str] = set()
    last: tuple[int | str, ...] = ()
    for walk in walks:
        others = tuple(a.start for a in walk if a.extent != extent)
        run = run if others == last else set()
        run.add(next(a.start for a in walk if a.extent == extent))
        last = others
        if len(run) >= _FEW:
            return True
    return False


def _of_name(extent: str, walk: _Walk, others: list[_Walk]) -> list[Along]:
    """Where tiles of other tensors start along a mode of this name; nothing where that is not known of each, or a
    tensor has two modes of the name."""
    if not extent or extent.isdigit() or any(Counter(a.extent for a in w)[extent] > 1 for w in (walk, *others)):
        return []
    there = [a for w in (walk, *others) for a in w if a.extent == extent]
    return [a for w in others for a in w if a.extent == extent] if all(isinstance(a.start, int) for a in there) else []


def _meet(operand: Along, other: Along, blocks: int) -> bool:
    """Whether tiles have elements in common; so many blocks load an operand together, each its part."""
    whole = operand.span * blocks
    first, second = int(operand.start) // whole * whole, int(other.start)
    return first < second + other.span and second < first + whole


def _same_memory(mine: list[Along], others: list[Along]) -> bool:
    """Whether all numbers in memory that say where tiles lie are some that say so of the others."""
    known = {n for a in others for n in a.read}
    return all(n in known for a in mine for n in a.read)


__all__ = ["apart", "mislaid", "odd"]
