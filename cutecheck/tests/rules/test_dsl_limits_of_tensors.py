"""Limits of rows and columns of tensors of which a batch is sliced away: whose extents, and of which mode, they are."""

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
def last(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, tiled: cute.TiledCopy):
    bx, by, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    at = cute.ceil_div(k.shape[1], 32) - 1
    gQ, gK, gV = (cute.local_tile(t[by, None, None], (32, 32), (i, 0)) for t, i in ((q, bx), (k, at), (v, at)))
    iQ = cute.local_tile(cute.make_identity_tensor(q.layout.shape)[by, None, None], (32, 32), (bx, 0))
    iK = cute.local_tile(cute.make_identity_tensor(k.layout.shape)[by, None, None], (32, 32), (at, 0))
    tQ, tK, tV, cQ, cK = (thr.partition_S(t) for t in (gQ, gK, gV, iQ, iK))
    rQ, rK, rV = (cute.make_fragment_like(t) for t in (tQ, tK, tV))
    pQ = cute.make_rmem_tensor((1, tQ.shape[1], tQ.shape[2]), cutlass.Boolean)
    pK = cute.make_rmem_tensor((1, tK.shape[1], tK.shape[2]), cutlass.Boolean)
    for m in cutlass.range_constexpr(tQ.shape[1]):
        for n in cutlass.range_constexpr(tQ.shape[2]):
            pQ[0, m, n] = cute.elem_less(cQ[0, m, n][2], q.shape[2])
            pK[0, m, n] = cute.elem_less(cK[0, m, n][2], k.shape[2])
    for m in cutlass.range_constexpr(tQ.shape[1]):
        if cute.elem_less(cQ[0, m, 0][1], q.shape[1]):
            cute.copy(tiled, tQ[None, m, None], rQ[None, m, None], pred=pQ[None, m, None])
        if cute.elem_less(cK[0, m, 0][1], k.shape[1]):
            cute.copy(tiled, tK[None, m, None], rK[None, m, None], pred=pK[None, m, None])
    for m in cutlass.range_constexpr(tQ.shape[1]):
        if cute.elem_less(cK[0, m, 0][1], k.shape[1]):
            cute.copy(tiled, tV[None, m, None], rV[None, m, None], pred=pK[None, m, None])


@cute.jit
def run(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), q.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    last(q, k, v, tiled).launch(grid=[cute.ceil_div(q.shape[1], 32), q.shape[0], 1], block=[128, 1, 1])


def tensor():
    shape = (cute.sym_int(), cute.sym_int(), cute.sym_int())
    return make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int(), cute.sym_int(), 1), assumed_align=16)


cute.compile(run, tensor(), tensor(), tensor())
"""
OF_Q, OF_K, OF_V = "cQ[0, m, 0][1], q.shape[1]", "cK[0, m, 0][1], k.shape[1]", "cK[0, m, 0][1], k.shape[1])"
ALL_BY_Q = [(OF_K, OF_K.replace("k.", "q."))] * 2
CASES = {
    "right": ([], ""),
    "one_length_for_all": (ALL_BY_Q, ""),  # that of the keys is compared nowhere
    "rows_for_columns": ([("cQ[0, m, n][2], q", "cQ[0, m, n][1], q")], "compare mode 0 with"),
    "of_the_sliced_mode": ([(OF_Q, OF_Q.replace("shape[1]", "shape[0]"))], "a mode that was sliced away"),
    "rows_of_the_other": (ALL_BY_Q[:1], "an extent of `tQ"),
}


@pytest.mark.parametrize("case", CASES)
def test_whose_extents(tmp_path: Path, case: str) -> None:
    edits, said = CASES[case]
    text = KERNEL
    for right, wrong in edits:
        assert right in text
        text = text.replace(right, wrong, 1)
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",), cache=False))
    assert not report.errors and sum(e.kind == "copy" and e.reason is None for e in report.facts.events) >= 3
    assert bool(report.findings) is bool(said), report.findings
    assert all(said in f.message for f in report.findings)
