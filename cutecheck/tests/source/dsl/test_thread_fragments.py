"""``_thrfrg_A`` and its like of a TiledMMA, which take layouts of other operands apart, as DSL 4.8.1 prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

PROGRAM = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp


@cute.jit
def host():
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    parts = mma._thrfrg_OPERAND(cute.make_layout((64, 32), stride=(1, 64)))
    cute.make_layout(parts.shape, stride=parts.stride)


cute.compile(host)
"""


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        ("A", "(((4,8),(2,1)),((2,2,2),(2,2))):(((128,1),(16,0)),((64,8,512),(32,1024)))"),
        ("B", "(((4,8),(2,1)),((2,2),(4,2))):(((128,1),(8,0)),((64,512),(16,1024)))"),
        ("C", "(((4,8),(2,2)),((2,2),(2,2))):(((128,1),(16,512)),((64,8),(32,1024)))"),
    ],
)
def test_they_are_those_of_the_dsl(operand: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(PROGRAM.replace("OPERAND", operand))
    sites = sorted(extract(ExtractRequest((tmp_path,))).sites, key=lambda s: s.span)
    assert str(sites[-1].result).replace("_", "") == expected
