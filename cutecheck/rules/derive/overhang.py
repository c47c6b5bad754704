"""Tiles that are larger than the matrix they are taken of, and are copied whole."""

from __future__ import annotations

import re
from math import prod

from cutecheck.facts import Event, Guard, TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, NotModelledError, Rel, UndecidedError, known_value
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.coordinates import INDICES, guarded
from cutecheck.rules.derive.guards import inner

_AND, _OR = re.compile(r"&&|\band\b"), re.compile(r"\|\||\bor\b|\?")


def overhang(event: Event) -> tuple[TensorFact, int, int, int] | None:
    """A part of global memory that threads copy whole, without a predicate, of a tile with more elements along a mode
    than the tensor has: the tensor, the mode, its extent and the tile's. No condition around it is about that mode."""
    atom = atom_of(event.tiled)
    if event.kind != "copy" or event.predicated or not all(map(_holds_for_large_extents, inner(event.guards))):
        return None
    if atom is not None and ("TMA" in atom.op or "BULK" in atom.op):
        return None  # which leave out what is not there
    for tensor in event.operands[:2]:
        part = guarded(tensor)
        tile = None if part is None else [known_value(n) for n in part.tile]
        if part is None or tile is None or not _whole(tensor, tile):
            continue
        for mode, (extent, stride) in enumerate(zip(part.extents, part.strides, strict=True)):
            most, here = known_value(extent), tile[mode]
            if most is not None and here is not None and most < here and known_value(stride) != 0:
                return tensor, mode, most, here
    return None


def _whole(tensor: TensorFact, tile: list[int | None]) -> bool:
    """The threads of the tiled copy move all of the tile together."""
    threads = known_value(tensor.source.num_thr) if isinstance(tensor.source, TiledCopy) else None
    try:
        each = known_value(size(tensor.layout))
    except (CuteError, NotModelledError, UndecidedError, TypeError, AttributeError):
        return False
    known = [n for n in tile if n is not None]
    return threads is not None and each is not None and known == tile and threads * each == prod(known)


def _holds_for_large_extents(guard: Guard) -> bool:
    """``row < rows``, of an extent that only the run has: where it is large, all threads come here."""
    if guard.negated or _OR.search(guard.text) or len(guard.holds) < 1 + len(_AND.findall(guard.text)):
        return False
    for c in guard.holds:
        limits = [v for v in c.rhs.variables() if not v.name.startswith(INDICES)]
        indices = all(v.name.startswith(INDICES) for v in c.lhs.variables())
        if c.rel not in (Rel.LT, Rel.LE) or not indices or c.rhs.terms != tuple(t for t in c.rhs.terms if t[1] > 0):
            return False
        if len(limits) != 1 or limits[0].domain.bounds()[1] is not None:
            return False
    return bool(guard.holds)
