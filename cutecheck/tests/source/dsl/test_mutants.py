"""Sources that crash the DSL or mean nothing: a check of them ends with an answer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.mutants import mutate, problem

_DATA = Path(__file__).parents[2] / "data" / "dsl_accepted.py"
_FIXTURES = sorted((Path(__file__).parents[3] / "fixtures" / "dsl").glob("*.py"))


@pytest.mark.parametrize("seed", range(12))
def test_mutants_are_answered(seed: int) -> None:
    rng = random.Random(seed)
    texts = [p.read_text() for p in (_DATA, *_FIXTURES)]
    text = mutate(rng.choice(texts), rng.choice(texts), rng)
    assert problem(text) == ""


def test_a_crash_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecheck.source.dsl import api

    def broken(*_: object) -> object:
        raise RuntimeError("broken")

    monkeypatch.setattr(api, "call_api", broken)
    text = "import cutlass.cute as cute\ncute.make_layout((8, 4))\n"
    assert "internal" in problem(text) or "RuntimeError" in problem(text)


DIVISIONS = """
import cutlass
import cutlass.cute as cute


@cute.jit
def host():
    cute.zipped_divide(cute.make_layout((8, 8)), (0, 4))
    cute.composition(cute.make_layout((0, 4)), cute.make_layout(3, stride=0))
    cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128),
        cute.make_layout((0, 8)), cute.make_layout((1, 8)),
    )
    cute.tile_to_shape(cute.make_layout((0, 64)), (128, 64), (0, 1))
    cute.ceil_div(4, 0)
    cute.make_layout((4, 4), stride=(1, 0)) // 0


host()
"""


def test_divisions_by_zero_are_answers() -> None:
    assert problem(DIVISIONS) == ""


@pytest.mark.parametrize(
    "line",
    [
        "x = cute.tiled_divide(cute.make_layout((cute.E(0), 1, 1)), (2,))",
        "y = mma.make_fragment_A((4, missing.shape(1)))",
    ],
)
def test_what_mutants_found(line: str) -> None:
    head = "import cutlass.cute as cute\nfrom cutlass import missing\n"
    mma = "mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cute.Float32), (1, 1, 1))\n"
    assert problem(f"{head}@cute.jit\ndef f():\n    {mma}    {line}\nf()\n") == ""
