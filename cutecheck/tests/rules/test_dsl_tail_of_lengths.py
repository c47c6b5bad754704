"""Rows of a sequence past its length, which is read from memory, in a sum over whole tiles (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS = 32, 64


@cute.kernel
def sums(v: cute.Tensor, o: cute.Tensor, lengths: cute.Tensor, pages: cute.Tensor, tiled: cute.TiledCopy,
         mma: cute.TiledMma):
    t, _, _ = cute.arch.thread_idx()
    batch, _, _ = cute.arch.block_idx()
    length = lengths[batch]
    smem = cutlass.utils.SmemAllocator()
    sV = smem.allocate_tensor(cutlass.Float32, cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1)), 16)
    sVt = cute.make_tensor(sV.iterator, cute.make_layout((COLUMNS, ROWS)))
    acc = cute.make_rmem_tensor(mma.partition_shape_C((8, COLUMNS)), cutlass.Float32)
    acc.fill(0.0)
    thr, own = tiled.get_slice(t), mma.get_slice(t)
    to = thr.partition_D(sV)
    here = thr.partition_S(cute.make_identity_tensor((ROWS, COLUMNS)))
    blocks = cute.ceil_div(length, ROWS)
    for i in cutlass.range(blocks, unroll=1):
        block = blocks - 1 - i
        part = thr.partition_S(cute.local_tile(v[None, None, pages[batch, block]], (ROWS, COLUMNS), (0, 0)))
        for m in cutlass.range_constexpr(cute.size(to, mode=[1])):
            if here[0, m, 0][0] < length - block * ROWS:
                cute.copy(tiled, part[None, m, None], to[None, m, None])
            else:
                to[None, m, None].fill(0.0)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        rA = mma.make_fragment_A(mma.partition_shape_A((8, ROWS)))
        rA.fill(1.0)
        rB = mma.make_fragment_B(own.partition_B(sVt))
        cute.autovec_copy(own.partition_B(sVt), rB)
        cute.gemm(mma, acc, rA, rB, acc)
        cute.arch.sync_threads()
    cute.autovec_copy(acc, own.partition_C(cute.local_tile(o, (8, COLUMNS), (batch, 0))))


@cute.jit
def launch(v: cute.Tensor, o: cute.Tensor, lengths: cute.Tensor, pages: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), cute.make_layout((8, 16, 1)))
    sums(v, o, lengths, pages, tiled, mma).launch(grid=(lengths.shape[0], 1, 1), block=[128, 1, 1])


rows, step = cute.sym_int(), cute.sym_int(divisibility=4)
v = make_fake_tensor(cutlass.Float32, (rows, 64, cute.sym_int()), stride=(64, 1, step), assumed_align=16)
o = make_fake_tensor(cutlass.Float32, (cute.sym_int(), 64), stride=(64, 1), assumed_align=16)
lengths = make_fake_tensor(cutlass.Int32, (cute.sym_int(),), stride=(1,), assumed_align=4)
pages = make_fake_tensor(cutlass.Int32, (cute.sym_int(), cute.sym_int()), stride=(cute.sym_int(), 1), assumed_align=4)
cute.compile(launch, v, o, lengths, pages)
"""
CLEARED = "            else:\n                to[None, m, None].fill(0.0)\n"


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("", "", ""),
        (CLEARED, "", "CUT606"),
        # rows of a tile that no sum goes over may be anything
        ("cute.gemm(mma, acc, rA, rB, acc)", "cute.autovec_copy(rB, acc)", ""),
    ],
)
def test_what_is_past_a_length(tmp_path: Path, right: str, wrong: str, code: str) -> None:
    assert right in KERNEL
    (tmp_path / "kernel.py").write_text(KERNEL.replace(right, wrong))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT606",)))
    assert [f.code for f in report.findings] == [code] * bool(code) and not report.errors
    assert all("#" not in f.message for f in report.findings)
