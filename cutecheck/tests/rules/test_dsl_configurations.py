"""Kernels whose work is done by a method, launched with several configurations, by one script and by two."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import warp


class Product:
    def __init__(self, warps, k):
        self.warps, self.k = warps, k

    @cute.jit
    def __call__(self, a: cute.Tensor):
        m, n = self.warps
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), (m, n, 1), permutation_mnk=(16 * m, 16 * n, 16)
        )
        self.kernel(a, mma).launch(grid=[1, 1, 1], block=[32 * m * n, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, mma: cute.TiledMma):
        self.product(a, mma, cute.arch.thread_idx()[0])

    @cute.jit
    def product(self, a, mma, tid):
        swizzled = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        layout = cute.tile_to_shape(swizzled, (64, self.k), (0, 1))
        smem = cutlass.utils.SmemAllocator()
        sA = smem.allocate_tensor(BFloat16, layout.outer, 128, layout.inner)
        cute.autovec_copy(a, sA)
        cute.arch.sync_threads()
        load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), BFloat16), mma)
        rA = mma.make_fragment_A(mma.get_slice(tid).partition_A(sA))
        thr = load.get_slice(tid)
        cute.copy(load, thr.partition_S(sA), thr.retile(rA))
"""

DRIVER = """
from cutlass import cute, BFloat16
from cutlass.cute.runtime import make_fake_tensor
from kernel import Product

for warps, k in {0}:
    tensor = make_fake_tensor(BFloat16, (64, k), stride=(k, 1), assumed_align=16)
    cute.compile(Product(warps, k), tensor)
"""


def report_of(tmp_path: Path, *drivers: str, code: str) -> list[str]:
    (tmp_path / "kernel.py").write_text(KERNEL)
    for number, driver in enumerate(drivers):
        (tmp_path / f"run_{number}.py").write_text(DRIVER.replace("{0}", driver))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=(code,)))
    assert not report.errors
    return [f.message for f in report.findings]


def test_fragments_of_one_configuration_are_not_those_of_another(tmp_path: Path) -> None:
    assert report_of(tmp_path, "[((4, 1), 32), ((2, 2), 32), ((1, 4), 64)]", code="CUT602") == []


@pytest.mark.parametrize("second", ["[((4, 1), 64), ((4, 1), 32)]", "[((2, 2), 128), ((4, 1), 128)]"])
def test_shared_memory_that_a_method_takes_is_its_configuration_s(tmp_path: Path, second: str) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    for number, driver in enumerate(("[((4, 1), 32), ((4, 1), 64)]", second)):
        (tmp_path / f"run_{number}.py").write_text(DRIVER.replace("{0}", driver))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert report.facts.buffers and all(b.size_bytes is not None for b in report.facts.buffers)
