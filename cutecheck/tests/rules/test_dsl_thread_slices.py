"""Slices and barriers of the DSL that some of a block's threads take."""

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
def work(x: cute.Tensor, s: cute.Tensor, tc: cute.TiledCopy, t: cutlass.Int32):
    mine = tc.get_slice(t)
    cute.copy(tc, mine.partition_S(x), mine.partition_D(s))


@cute.kernel
def kernel(x: cute.Tensor, tc: cute.TiledCopy):
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((8, 128), stride=(128, 1)), 128)
    t, _, _ = cute.arch.thread_idx()
    group = cute.arch.make_warp_uniform(t // 128)
    BODY
    r = cute.make_rmem_tensor((4,), cutlass.Float32)
    cute.autovec_copy(cute.local_tile(s, (1, 4), (0, t % 32)), r)
    cute.autovec_copy(r, cute.local_tile(x, (1, 4), (0, t % 32)))


@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 32), stride=(32, 1)), cute.make_layout((1, 4)))
    kernel(x, tc).launch(grid=(1, 1, 1), block=(384, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (8, 128), stride=(128, 1), assumed_align=16))
"""
)


def found(tmp_path: Path, body: str, code: str) -> list[str]:
    (tmp_path / "main.py").write_text(SCRIPT.replace("BODY", body.replace("\n", "\n    ")))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=(code,)))
    return [f.message for f in made.findings]


@pytest.mark.parametrize(
    ("index", "said"),
    [("t - 128", ""), ("t", "thread 256 takes slice 256 of a TiledCopy of 256 threads"), ("t - 96", "slice 256")],
)
def test_threads_of_later_groups_take_slices_that_there_are(tmp_path: Path, index: str, said: str) -> None:
    """The block of the DSL has three extents; ``t - 128`` is no other thread's number than it is."""
    made = found(tmp_path, f"if group == 0:\n    pass\nelse:\n    work(x, s, tc, {index})", "CUT605")
    assert [said in m for m in made] == [True] * bool(said)


@pytest.mark.parametrize(
    ("meet", "said"),
    [
        ("if t < 128:\n    cute.arch.sync_threads()", True),
        ("if t < 128:\n    cute.arch.barrier()", True),
        ("if t < 128:\n    cute.arch.barrier(barrier_id=1, number_of_threads=128)", False),
        ("cute.arch.sync_threads()", False),
    ],
)
def test_barriers_of_the_block_that_some_threads_miss(tmp_path: Path, meet: str, said: bool) -> None:
    made = found(tmp_path, f"if t >= 128:\n    work(x, s, tc, t - 128)\n{meet}", "CUT212")
    assert any("does not come to this barrier of the block" in m for m in made) == said
