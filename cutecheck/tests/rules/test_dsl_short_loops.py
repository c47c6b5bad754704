"""Kernels of the Python DSL with loops that a number of the host counts, run pass by pass, and elements in loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


class Sum:
    stages = 3

    @cute.jit
    def __call__(self, parts: cute.Tensor, weights: cute.Tensor, out: cute.Tensor):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
        g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
        self.kernel(parts, weights, out, g2s).launch(grid=(4, 1, 1), block=[128, 1, 1])

    @cute.kernel
    def kernel(self, parts: cute.Tensor, weights: cute.Tensor, out: cute.Tensor, g2s: cute.TiledCopy):
        tid, _, _ = cute.arch.thread_idx()
        bid, _, _ = cute.arch.block_idx()
        smem = cutlass.utils.SmemAllocator()
        sX = smem.allocate_tensor(Float32, cute.make_ordered_layout((8, 64, self.stages), order=(1, 0, 2)), 128)
        sW = smem.allocate_tensor(Float32, cute.make_layout(256), 16)
        count = parts.shape[2]
        thr = g2s.get_slice(tid)
        gX = cute.local_tile(parts, (8, 64, 1), (bid, 0, None))[None, None, 0, None]
        tXg, tXs = thr.partition_S(gX), thr.partition_D(sX)
        for s in cutlass.range_constexpr(self.stages - 1):
            if s < count:
                cute.copy(g2s, tXg[None, None, None, s], tXs[None, None, None, s])
            cute.arch.cp_async_commit_group()
        for i in cutlass.range(tid, 256, 128, unroll=1):
            sW[i] = weights[i]
        cute.arch.sync_threads()
        acc = cute.make_rmem_tensor_like(tXs[None, None, None, 0])
        part = cute.make_rmem_tensor_like(acc)
        acc.fill(0.0)
        read, write = Int32(0), Int32(self.stages - 1)
        for s in cutlass.range(count, unroll=1):
            if s + self.stages - 1 < count:
                cute.copy(g2s, tXg[None, None, None, s + self.stages - 1], tXs[None, None, None, write])
            cute.arch.cp_async_commit_group()
            cute.arch.cp_async_wait_group(self.stages - 1)
            cute.autovec_copy(tXs[None, None, None, read], part)
            w = sW[s]
            if w > 0.0:
                acc.store(acc.load() + part.load() * w)
            read = 0 if read == self.stages - 1 else read + 1
            write = 0 if write == self.stages - 1 else write + 1
        cute.autovec_copy(acc, thr.partition_D(cute.local_tile(out, (8, 64), (bid, 0))))


N = cute.sym_int()
parts = make_fake_compact_tensor(Float32, (32, 64, N), stride_order=(1, 0, 2), assumed_align=16)
out = make_fake_compact_tensor(Float32, (32, 64), stride_order=(1, 0), assumed_align=16)
cute.compile(Sum(), parts, make_fake_compact_tensor(Float32, (256,)), out)
"""


def _said(folder: Path, *swaps: tuple[str, str]) -> list[tuple[str, str]]:
    text = KERNEL
    for old, new in swaps:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2",), cache=False))
    assert not report.errors
    assert not report.failures
    return [(f.code, f.message) for f in report.findings]


def _codes(folder: Path, *swaps: tuple[str, str]) -> list[str]:
    return sorted({code for code, _ in _said(folder, *swaps)})


def test_a_right_loop(tmp_path: Path) -> None:
    assert _codes(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("wait_group(self.stages - 1)", "wait_group(self.stages)", "CUT213"),
        ("read, write = Int32(0), Int32(self.stages - 1)", "read, write = Int32(0), Int32(0)", "CUT213"),
        ("        acc.fill(0.0)\n", "", "CUT221"),
        ("        cute.arch.sync_threads()\n", "", "CUT212"),
    ],
    ids=["one group more", "another stage filled", "added to nothing", "no barrier"],
)
def test_wrong_loops(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert code in _codes(tmp_path, (old, new))


def test_sums_that_begin_in_the_loop_are_set(tmp_path: Path) -> None:
    """Under a condition, by a statement of their own."""
    begins = (
        "            if w > 0.0:\n                acc.store(acc.load() + part.load() * w)\n",
        "            if s > 0:\n                acc.store(acc.load() + part.load() * w)\n"
        "            else:\n                acc.store(part.load() * w)\n",
    )
    assert _codes(tmp_path, ("        acc.fill(0.0)\n", ""), begins) == []


def test_a_stage_that_is_read_before_it_is_filled(tmp_path: Path) -> None:
    """Unless the kernel has given it values otherwise."""
    apart = ("tXs[None, None, None, s])", "tXs[None, None, None, s + 1])")
    clears = ("        read, write = ", "        tXs[None, None, None, 0].fill(0.0)\n        read, write = ")
    assert any(c == "CUT218" and "before it is filled" in m for c, m in _said(tmp_path, apart))
    assert not any("before it is filled" in m for _, m in _said(tmp_path, apart, clears))
