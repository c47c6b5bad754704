"""Pipelines of the Python DSL of which helpers are a part: they copy the first stages, allocate, make fragments."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

STAGES = """
import cutlass
import cutlass.cute as cute
from cutlass import Float16, Int32
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


class Sum:
    stages = 3

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
        g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
        layout = cute.make_layout((32, 32, self.stages), stride=(32, 1, 1024))
        self.kernel(a, b, layout, g2s).launch(grid=(1, 1, 1), block=[128, 1, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, layout: cute.Layout, g2s: cute.TiledCopy):
        tid, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        sA, sB = (smem.allocate_tensor(Float16, each, 16) for each in (layout, layout))
        thr = g2s.get_slice(tid)
        gA, gB = (cute.local_tile(t, (32, 32), (0, None)) for t in (a, b))
        pairs = [(thr.partition_S(g), thr.partition_D(s)) for g, s in ((gA, sA), (gB, sB))]
        tiles = cute.size(gA, mode=[2])

        def fetch(k, stage):
            for i in cutlass.range_constexpr(2):
                cute.copy(g2s, pairs[i][0][None, None, None, k], pairs[i][1][None, None, None, stage])
            cute.arch.cp_async_commit_group()

        for s in cutlass.range_constexpr(self.stages - 1):
            fetch(s, s)
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=32)
        s2r = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 2)))
        mine, yours = (s2r.get_slice(tid).partition_S(s) for s in (sA, sB))
        rA, rB = (cute.make_fragment_like(t[None, None, None, 0]) for t in (mine, yours))
        read, write = Int32(0), Int32(self.stages - 1)
        for k in range(tiles):
            cute.arch.cp_async_wait_group(self.stages - 2)
            cute.arch.sync_threads()
            if k + self.stages - 1 < tiles:
                for i in cutlass.range_constexpr(2):
                    cute.copy(g2s, pairs[i][0][None, None, None, k + self.stages - 1],
                              pairs[i][1][None, None, None, write])
            cute.arch.cp_async_commit_group()
            cute.copy(s2r, mine[None, None, None, read], rA)
            cute.copy(s2r, yours[None, None, None, read], rB)
            write = read
            read = read + 1 if read + 1 < self.stages else Int32(0)


a, b = (make_fake_compact_tensor(Float16, (32, cute.sym_int(divisibility=32)), stride_order=(1, 0), assumed_align=16)
        for _ in "ab")
cute.compile(Sum(), a, b)
"""


@pytest.mark.parametrize("code", ["CUT212", "CUT213"])
def test_stages_that_a_helper_fills_first_are_no_race(tmp_path: Path, code: str) -> None:
    (tmp_path / "kernel.py").write_text(STAGES)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=(code,)))
    reads = [e for e in report.facts.events if e.operands[0].space == "smem"]
    assert len({e.operands[0].buffer for e in reads}) == 2  # of one place that allocates, two buffers
    assert all(b.size_bytes == 6144 for b in report.facts.buffers)
    assert not report.findings and not report.errors


LATER = STAGES.replace("            fetch(s, s)\n", "            pass\n").replace(
    "            cute.arch.cp_async_wait_group(self.stages - 2)\n            cute.arch.sync_threads()\n", ""
)  # nothing is waited for, and what a helper copies after the loop is no excuse


@pytest.mark.parametrize("code", ["CUT212", "CUT213"])
def test_what_a_helper_fills_later_does_not_excuse_a_read(tmp_path: Path, code: str) -> None:
    last = "            read = read + 1 if read + 1 < self.stages else Int32(0)\n"
    assert LATER.count(last) == 1
    (tmp_path / "kernel.py").write_text(LATER.replace(last, f"{last}        fetch(0, 0)\n"))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=(code,)))
    assert [f.code for f in report.findings] and not report.errors


FILLED = """
import cutlass
import cutlass.cute as cute
from cutlass import Float16
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.jit
def copy(src: cute.Tensor, dst: cute.Tensor):
    cute.copy(cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128), src, dst)


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    sA, sB = (cutlass.utils.SmemAllocator().allocate_tensor(Float16, cute.make_layout((32, 32), stride=(32, 1)), 16)
              for _ in "ab")
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    thr = tiled.get_slice(tid)
    gA, gB = (thr.partition_S(cute.local_tile(t, (32, 32), (0, 0))) for t in (a, b))
    mine, yours = thr.partition_D(sA), thr.partition_D(sB)
    r = cute.make_fragment_like(mine)
    copy(gA, mine)
    copy(gB, yours)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.autovec_copy(mine, r)


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b).launch(grid=(1, 1, 1), block=[128, 1, 1])


