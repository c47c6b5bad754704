"""Descriptors of a program's own map from a CTA's values to the tensor; the layouts are those that DSL 4.8.1 prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

PROGRAM = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor


@cute.jit
def paged(op: cpasync.CopyBulkTensorTileG2SOp, gmem: cute.Tensor, smem_layout: cute.Layout, tiler):
    whole = cute.composition(cute.make_identity_layout(gmem.shape), tiler)
    page = cute.get(cute.zipped_divide(whole, (ROWS, tiler[1])), mode=[0])
    from cutlass._mlir.dialects import cute_nvgpu as _cute_nvgpu_ir

    res = _cute_nvgpu_ir.atom_make_non_exec_tiled_tma_load(gmem.value, smem_layout, page, op._to_ir(), num_multicast=1)
    return cute.CopyAtom(op, cpasync.CopyBulkTensorTileG2SNonExecTrait(res[0])), res[1]


@cute.kernel
def kernel(load: cute.CopyAtom, mA: cute.Tensor, layout: cute.Layout):
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    bar = smem.allocate_array(cutlass.Int64, 4)
    gA = cute.local_tile(mA, (ROWS, 64), (None, None))
    ts, tg = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
    cute.copy(load, tg[None, 0, 0], ts[None, 0], tma_bar_ptr=bar)


@cute.jit
def host(mA: cute.Tensor):
    layout = cute.make_layout((ROWS, 64, 4), stride=(64, 1, ROWS * 64))
    tile = cute.make_layout((ROWS, 64), stride=(64, 1))
    load, a = paged(cpasync.CopyBulkTensorTileG2SOp(), mA, tile, (128, 64))
    kernel(load, a, layout).launch(grid=(4, 1, 1), block=(160, 1, 1))


shape = (cute.sym_int(divisibility=64), cute.sym_int(divisibility=64))
stride = (cute.sym_int64(divisibility=64), 1)
cute.compile(host, make_fake_tensor(cutlass.Float16, shape, stride=stride, assumed_align=128))
"""


@pytest.mark.parametrize(
    ("rows", "coordinates", "shared"),
    [
        ("32", "(((64,32),1)):(((1@0,1@1),0))", "((2048,1)):((1,0))"),
        ("128", "(((64,128),1)):(((1@0,1@1),0))", "((8192,1)):((1,0))"),
    ],
)
def test_a_box_is_what_the_map_says(rows: str, coordinates: str, shared: str, tmp_path: Path) -> None:
    (tmp_path / "paged.py").write_text(PROGRAM.replace("ROWS", rows))
    facts = extract(ExtractRequest((tmp_path,)))
    assert {s.status for s in facts.sites} == {"resolved"}
    (event,) = facts.events
    assert event.reason is None
    assert [str(t.layout).replace("_", "") for t in event.operands] == [coordinates, shared]
