"""Kernels of the DSL with states of pipelines of their own, and registers that roles read: run thread by thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.expr import const, mul, op, var
from cutecheck.source.eval.record.rounds import divided
from cutecheck.tests.rules.test_dsl_roles import KERNEL, STATE, STEPS, found_codes

OWN = """
PRODUCER = pipeline.PipelineUserType.Producer


class State:
    def __init__(self, stages, count):
        self.stages, self._count = stages, count

    @property
    def index(self):
        return self._count % self.stages

    @property
    def phase(self):
        return self._count // self.stages % 2

    def clone(self):
        return State(self.stages, self._count)

    def advance(self, *, loc=None, ip=None):
        self._count += 1

    def __extract_mlir_values__(self):
        return [self._count.ir_value()]

    def __new_from_mlir_values__(self, values):
        return State(self.stages, Int32(values[0]))


def make_state(kind: pipeline.PipelineUserType, stages):
    if kind is PRODUCER:
        return State(stages, Int32(FIRST))
    if kind is pipeline.PipelineUserType.Consumer:
        return State(stages, Int32(0))
    raise ValueError


class Gemm:"""
RUN = KERNEL.replace("\n\nclass Gemm:", OWN).replace("pipeline.make_pipeline_state", "make_state")
SUM = "            total = cute.make_rmem_tensor(4, Float32)\n            add = partial(self.add, total=total)\n"
ADD = """
    @cute.jit
    def add(self, times, total):
        total.store(total.load() + times)

    @cute.jit
    def store("""
SUMMED = (
    KERNEL.replace("import cutlass\n", "from functools import partial\n\nimport cutlass\n", 1)
    .replace("            full = pipeline", SUM + "            FILLED\n            full = pipeline")
    .replace(STEPS, "                add(2.0)\n" + STEPS)
    .replace("\n    @cute.jit\n    def store(", ADD)
)


@pytest.mark.parametrize(("first", "codes"), [("stages", []), ("0", ["CUT217"])])
def test_a_state_of_the_program(tmp_path: Path, first: str, codes: list[str]) -> None:
    assert STATE not in RUN
    assert found_codes(tmp_path, RUN.replace("FIRST", first)) == codes


@pytest.mark.parametrize(
    ("filled", "codes"),
    [
        ("total.fill(0.0)", []),
        ("for i in cutlass.range_constexpr(4):\n                total[i] = Float32(0.0)", []),
        ("cute.autovec_copy(cute.full((4,), 0.0, Float32), total)", []),
        ("if warp_idx >= 4:\n                total.fill(0.0)", []),
        ("pass", ["CUT221"]),
    ],
)
def test_registers_that_a_role_reads(tmp_path: Path, filled: str, codes: list[str]) -> None:
    assert SUMMED.count("total") == 6
    assert found_codes(tmp_path, SUMMED.replace("FILLED", filled)) == codes


def test_divisors_of_what_is_rounded() -> None:
    k = var("k")
    tiles = op("div", k, const(64))
    assert divided(op("div", tiles, const(2))) == ((k.variables()[0], 128),)
    assert divided(op("div", mul(tiles, const(64)), const(64))) == ((k.variables()[0], 64),)
    assert divided(op("div", mul(k, const(16)), const(64))) == ((k.variables()[0], 4),)
