"""Thread and value layouts of a tiled copy that moves whole vectors over a tile, coalesced and covering it once."""

from __future__ import annotations

from cutecheck.model.layout import Layout
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.make import make_obligation
from cutecheck.model.prove.obligation import Outcome, Verdict
from cutecheck.model.prove.properties import Coverage, Divides, Division
from cutecheck.model.prove.scheduler import prove
from cutecheck.model.units import Bits
from cutecheck.records import record


@record(frozen=True, slots=True)
class VectorCopy:
    """Arguments of ``make_tiled_copy``: thread layout and value layout, rank 2, over (rows, columns) of the tile.

    ``vector_bits`` is what a thread moves at once, ``layout`` the (thread, value) layout on ``tiler``, which divides
    the tile; ``outcomes`` are the proofs of both.
    """

    threads: Layout
    values: Layout
    vector_bits: Bits
    tiler: tuple[int, int]
    layout: Layout
    outcomes: tuple[Outcome, ...]


def suggest_vectors(
    threads: int,
    tile: tuple[int, int],
    contiguous: int,
    element_bits: Bits,
    max_bits: Bits = Bits(128),
    min_bits: Bits = Bits(32),
    options: Options = Options(),  # noqa: B008 - frozen
) -> VectorCopy | None:
    """The widest vectors along the contiguous mode (0 or 1) of a tile that ``threads`` threads can share evenly.

    Consecutive threads take consecutive vectors, so a warp reads whole rows. None when no width from ``max_bits``
    down to ``min_bits`` divides the tile.
    """
    along, across = tile[contiguous], tile[1 - contiguous]
    bits = max_bits
    while bits >= min_bits:
        vector = bits // element_bits
        if vector and along % vector == 0:
            lanes = _lanes(along // vector, threads)
            found = lanes is not None and across % (threads // lanes) == 0
            if found and lanes is not None:
                return _proved(threads, tile, contiguous, vector, bits, lanes, options)
        bits //= 2
    return None


def _lanes(vectors: int, threads: int) -> int | None:
    """The most threads that share a row: a divisor of the row's vectors and of the thread count."""
    return next((n for n in range(min(vectors, threads), 0, -1) if vectors % n == 0 and threads % n == 0), None)


def _proved(
    threads: int, tile: tuple[int, int], contiguous: int, vector: int, bits: Bits, lanes: int, options: Options
) -> VectorCopy | None:
    rows = threads // lanes
    tiler = (rows, lanes * vector) if contiguous == 1 else (lanes * vector, rows)
    if contiguous == 1:
        thread_layout, values = Layout((rows, lanes), (lanes, 1)), Layout((1, vector), (0, 1))
        layout = Layout(((lanes, rows), vector), ((vector * rows, 1), rows))
    else:
        thread_layout, values = Layout((lanes, rows), (1, lanes)), Layout((vector, 1), (1, 0))
        layout = Layout(((lanes, rows), vector), ((vector, lanes * vector), 1))
    goals = (
        Coverage(layout, tiler),
        Divides(tuple(Division(f"mode {i}", t, n) for i, (t, n) in enumerate(zip(tile, tiler, strict=True)))),
    )
    outcomes = tuple(prove(make_obligation(g), options) for g in goals)
    if any(o.verdict is not Verdict.PROVED for o in outcomes):
        return None
    return VectorCopy(thread_layout, values, bits, tiler, layout, outcomes)
