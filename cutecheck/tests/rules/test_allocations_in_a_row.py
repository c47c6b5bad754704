"""A tensor over what the DSL's allocator gave one after another: a store takes the memory of operands that are done."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(q: cute.Tensor, o: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    rows = cute.make_layout((32, 64), stride=(64, 1))
    sQ = smem.allocate_tensor(cutlass.Float16, rows, 128)
    AFTER
    sO = cute.make_tensor(cute.recast_ptr(sQ.iterator, dtype=cutlass.Float32), rows)
    half = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    full = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    threads = cute.make_layout((8, 8), stride=(8, 1))
    load = cute.make_tiled_copy_tv(half, threads, cute.make_layout((1, 8))).get_slice(tidx)
    store = cute.make_tiled_copy_tv(full, threads, cute.make_layout((1, 4))).get_slice(tidx)
    LOAD
    cute.arch.sync_threads()
    regs = cute.make_rmem_tensor(store.partition_S(sO).shape, cutlass.Float32)
    cute.copy(full, regs, store.partition_D(sO))
    cute.arch.sync_threads()
    cute.copy(full, store.partition_S(sO), store.partition_D(o))


@cute.jit
def host(q: cute.Tensor, o: cute.Tensor):
    kernel(q, o).launch(grid=(1, 1, 1), block=(64, 1, 1))


cute.compile(
    host,
    make_fake_tensor(cutlass.Float16, (32, 64), stride=(64, 1), assumed_align=16),
    make_fake_tensor(cutlass.Float32, (32, 64), stride=(64, 1), assumed_align=16),
)
"""
LOAD = "cute.copy(half, load.partition_S(q), load.partition_D(sQ))"


@pytest.mark.parametrize(
    ("after", "load", "wrong"),
    [
        ("sK = smem.allocate_tensor(cutlass.Float16, rows, 128)", LOAD, False),
        ("", LOAD, True),  # nothing comes after it
        ("sK = smem.allocate_tensor(cutlass.Float16, cute.make_layout(8), 16)", LOAD, True),  # too little does
        ("sK = smem.allocate_tensor(cutlass.Float16, rows, 128)", "", True),  # it has no other tensor
    ],
)
def test_it_may_go_on_into_the_next(after: str, load: str, wrong: bool, tmp_path: Path) -> None:
    path = tmp_path / "store.py"
    path.write_text(KERNEL.replace("AFTER", after).replace("LOAD", load))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not report.failures and not report.errors
    assert ("CUT209" in {f.code for f in report.findings}) is wrong
