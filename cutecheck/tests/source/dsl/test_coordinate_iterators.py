"""Where tensors of coordinates start: DSL 4.8.1 prints `(0, 0, 0)` for a whole one, `(0, Int32(?), 0)` for a slice."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(load: cute.CopyAtom, mA: cute.Tensor, layout: cute.Layout, n: cutlass.Int32):
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    bar = smem.allocate_array(cutlass.Int64, 4)
    bid, _, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (64, 64), (None, None, None))
    ts, tg = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
    START
    moved = cute.make_tensor(at, cute.slice_(tg.layout, (None, 0, None, 0)))
    cute.copy(load, moved[None, 0], ts[None, 0], tma_bar_ptr=bar)


@cute.jit
def host(mA: cute.Tensor):
    tile = cute.make_layout((64, 64), stride=(64, 1))
    load, a = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, tile, (64, 64))
    layout = cute.make_layout((64, 64, 2), stride=(64, 1, 4096))
    kernel(load, a, layout, 4).launch(grid=(4, 1, 1), block=(160, 1, 1))


shape = (cute.sym_int(divisibility=64), cute.sym_int(divisibility=64), cute.sym_int())
stride = (cute.sym_int64(divisibility=64), 1, cute.sym_int64(divisibility=64))
cute.compile(host, make_fake_tensor(cutlass.Float16, shape, stride=stride, assumed_align=128))
"""


@pytest.mark.parametrize(
    ("start", "offset"),
    [
        ("it = tg.iterator; at = (it[0] + n, 1 + it[1], it[2])", "(n, 1, 0)"),
        ("it = tg[None, bid, None, 0].iterator; at = (it[0], it[1], n + it[2])", "(0, 64*blockIdx.x, n)"),
        ("at = tg[None, 2, None, 0].iterator", "(0, 128, 0)"),
        ("at = mA.iterator", "(0, 0, 0)"),
    ],
)
def test_all_modes_are_there(start: str, offset: str, tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(KERNEL.replace("START", start))
    facts = extract(ExtractRequest((tmp_path,)))
    (event,) = facts.events
    assert event.reason is None
    at = event.operands[0].offset
    assert isinstance(at, tuple)
    assert f"({', '.join(str(number).partition('#')[0] for number in at)})" == offset
    assert str(event.operands[0].layout).replace("_", "") == "(((64,64),1)):(((1@0,1@1),0))"
