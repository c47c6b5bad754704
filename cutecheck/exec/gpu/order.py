"""Where a copy made with a tiler of its own puts the rows of an operand, or the elements of the result."""

from __future__ import annotations

from cutecheck.model.algebra import make_layout, offsets, shape
from cutecheck.model.ints import known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA


class NoOrderError(ValueError):
    """The copy does not hand the MMA whole rows: no GEMM is computed."""


def operand_rows(mma: TiledMMA, letter: str, read: TiledCopy | None, rows: int, depth: int) -> tuple[int, ...]:
    """The row of the tile (rows, depth) in shared memory that the MMA takes as each of its rows.

    The identity for ``make_tiled_copy_A`` and ``_B``. NoOrderError where an element lands in another column of k.
    """
    plain = mma.get_layoutA_TV() if letter == "A" else mma.get_layoutB_TV()
    tiler = mma.tile_size(0 if letter == "A" else 1), mma.tile_size(2)
    if read is None or (read.layout_tv == plain and read.tiler_mn == tiler):
        return tuple(range(rows))
    found: dict[int, int] = {}
    for ours, theirs in _pairs(mma, letter, read, (rows, depth)):
        if ours // rows != theirs // rows:
            raise NoOrderError(f"operand {letter} is read with its columns of k in another order")
        if found.setdefault(ours % rows, theirs % rows) != theirs % rows:
            raise NoOrderError(f"operand {letter} is read by a copy that mixes its rows")
    if sorted(found) != list(range(rows)) or sorted(found.values()) != list(range(rows)):
        raise NoOrderError(f"operand {letter} is read by a copy that does not read every row once")
    return tuple(found[r] for r in range(rows))


def result_places(mma: TiledMMA, write: TiledCopy | None, rows: int, columns: int) -> tuple[int, ...]:
    """The place (row + rows * column) at which the copy of the accumulators stores each element (likewise numbered)."""
    size = rows * columns
    tiler = mma.tile_size(0), mma.tile_size(1)
    if write is None or (write.layout_tv == mma.get_layoutC_TV() and write.tiler_mn == tiler):
        return tuple(range(size))
    found = dict(_pairs(mma, "C", write, (rows, columns)))
    if sorted(found) != list(range(size)) or sorted(found.values()) != list(range(size)):
        raise NoOrderError("the copy of the accumulators does not store every element once")
    return tuple(found[i] for i in range(size))


def _pairs(mma: TiledMMA, letter: str, copier: TiledCopy, extents: tuple[int, int]) -> list[tuple[int, int]]:
    """(element that the MMA means, element that the copy moves) of every register of every thread."""
    tile = Layout(extents, (1, extents[0]))
    threads = known_value(copier.num_thr) or 0
    out = []
    for thread in range(threads):
        part, start = mma.get_slice(thread).partition(letter, tile)
        meant = [_number(start) + o for o in offsets(part)]
        again = copier.retile(make_layout(shape(part)))
        moved, first = (copier.partition_S if letter == "C" else copier.partition_D)(tile, thread)
        places = [_number(first) + o for o in offsets(moved)]
        taken = offsets(again)
        if len(taken) != len(places) or len(taken) != len(meant):
            raise NoOrderError("the copy holds another number of registers than the MMA")
        out += [(meant[i], place) for i, place in zip(taken, places, strict=True)]
    return out


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise NoOrderError(f"an offset is not a number: {value}")
    return value
