"""Elements that an arm of a conditional expression reads are read by the threads that come there (CUT209)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

BLOCK_SUM = """
import cutlass
import cutlass.cute as cute


class Sum:
    def __init__(self, threads: int):
        self.warps = threads // 32

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=[1, 1, 1], block=[128, 1, 1])

    @cute.jit
    def total(self, val, acc, tidx):
        warp = tidx >> 5
        lane = tidx & 31
        if lane == 0:
            acc[warp] = val
        cute.arch.sync_threads()
        if warp == 0:
            val = READ
            acc[self.warps] = val
        cute.arch.sync_threads()
        return acc[self.warps]

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        tidx, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        acc = smem.allocate_tensor(cutlass.Float32, self.warps + 1)
        y[tidx] = self.total(x[tidx], acc, tidx)


def main():
    x = cutlass.torch.matrix(1, 128, 1, False, cutlass.Float32)
    Sum(128)(x, x)


main()
"""


@pytest.mark.parametrize(
    ("read", "threads"),
    [
        ("acc[lane] if lane < self.warps else cutlass.Float32(0)", []),
        ("cutlass.Float32(0) if lane >= self.warps else acc[lane]", []),
        ("acc[lane] if lane < self.warps + 3 else cutlass.Float32(0)", [5]),
        ("cutlass.Float32(0) if lane >= self.warps + 3 else acc[lane]", [5]),
        ("acc[lane]", [5]),
    ],
)
def test_who_reads_an_element(tmp_path: Path, read: str, threads: list[int]) -> None:
    (tmp_path / "k.py").write_text(BLOCK_SUM.replace("READ", read))
    report = check(inputs([str(tmp_path / "k.py")]), Settings(arch=("sm_90a",)))
    assert not report.errors and not report.failures
    assert [f.code for f in report.findings] == ["CUT209"] * len(threads)
    assert [f.message.split()[1] for f in report.findings] == list(map(str, threads))
