"""Arrays of shared memory whose layout has two elements at one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.kernel
def kernel(mA: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    staged = cute.make_layout((64, 8, 3), stride=STRIDE)
    sA = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, staged, byte_alignment=16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    thr = copy.get_slice(tidx)
    for stage in cutlass.range_constexpr(3):
        cute.copy(copy, thr.partition_S(mA)[None, None, None, stage], thr.partition_D(sA)[None, None, None, stage])


@cute.jit
def host(mA: cute.Tensor):
    kernel(mA).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (64, 8, 3), stride=(8, 1, 512), assumed_align=16))
"""
)


@pytest.mark.parametrize(
    ("stride", "codes"),
    [
        ("(1, 68, 544)", set()),
        ("(1, 68, 512)", {"CUT208"}),  # the padding is in one of the two strides only
        ("(1, 0, 64)", set()),  # repeated, as scale factors are
    ],
)
def test_stages_that_overlap(stride: str, codes: set[str], tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("STRIDE", stride))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_80",), select=("CUT208",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == codes
