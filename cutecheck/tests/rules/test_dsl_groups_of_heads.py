"""Heads of keys that several heads of queries share: by what the index of a query's head is divided."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def keys(q: cute.Tensor, k: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
    bx, by, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    group = q.shape[1] // k.shape[1]
    gK = cute.local_tile(k[None, HEAD, None], (8, 64), (bx, 0))
    gY = cute.local_tile(y[None, by, None], (8, 64), (bx, 0))
    tK, tY = thr.partition_S(gK), thr.partition_D(gY)
    r = cute.make_fragment_like(tK)
    cute.copy(tiled, tK, r)
    cute.copy(tiled, r, tY)


@cute.jit
def run(q: cute.Tensor, k: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    keys(q, k, y, tiled).launch(grid=[cute.ceil_div(q.shape[0], 8), q.shape[1], 1], block=[128, 1, 1])


def tensor():
    shape = (cute.sym_int(divisibility=8), cute.sym_int(), 64)
    return make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int(), cute.sym_int(), 1))


cute.compile(run, tensor(), tensor(), tensor())
"""


@pytest.mark.parametrize("head, wrong", [
    ("by // group", False),
    ("by % k.shape[1]", False),  # the groups take turns
    ("by", False),  # perhaps there are as many
    ("by // k.shape[1]", True),
    ("by % group", True),
])  # fmt: skip
def test_heads(head: str, wrong: bool, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.replace("HEAD", head))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT219",), cache=False))
    assert not report.failures and not report.errors and len(report.facts.events) == 2
    assert ["says which of the" in f.message for f in report.findings] == [True] * wrong
