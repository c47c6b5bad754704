"""Shared memory that kernels of the Python DSL take by helpers and several times at one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts.resources import resources

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import Float16
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(a: cute.Tensor, g2s: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()

    def stage(rows):
        return smem.allocate_tensor(Float16, cute.make_layout((rows, 32), stride=(32, 1)), 128)

    {allocate}
    thr = g2s.get_slice(tid)
    gA = cute.local_tile(a, (32, 32), (0, None))
    r = cute.make_fragment_like(thr.partition_D(sA))
    for k in range(cute.size(gA, mode=[2])):
        cute.copy(g2s, thr.partition_S(gA[None, None, k]), thr.partition_D(sA))
        cute.copy(g2s, thr.partition_S(gA[None, None, k]), thr.partition_D(sB))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        cute.autovec_copy(thr.partition_D(sA), r)
        cute.autovec_copy(thr.partition_D(sB), r)
        cute.arch.sync_threads()


@cute.jit
def host(a: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    kernel(a, g2s).launch(grid=(1, 1, 1), block=[128, 1, 1])


cute.compile(host, make_fake_compact_tensor(Float16, (32, cute.sym_int(divisibility=32)), stride_order=(1, 0),
                                            assumed_align=16))
"""


@pytest.mark.parametrize(
    "allocate",
    [
        "sA, sB = stage(32), stage(ROWS)",
        "sA, sB = [smem.allocate_tensor(Float16, cute.make_layout((n, 32), stride=(32, 1)), 128) for n in (32, ROWS)]",
        "sA, sB = map(stage, (32, ROWS))",
    ],
)
@pytest.mark.parametrize(("rows", "found"), [(64, []), (2600, ["CUT702"])])
def test_what_helpers_and_comprehensions_allocate_is_the_kernel_s(
    tmp_path: Path, allocate: str, rows: int, found: list[str]
) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.replace("{allocate}", allocate.replace("ROWS", str(rows))))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT702", "CUT213", "CUT212")))
    assert [f.code for f in report.findings] == found and not report.errors
    sizes = [b.size_bytes for b in report.facts.buffers]
    assert sizes == [2048, 64 * rows]  # the run pass by pass tells them apart, too
    assert [r.dynamic_smem_bytes for r in resources(report.facts)] == [2048 + 64 * rows]
