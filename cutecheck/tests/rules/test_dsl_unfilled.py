"""Shared memory of the DSL that copies and products read, and nothing writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.jit
def helper(s: cute.Tensor, t: cutlass.Int32):
    for i in cutlass.range(t, cute.size(s), 128):
        s[i] = cutlass.Float32(0.0)


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor, tc: cute.TiledCopy):
    t, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    layout = cute.make_layout((8, 128), stride=(128, 1))
    a = memory.allocate_tensor(cutlass.Float32, layout, 128)
    b = memory.allocate_tensor(cutlass.Float32, layout, 128)
    mine = tc.get_slice(t)
    r = cute.make_rmem_tensor_like(mine.partition_S(x))
    cute.copy(tc, mine.partition_S(x), mine.partition_D(a))
    FILL
    cute.arch.sync_threads()
    cute.copy(tc, mine.partition_S(SOURCE), r)
    cute.copy(tc, r, mine.partition_D(y))


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 4)))
    kernel(x, y, tc).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, *(make_fake_tensor(cutlass.Float32, (8, 128), stride=(128, 1), assumed_align=16) for _ in "xy"))
"""
)


@pytest.mark.parametrize(
    ("fill", "source", "said"),
    [
        ("pass", "a", False),
        ("pass", "b", True),
        ("cute.copy(tc, mine.partition_S(x), mine.partition_D(b))", "b", False),
        ("helper(cute.make_tensor(b.iterator, cute.make_layout(1024)), t)", "b", False),
        ("b.store(b.load() * 0)", "b", False),
        ("b = cute.make_tensor(a.iterator, layout)", "b", False),
        ("if t < 64:\n        cute.autovec_copy(x, b)", "b", False),
    ],
)
def test_shared_memory_that_nothing_writes(tmp_path: Path, fill: str, source: str, said: bool) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("FILL", fill).replace("SOURCE", source))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT221",)))
    assert [f.message.endswith("writes this shared memory") for f in made.findings] == [True] * said
