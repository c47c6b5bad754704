"""Which rows and columns of the accumulators a thread owns, and what a permutation changes of that."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.model.algebra import apply_layout, size
from cutecheck.model.ints import CuteError, UndecidedError
from cutecheck.model.layout import Layout
from cutecheck.model.tiled.mma import TiledMMA

_MOST = 1 << 12  # values of a thread that are listed


def owned(mma: TiledMMA, mode: int, thread: int = 0) -> tuple[int, ...] | None:
    """Coordinates of mode M (0) or N (1) of C that a thread owns in one tile, in the order of its values.

    None where the layout is not static, or has too many values to list.
    """
    try:
        layout = mma.get_layoutC_TV()
        rows = mma.tile_shape[0]
        values = size(layout, 1)
        if not isinstance(rows, int) or not isinstance(values, int) or values > _MOST:
            return None
        indices = [apply_layout(layout, (thread, v)) for v in range(values)]
    except (CuteError, UndecidedError, TypeError, IndexError):
        return None
    if not all(isinstance(i, int) for i in indices):
        return None
    return tuple(dict.fromkeys((i // rows if mode == 1 else i % rows) for i in indices))


def without_permutation(mma: TiledMMA, mode: int) -> TiledMMA:
    """The same MMA with the plain size in place of one mode's permutation."""
    entries = list(mma.permutation_mnk)
    entry = entries[mode]
    if isinstance(entry, Layout):
        entries[mode] = size(entry)
    return replace(mma, permutation_mnk=(entries[0], entries[1], entries[2]))


def explained(mma: TiledMMA, mode: int) -> str:
    """``thread 0 owns columns 0, 1, 2, 3 of N, without the permutation 0, 1, 8, 9``; empty where it cannot be told."""
    if mode > 1:
        return ""
    now, before = owned(mma, mode), owned(without_permutation(mma, mode), mode)
    if now is None or before is None:
        return ""
    name, axis = ("rows", "M") if mode == 0 else ("columns", "N")
    same = ", the same without the permutation" if now == before else f", without the permutation {_listed(before)}"
    return f"thread 0 owns {name} {_listed(now)} of {axis}{same}"


def _listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown} ..." if len(numbers) > 8 else shown
