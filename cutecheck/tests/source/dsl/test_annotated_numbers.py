"""A number that the host has from what is not followed is, by its parameter's annotation, one of run time."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.source.dsl.run import HEAD, driver, results

PROGRAM = """
import devices

import cutlass
import cutlass.cute as cute


@cute.jit
def host(splits: TYPE):
    cute.make_layout((4, splits))


cute.compile(host, max(1, devices.count() // 4))
"""


@pytest.mark.parametrize(("annotation", "status"), [("cutlass.Int32", "resolved"), ("object", "unknown")])
def test_it_need_not_be_known(annotation: str, status: str, tmp_path: Path) -> None:
    (tmp_path / "host.py").write_text(PROGRAM.replace("TYPE", annotation))
    (site,) = extract(ExtractRequest((tmp_path,))).sites
    assert site.status == status


def test_a_number_of_64_bits_that_the_host_hands_over_stays_one(tmp_path: Path) -> None:
    """As the DSL prints it (nvidia-cutlass-dsl 4.8.1)."""
    made = driver(tmp_path, HEAD + """
    @cute.jit
    def run(a: cutlass.Int64, b: cutlass.Int32):
        cute.make_layout((a, b), stride=(a, 1))
        cute.make_layout((cute.assume(b, divby=8), 4), stride=(cute.assume(a, divby=8), 1))

    cute.compile(run, cutlass.Int64(256), cutlass.Int32(3))
    """)  # fmt: skip
    found = [value for values in results(made).values() for value in values]
    assert found == ["(?{i64},?):(?{i64},1)", "(?{div=8},4):(?{i64 div=8},1)"]


def test_a_named_tuple_is_a_shape(tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + """
    from typing import NamedTuple

    class Tile(NamedTuple):
        m: int
        n: int

    @cute.jit
    def run(a: cute.Tensor):
        tile = Tile(16, 8)
        cute.make_layout(tile)
        cute.make_layout((tile, 4))
        cute.local_tile(a, tile, (0, 1))

    cute.compile(run, make_fake_tensor(cutlass.Float32, (64, 32), (32, 1)))
    """)  # fmt: skip
    found = [str(value) for values in results(made).values() for value in values]
    assert found[:2] == ["(16,8):(1,16)", "((16,8),4):((1,16),128)"]
    assert "(16,8):(32,1)" in found[2]
