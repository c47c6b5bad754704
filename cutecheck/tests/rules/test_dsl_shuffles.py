"""What lanes of a warp tell each other holds no other warp back (CUT212)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute


@cute.kernel
def total(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(256), 16)
    v = x[tidx]
    s[tidx] = v
    MEET
    y[tidx] = s[255 - tidx] + w


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    total(x, y).launch(grid=(1, 1, 1), block=(256, 1, 1))
"""


@pytest.mark.parametrize("between, wrong", [
    ("cute.arch.sync_threads(); w = v", 0),
    ("cute.arch.barrier(); w = v", 0),
    ("w = cute.arch.shuffle_sync_bfly(v, offset=1)", 1),
    ("w = cute.arch.warp_reduction_sum(v)", 1),
    ("w = cute.arch.shuffle_sync_bfly(v, offset=1); cute.arch.sync_threads()", 0),
])  # fmt: skip
def test_what_comes_between(between: str, wrong: int, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL.replace("MEET", between))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT212",), cache=False))
    assert not report.failures
    assert len(report.findings) == wrong
