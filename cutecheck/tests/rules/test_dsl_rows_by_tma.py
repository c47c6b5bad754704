"""Loops that go on by the grid's size in kernels of the Python DSL that are run thread by thread."""

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bx, _, _ = cute.arch.block_idx()
    gx, _, _ = cute.arch.grid_dim()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    bars = smem.allocate_array(cutlass.Int64, 2)
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout((1024, 2)), 128)
    if tidx == 0:
        for i in cutlass.range_constexpr(2):
            cute.arch.mbarrier_init(bars + i, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    rows = x.shape[0]
    stage, phase = cutlass.Int32(0), cutlass.Int32(0)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bars, 4096)
            cute.copy(atom, x[bx, None], s[None, 0], mbar_ptr=bars)
    for row in cutlass.range(bx, rows, gx):
        other = stage ^ 1
        if warp == 0 and row + gx < rows:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(bars + other, 4096)
                cute.copy(atom, x[row + gx, None], s[None, other], mbar_ptr=bars + other)
        cute.arch.mbarrier_wait(bars + stage, phase)
        part = cute.make_rmem_tensor((8,), cutlass.Float32)
        cute.autovec_copy(cute.local_tile(s[None, stage], (8,), (tidx,)), part)
        cute.autovec_copy(part, cute.local_tile(y[row, None], (8,), (tidx,)))
        cute.arch.sync_threads()
        if stage == 1:
            phase ^= 1
        stage = other


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(132, 1, 1), block=(128, 1, 1))


m = cute.sym_int()
cute.compile(run, *(make_fake_tensor(cutlass.Float32, (m, 1024), (1024, 1), assumed_align=16) for _ in range(2)))
"""
PHASE = "        if stage == 1:\n            phase ^= 1\n"


def test_each_row_has_its_stage_and_phase(tmp_path: Path) -> None:
    for text, codes in (
        (KERNEL, []),
        (KERNEL.replace(PHASE, "        phase ^= 1\n"), ["CUT217"]),
    ):
        (tmp_path / "kernel.py").write_text(text)
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",), cache=False))
        assert not report.errors
        assert sorted({f.code for f in report.findings}) == codes, [f.message for f in report.findings]
