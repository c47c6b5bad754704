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


BY_SIZE = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32
from cutlass.cute.runtime import make_fake_tensor


@cute.struct
class Storage:
    a: cute.struct.MemRange[Float32, 256]
    b: cute.struct.MemRange[Float32, 256]


@cute.kernel
def kernel(x: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    TAKE
    s[tid] = x[tid]
    cute.arch.sync_threads()
    x[tid] = s[255 - tid]


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=[256, 1, 1])


cute.compile(host, make_fake_tensor(Float32, (256,), (1,)))
"""


@pytest.mark.parametrize(
    ("take", "size"),
    [
        ("s = smem.allocate_tensor(Float32, cute.make_layout(256))", 1024),
        ("s = cute.make_tensor(cute.recast_ptr(smem.allocate(1024, 16), dtype=Float32), cute.make_layout(256))", 1024),
        ("s = Storage(smem.allocate(2048, byte_alignment=16)).b.get_tensor(cute.make_layout(256))", 2048),
        ("s, one = smem.allocate_tensor(Float32, cute.make_layout(256)), smem.allocate(cutlass.Int64, 8)", 1032),
    ],
)
def test_bytes_and_single_numbers_are_memory_too(take: str, size: int, tmp_path: Path) -> None:
    """The members of a struct that is put into bytes are a part of these."""
    (tmp_path / "kernel.py").write_text(BY_SIZE.replace("TAKE", take))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not report.errors and not report.findings
    (found,) = resources(report.facts)
    assert found.dynamic_smem_bytes == size


def test_a_barrier_of_its_own_is_known_by_its_allocation(tmp_path: Path) -> None:
    text = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    bar = smem.allocate(cutlass.Int64, byte_alignment=8)
    s = smem.allocate_tensor(cutlass.Float32, cute.make_layout(512), 128)
    if tid == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
    phase = cutlass.Int32(0)
    r = cute.make_rmem_tensor((4,), cutlass.Float32)
    for i in cutlass.range(8):
        if tid < 32:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(bar, 2048)
                cute.copy(atom, x[i, None], s, mbar_ptr=bar)
        cute.arch.mbarrier_wait(bar, phase)
        phase = phase ^ 1
        cute.autovec_copy(cute.local_tile(s, (4,), (tid,)), r)
        cute.autovec_copy(r, cute.local_tile(y[i, None], (4,), (tid,)))
        cute.arch.sync_threads()


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(1, 1, 1), block=[128, 1, 1])


cute.compile(host, *(make_fake_tensor(cutlass.Float32, (8, 512), (512, 1), assumed_align=16) for _ in range(2)))
"""
    for kernel, codes in (
        (text, set()),
        (text.replace("        phase = phase ^ 1\n", ""), {"CUT213"}),
        (text.replace("mbarrier_init(bar, 1)", "mbarrier_init(bar, 2)"), {"CUT217"}),
    ):
        (tmp_path / "kernel.py").write_text(kernel)
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",), cache=False))
        assert not report.errors
        assert {f.code for f in report.findings} == codes, [f.message for f in report.findings]
