"""Which elements of a tile each thread has: of an MMA's operand, and of a tiled copy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from functools import lru_cache

from cutecheck.facts import TensorFact
from cutecheck.model.algebra import offsets, size
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, known_value
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA

_MOST = 1 << 18  # elements of a tile that are listed
_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


@lru_cache(maxsize=256)
def differing_thread(mma: TiledMMA, operand: str, copy: TiledCopy) -> int | None:
    """The first thread that has other elements of the MMA's operand than of the copy's tile; None where none has.

    Elements of accumulators are compared whole, those of A and B by their row (M or N) only: both may permute K alike.
    None too where a layout is not static, or the tiles are too large to list.
    """
    return _first(mma, operand, copy.tiler_shape, lambda: copy.layout_tv, (0, 1) if operand == "C" else (0,))


@lru_cache(maxsize=256)
def shared_alike(one: object, other: object) -> bool:
    """Whether two partitionings certainly give each thread the same elements, whatever instruction moves them.

    ``cp.async`` to shared memory and the plain loads from there are two tiled copies, which may part a tile alike.
    """
    if one == other:
        return True
    if not isinstance(one, TiledCopy) or not isinstance(other, TiledCopy):
        return False
    tile = one.tiler_shape
    if tile != other.tiler_shape or not isinstance(tile, tuple) or len(tile) != 2:
        return False
    try:
        if known_value(one.atom_num_thr) != 1 or known_value(other.atom_num_thr) != 1:
            return False  # an instruction of a warp: a thread reads for others
        mine = _elements(one.layout_tv, tile)
        return mine is not None and mine == _elements(other.layout_tv, tile)
    except (CuteError, UndecidedError, TypeError):
        return False


@lru_cache(maxsize=256)
def differing_owner(fragment: TiledMMA, product: TiledMMA, operand: str) -> int | None:
    """The first thread that has other elements of an operand in one MMA than in the other; None as above."""
    tile = None if fragment == product else _tile(product, operand)
    return None if tile is None else _first(fragment, operand, tile, lambda: _tv(product, operand), (0, 1))


def _tile(mma: TiledMMA, operand: str) -> tuple[int, ...] | None:
    """The extents of an operand's tile; None where they are no numbers, as of a permutation that CuTe refuses."""
    try:
        tile = tuple(mma.tile_shape[m] for m in _MODES[operand])
    except CuteError:
        return None
    return tile if all(isinstance(x, int) for x in tile) else None  # type: ignore[return-value]


def _tv(mma: TiledMMA, operand: str) -> AnyLayout:
    return getattr(mma, f"get_layout{operand}_TV")()  # type: ignore[no-any-return]


def _first(
    mma: TiledMMA, operand: str, other: object, layout: Callable[[], AnyLayout], modes: tuple[int, ...]
) -> int | None:
    tile = _tile(mma, operand)
    if tile is None or not isinstance(other, tuple) or len(other) != 2 or not all(isinstance(x, int) for x in other):
        return None
    try:
        own = _elements(_tv(mma, operand), tile)
        theirs = _elements(layout(), other)
    except (CuteError, UndecidedError, TypeError):
        return None
    if own is None or theirs is None or len(own) != len(theirs):
        return None
    common = tuple(math.lcm(_int(a), _int(b)) for a, b in zip(tile, other, strict=True))
    if math.prod(common) > _MOST:
        return None
    for thread, (mine, yours) in enumerate(zip(own, theirs, strict=True)):
        if _spread(mine, tile, common, modes) != _spread(yours, other, common, modes):
            return thread
    return None


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _elements(layout: AnyLayout, tile: Sequence[object]) -> list[set[tuple[int, int]]] | None:
    """The coordinates of each thread; None for a layout that is not (thread, value) of plain numbers."""
    rows = tile[0]
    if (
        not isinstance(rows, int)
        or not isinstance(layout, Layout)
        or not isinstance(layout.shape, tuple)
        or len(layout.shape) != 2
    ):
        return None
    threads, values = size(Layout(layout.shape[0], 0)), size(Layout(layout.shape[1], 0))
    if not isinstance(threads, int) or not isinstance(values, int) or threads * values > _MOST:
        return None
    indices = offsets(layout)  # the thread runs fastest
    return [{(i % rows, i // rows) for i in indices[t::threads]} for t in range(threads)]


def _spread(
    elements: set[tuple[int, int]], tile: Sequence[object], common: tuple[int, ...], modes: tuple[int, ...]
) -> Set[tuple[int, ...]]:
    """The chosen modes of the coordinates, in every tile of a common multiple of both."""
    kept = elements if len(modes) == 2 else {e[:1] for e in elements}
    if all(common[m] == tile[m] for m in modes):
        return kept
    found: set[tuple[int, ...]] = set()
    steps = [range(0, common[m], _int(tile[m])) for m in modes]
    for coordinate in kept:
        shifts = [[c + s for s in step] for c, step in zip(coordinate, steps, strict=True)]
        found |= {(a,) for a in shifts[0]} if len(shifts) == 1 else {(a, b) for a in shifts[0] for b in shifts[1]}
    return found


def misordered(fragment: TensorFact, copy: TiledCopy) -> bool:
    """A fragment was retiled by a TiledCopy that orders its elements otherwise than this one would."""
    root, source = fragment.root_layout, fragment.source
    if fragment.provenance != "retile" or not isinstance(source, TiledCopy) or source == copy or root is None:
        return False
    try:
        have, want = source.retile(root), copy.retile(root)
        if known_value(size(have)) != known_value(size(want)) or known_value(size(have)) is None:
            return False
        return offsets(have) != offsets(want)
    except (CuteError, NotModelledError, UndecidedError, TypeError, ValueError):
        return False
