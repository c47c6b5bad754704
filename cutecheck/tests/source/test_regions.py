"""What bits of shared memory an operand of a step is of."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Span, TensorFact
from cutecheck.model.dtype import dtype
from cutecheck.model.layout import Layout
from cutecheck.source.eval.record.regions import regions


def test_columns_of_one_tile_are_no_stages() -> None:
    """What a warpgroup multiplies of a tile with two swizzled blocks a row: its last mode steps through both."""
    rows = Layout(((64, 16), 1, (4, 2)), ((64, 1), 0, (16, 8192)))
    operand = TensorFact(
        "tile", Span("k.py", 1, 1, 1, 1), "smem", Layout((64, 16), (64, 1)), dtype("half_t"), root_layout=rows
    )
    length = 63 * 64 + 15 + 3 * 16 + 8192 + 1
    assert regions(operand, rows, 8192 + 16, 0) == ((0, 16 * length), (0, 16 * length))


def test_all_blocks_along_k_are_the_whole_tile() -> None:
    """An operand without stages, whose last mode is all that a product goes through: `(MMA, MMA_N, MMA_K)`."""
    tile = Layout(((64, 16), 1, 4), ((1, 64), 0, 1024))
    operand = TensorFact(
        "tile", Span("k.cu", 1, 1, 1, 1), "smem", Layout((1, 1, 4), (0, 0, 128)), dtype("uint128_t"), root_layout=tile,
        root_bits=16,
    )  # fmt: skip
    assert regions(operand, tile, 0, 0) == ((0, 65536), (0, 65536))
    two = replace(operand, layout=Layout((1, 1, 2), (0, 0, 128)))
    assert regions(two, tile, 0, 0)[1] is None
    copied = replace(operand, layout=Layout((1, 1, 4), (0, 0, 1024)), dtype=dtype("half_t"))
    assert regions(copied, tile, 0, 0)[1] is None  # by a copy: several stages at once
