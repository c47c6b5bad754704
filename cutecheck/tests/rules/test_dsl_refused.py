"""Configurations of the Python DSL of which some are refused, beside others at the same place that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

MMA = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp


@cute.jit
def configured(k: cutlass.Constexpr):
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, k))
    mma = cute.make_tiled_mma(op, (2, 2, 1))
    cute.size(mma)


{calls}
"""

TRIED = """
for k in (16, 24):
    try:
        cute.compile(configured, k)
    except Exception:
        pass
"""


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("cute.compile(configured, 16)", False),
        ("cute.compile(configured, 16)\ncute.compile(configured, 24)", True),
        ("cute.compile(configured, 24)\ncute.compile(configured, 16)", True),
        (TRIED, False),  # a tuner that takes what is not refused
    ],
    ids=["right", "second", "first", "tried"],
)
def test_one_of_two_configurations_is_refused(tmp_path: Path, calls: str, found: bool) -> None:
    (tmp_path / "kernel.py").write_text(MMA.format(calls=calls))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert {f.code for f in report.findings} == ({"CUT303"} if found else set())


LOADS = """
import cutlass
import cutlass.cute as cute
import library
from cutlass import Float16, Int64
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(atom: cute.CopyAtom, t: cute.Tensor, other: cute.CopyAtom, u: cute.Tensor, layout: cute.Layout):
    smem = cutlass.utils.SmemAllocator()
    full = smem.allocate_array(Int64, 1)
    sA, sB = (smem.allocate_tensor(Float16, layout, 128) for _ in "ab")
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.sync_threads()
    one = cute.make_layout(1)
    tAs, tAg = cpasync.tma_partition(atom, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(t, 0, 2))
    tBs, tBg = cpasync.tma_partition(other, 0, one, cute.group_modes(sB, 0, 2), cute.group_modes(u, 0, 2))
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, {bytes})
        cute.copy(atom, tAg, tAs, tma_bar_ptr=full)
        cute.copy(other, tBg, tBs, tma_bar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    op = cpasync.CopyBulkTensorTileG2SOp()
    atom, t = cpasync.make_tiled_tma_atom(op, a, layout, (64, 64))
    other, u = {other}
    kernel(atom, t, other, u, layout).launch(grid=(1, 1, 1), block=[128, 1, 1])


a, b = (make_fake_compact_tensor(Float16, (64, 64), stride_order=(1, 0), assumed_align=16) for _ in "ab")
cute.compile(run, a, b)
"""
PLAIN = "cpasync.make_tiled_tma_atom(op, b, layout, (64, 64))"


@pytest.mark.parametrize(
    ("told", "other", "found"),
    [
        (16384, PLAIN, False),
        (8192, PLAIN, True),
        (16384, "library.descriptor(op, b)", False),  # the other load tells the barrier of bytes that are not known
    ],
    ids=["right", "half", "open"],
)
def test_a_load_that_is_not_known_brings_bytes_too(tmp_path: Path, told: int, other: str, found: bool) -> None:
    (tmp_path / "kernel.py").write_text(LOADS.format(bytes=told, other=other))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT805",)))
    assert bool(report.findings) is found
