"""Tiles that TMA stores in a run of a kernel's roles, where none of the operands that it multiplies were loaded."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from cutecheck.facts.replayed import Along, Step, Thread
from cutecheck.rules.derive.faults import Fault

_PAIR = 2  # two blocks may load an operand of UMMA together, each its half


def displaced(threads: tuple[Thread, ...]) -> Fault | None:
    """A store of a tile along a mode that operands have, too, at a place where no tile of such an operand was loaded.

    A mode is told by its extent's name: the rows of A are those of C, the rows of B its columns. The block has done all
    that it does, so for whatever tiles, in whatever order, each was loaded. Of matrices that have two modes of one name
    nothing is said, nor of what is loaded to be added to the result.
    """
    every = [s for t in threads for s in t.steps]
    loads = [s for s in every if s.kind == "load"]
    products = [s for s in every if s.kind == "gemm"]
    read = {p.buffer for s in products for p in s.places[-3:-1]}
    blocks = 1 if all(s.function == "wgmma" for s in products) else _PAIR
    if not read or any(not t.complete for t in threads) or any(s.places[0].walk is None for s in loads):
        return None
    for step in (s for s in every if s.kind == "drain" and not s.maybe):
        walk = step.places[1].walk or ()
        operands = [s.places[0].walk or () for s in loads if s.places[1].buffer in read or not _is_alike(s, walk)]
        for along in walk:
            there = _along(along.extent, walk, operands)
            if isinstance(along.start, int) and there and not any(_holds(a, along.start, blocks) for a in there):
                return Fault("displaced", step, replace(step.places[1], past=(along.start, along.many)))
    return None


def _is_alike(load: Step, walk: tuple[Along, ...]) -> bool:
    """Whether what is loaded has the modes of what is stored."""
    return [a.extent for a in load.places[0].walk or ()] == [a.extent for a in walk]


def _along(extent: str, walk: tuple[Along, ...], operands: list[tuple[Along, ...]]) -> list[Along]:
    """Where operands were loaded along the mode of that name; nothing where that is not known of each."""
    if not extent or extent.isdigit() or any(Counter(a.extent for a in w)[extent] > 1 for w in (walk, *operands)):
        return []
    there = [a for w in operands for a in w if a.extent == extent]
    return there if all(isinstance(a.start, int) for a in there) else []


def _holds(loaded: Along, start: int, blocks: int) -> bool:
    whole = loaded.span * blocks
    first = int(loaded.start) // whole * whole
    return first <= start < first + whole


__all__ = ["displaced"]
