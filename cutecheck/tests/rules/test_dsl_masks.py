"""Masks of the DSL's multicasts: which blocks of the cluster a tile goes to (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Int64
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor

SHAPE = (2, 2, 1)


@cute.kernel
def kernel(atom: cute.CopyAtom, b: cute.Tensor, layout: cute.Layout, blocks: cute.Layout):
    smem = cutlass.utils.SmemAllocator()
    bar = smem.allocate_array(Int64, 1)
    s = smem.allocate_tensor(BFloat16, layout, 128)
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    at = blocks.get_flat_coord(rank)
    mask = cute.make_layout_image_mask(blocks, at, mode=0)
    g = cute.local_tile(b, (64, 64), (cute.arch.block_idx()[1], 0))
    parts = cute.make_layout(cute.slice_(blocks, (None, 0, 0)).shape)
    tBs, tBg = cpasync.tma_partition(atom, at[0], parts, cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    if cute.arch.warp_idx() == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_init(bar, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(bar, 8192)
        cute.copy(atom, tBg, tBs, tma_bar_ptr=bar, mcast_mask=mask)
    cute.arch.mbarrier_wait(bar, 0)


@cute.jit
def host(b: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    atom, tensor = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), b, layout, (64, 64), num_multicast=2
    )
    kernel(atom, tensor, layout, cute.make_layout(SHAPE)).launch(grid=(8, 8, 1), block=(32, 1, 1), cluster=SHAPE)


cute.compile(host, make_fake_compact_tensor(BFloat16, (cute.sym_int(), 64), stride_order=(1, 0), assumed_align=16))
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("mode=0)", "mode=1)", "names block 2, that needs the tile at"),
        ("mcast_mask=mask", "mcast_mask=0", "leaves out this block itself"),
        ("mcast_mask=mask", "mcast_mask=15", "names block 2, that needs the tile at"),
        ("SHAPE = (2, 2, 1)", "SHAPE = (1, 2, 1)", "names 1 block(s), and the copy brings"),
        ("mask = cute", "mask = cutlass.Int16(3) if rank < 2 else cutlass.Int16(12) if rank < 4 else cute", ""),
    ],
)
def test_the_blocks_that_share_a_tile(tmp_path: Path, old: str, new: str, said: str) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.replace(old, new) if old else KERNEL)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT804",)))
    assert not report.errors
    assert [f.code for f in report.findings] == ["CUT804"] * bool(said)
    assert all(said in f.message for f in report.findings)
