"""What bits of shared memory an operand of a step is of."""

from __future__ import annotations

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