a, b = (make_fake_compact_tensor(Float16, (32, cute.sym_int(divisibility=32)), stride_order=(1, 0), assumed_align=16)
        for _ in "ab")
cute.compile(host, a, b)
"""
WAIT = "    cute.arch.cp_async_wait_group(0)\n"


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("", ""), []),
        ((WAIT, ""), ["CUT213"]),
        ((f"{WAIT}    cute.autovec_copy(mine, r)", f"    cute.autovec_copy(mine, r)\n{WAIT}"), ["CUT213"]),
        ((WAIT, "    r.fill(0.0)\n    cute.autovec_copy(r, mine)\n"), []),  # the read may be of these
    ],
)
def test_what_a_helper_fills_has_to_be_waited_for(tmp_path: Path, change: tuple[str, str], found: list[str]) -> None:
    text = FILLED.replace(*change) if change[0] else FILLED
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT213",)))
    reads = [f for f in report.findings if "reads" in f.message]
    assert [f.code for f in reads] == found and not report.errors


STORED = """
import cutlass
import cutlass.cute as cute
from cutlass import Float16, Float32
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.jit
def gemm(mma: cute.TiledMma, acc: cute.Tensor, rA: cute.Tensor, rB: cute.Tensor, sA: cute.Tensor, load: cute.TiledCopy):
    view = load.retile(rA)
    for k in cutlass.range_constexpr(cute.size(sA.shape[2])):
        cute.copy(load, sA[None, None, k], view[None, None, k])
        cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)


@cute.kernel
def kernel(layout: cute.Layout, mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    sP = cutlass.utils.SmemAllocator().allocate_tensor(Float16, layout, 128)
    thr = mma.get_slice(tid)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=32)
    store = cute.make_tiled_copy_C(atom, mma).get_slice(tid)
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16), mma).get_slice(tid)
    rP = cute.make_rmem_tensor(thr.partition_shape_C((64, 64)), Float16)
    acc = cute.make_rmem_tensor(thr.partition_shape_C((64, 64)), Float32)
    rP.fill(0.0)
    acc.fill(0.0)
    rA = thr.make_fragment_A(thr.partition_A(sP))
    rB = cute.make_rmem_tensor(thr.partition_shape_B((64, 64)), Float16)
    rB.fill(0.0)
    cute.copy(store, store.retile(rP), store.partition_D(sP))
    cute.arch.barrier()
    gemm(mma, acc, rA, rB, load.partition_S(sP), load)


@cute.jit
def host(n):
    atom = cute.make_layout((8, 64), stride=(64, 1))
    layout = cute.tile_to_shape(cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, atom), (64, 64), (0, 1))
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16))
    kernel(layout, mma).launch(grid=(n, 1, 1), block=[128, 1, 1]{smem})


def run(n):
    cute.compile(host, n)
"""


@pytest.mark.parametrize(("barrier", "found"), [("    cute.arch.barrier()\n", []), ("", ["CUT212"])])
def test_what_a_helper_reads_is_held_back(tmp_path: Path, barrier: str, found: list[str]) -> None:
    text = STORED.replace("    cute.arch.barrier()\n", barrier).replace("{smem}", "") + "\n\nrun(cutlass.Int32(4))\n"
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT212",)))
    assert [f.code for f in report.findings] == found and not report.errors


@pytest.mark.parametrize(("smem", "found"), [(8192, []), (4096, ["CUT702"])])
def test_a_kernel_that_a_driver_binds_is_not_one_of_unknown_size(tmp_path: Path, smem: int, found: list[str]) -> None:
    size = f"\n\ndef bytes_of(n):\n    return int(n) if isinstance(n, str) else {smem}\n"
    (tmp_path / "kernel.py").write_text(STORED.replace("{smem}", ", smem=bytes_of(n)") + size)
    (tmp_path / "drive.py").write_text("from kernel import run\nfrom cutlass import Int32\n\nrun(Int32(4))\n")
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT702",)))
    assert [f.code for f in report.findings] == found and not report.errors
    assert [b.size_bytes for b in report.facts.buffers] == [8192]
    assert [x.smem_bytes for x in report.facts.launches] == [smem]
