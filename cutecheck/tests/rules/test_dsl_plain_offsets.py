"""Predicates that compare plain numbers of a thread with the length of the row that it copies from."""

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
def rows(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy, n: cutlass.Constexpr):
    bidx, _, _ = cute.arch.block_idx()
    tidx, _, _ = cute.arch.thread_idx()
    thr = tiled.get_slice(tidx)
    gX, gY = (cute.local_tile(t, (1, n), (bidx, 0))[0, None] for t in (x, y))
    tX, tY = thr.partition_S(gX), thr.partition_D(gY)
    pred = cute.make_rmem_tensor(cute.size(tX, mode=[1]), cutlass.Boolean)
    for i in range(cute.size(pred)):
        offset = (i * 128 + tidx) * 8
        pred[i] = offset < n
    r = cute.make_fragment_like(tX)
    r.fill(0)
    for i in range(cute.size(r, mode=[1])):
        if pred[i]:
            cute.autovec_copy(tX[None, i], r[None, i])
    for i in range(cute.size(r, mode=[1])):
        if pred[i]:
            cute.autovec_copy(r[None, i], tY[None, i])


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(8))
    rows(x, y, tiled, x.shape[1]).launch(grid=[x.shape[0], 1, 1], block=[128, 1, 1])


def tensor():
    return make_fake_tensor(cutlass.Float16, (cute.sym_int(), 4000), stride=(4000, 1), assumed_align=16)


cute.compile(run, tensor(), tensor())
"""
OFFSET, ASKS = "offset = (i * 128 + tidx) * 8", "pred[i] = offset < n"
LOOP = """    for i in range(cute.size(r, mode=[1])):
        if pred[i]:
            cute.autovec_copy(%s[None, i], %s[None, i])
"""
BY_TENSOR = [
    ("make_rmem_tensor(cute.size(tX, mode=[1])", "make_rmem_tensor((1, cute.size(tX, mode=[1]))"),
    (LOOP % ("tX", "r"), "    cute.copy(tiled, tX, r, pred=pred)\n"),
    (LOOP % ("r", "tY"), "    cute.copy(tiled, r, tY, pred=pred)\n"),
]
CASES = {
    "right": ([], False),
    "the_last_of_a_vector": ([(ASKS, "pred[i] = offset + 7 < n")], False),
    "vectors": ([(OFFSET, "offset = i * 128 + tidx"), (ASKS, "pred[i] = offset < n // 8")], False),
    "of_something_else": ([(ASKS, "pred[i] = tidx // 32 < 3")], False),
    "not_scaled": ([(OFFSET, "offset = i * 128 + tidx")], True),
    "by_tensor": (BY_TENSOR, False),
    "by_tensor_not_scaled": ([*BY_TENSOR, (OFFSET, "offset = i * 128 + tidx")], True),
    "of_other_passes": ([(OFFSET, "offset = (i + tidx * 4) * 8")], True),
}


@pytest.mark.parametrize("case", CASES)
def test_offsets(tmp_path: Path, case: str) -> None:
    edits, wrong = CASES[case]
    text = KERNEL
    for right, other in edits:
        assert right in text
        text = text.replace(right, other, 1)
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",), cache=False))
    assert not report.failures and not report.errors and len(report.facts.events) >= 2
    assert all("are computed for other elements" in f.message for f in report.findings)
    assert len(report.findings) == 2 * wrong


def test_more_threads_than_any_block(tmp_path: Path) -> None:
    """They are not listed one by one."""
    text = KERNEL.replace("block=[128, 1, 1]", f"block=[{1 << 62}, 1, 1]")
    assert text != KERNEL
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",), cache=False))
    assert not report.failures and not report.errors and not report.findings
