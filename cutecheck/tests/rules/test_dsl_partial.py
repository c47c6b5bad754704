"""Barriers of the DSL that go by another name."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
from functools import partial


@cute.kernel
def kernel(x: cute.Tensor):
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((32, 64), stride=(64, 1)), 128)
    t = cute.arch.thread_idx()[0]
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    one = cute.make_layout((1, 1))
    a = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 64), stride=(64, 1)), one).get_slice(t)
    b = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 64), stride=(1, 2)), one).get_slice(t)
    meet = partial(cute.arch.barrier, barrier_id=1, number_of_threads=128)
    cute.autovec_copy(a.partition_S(x), a.partition_D(s))
    MEET
    cute.autovec_copy(b.partition_S(s), b.partition_D(x))


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (32, 64), stride=(64, 1)))
"""
)


@pytest.mark.parametrize(("meet", "codes"), [("meet()", set()), ("pass", {"CUT212"})])
def test_a_barrier_by_partial(tmp_path: Path, meet: str, codes: set[str]) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("MEET", meet))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT212",)))
    assert {f.code for f in made.findings} == codes
