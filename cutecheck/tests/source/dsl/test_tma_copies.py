"""Copies by TMA descriptors that the DSL refuses: recorded of nvidia-cutlass-dsl 4.8.1 (what ``unpack`` raises)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.atoms import CopyAtom
from cutecheck.model.tiled.tensor_map import TensorMap
from cutecheck.source.dsl.values import TmaInfo
from cutecheck.source.eval.values import TensorVal
from cutecheck.tests.rules.test_dsl_copies import found
from cutecheck.tests.source.dsl.run import driver

LOAD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def kernel(atom: cute.CopyAtom, coords: cute.Tensor, layout: cute.Layout):
    storage = cutlass.utils.SmemAllocator()
    s = storage.allocate_tensor(cutlass.Float16, layout, 128)
    bar = storage.allocate_array(cutlass.Int64)
    g = cute.local_tile(coords, (64, 64), (0, 0))
    ts, tg = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    extra = {"tma_bar_ptr": bar, "mcast_mask": cutlass.Int16(3)}
    cute.copy(atom, tg, tsGIVEN)

@cute.jit
def host(a: cute.Tensor):
    layout = cute.make_ordered_layout((64, 64), order=(1, 0))
    atom, coords = cpasync.make_tiled_tma_atom(cpasync.OP(), a, layout, (64, 64)MORE)
    kernel(atom, coords, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (128, 128), stride_order=(1, 0), assumed_align=16))
"""
ONE, SEVERAL = "CopyBulkTensorTileG2SOp", "CopyBulkTensorTileG2SMulticastOp"
BAR, MASK = ", tma_bar_ptr=bar", ", mcast_mask=cutlass.Int16(3)"


@pytest.mark.parametrize(
    ("op", "given", "taken"),
    [
        (ONE, BAR, True),
        (ONE, BAR + MASK, True),
        (ONE, "", False),
        (ONE, ", tma_bar_ptr=None", False),
        (SEVERAL, BAR + MASK, True),
        (SEVERAL, BAR, False),
        (SEVERAL, BAR + ", mcast_mask=None", False),
        (SEVERAL, MASK, False),
        (SEVERAL, ", **extra", True),
    ],
)
def test_loads_are_given_what_the_dsl_asks_for(op: str, given: str, taken: bool, tmp_path: Path) -> None:
    more = ", num_multicast=2" if op == SEVERAL else ""
    text = LOAD.replace("OP", op).replace("GIVEN", given).replace("MORE", more)
    assert ("CUT303" in [f.code for f in found(text, tmp_path, "sm_90a")]) != taken


STORED = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import make_fake_compact_tensor

made = []

@cute.jit
def host(c: cute.Tensor):
    tiler = (CTAS * 128, 128, 64)
    mma = cute.make_tiled_mma(tcgen05.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (tiler[0], 128, 16), GROUP, tcgen05.OperandSource.SMEM,
        cute.nvgpu.OperandMajorMode.K, cute.nvgpu.OperandMajorMode.K))
    atom = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    layout = tcgen05.tile_to_mma_shape(atom, mma.partition_shape_C(tiler[:2]))
    made.append(cute.nvgpu.make_tiled_tma_atom_C(cpasync.CopyBulkTensorTileS2GOp(), c, layout, tiler, mma))

cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (512, 256), stride_order=(1, 0)))
"""


@pytest.mark.parametrize(("ctas", "group"), [(1, "ONE"), (2, "TWO")])
def test_a_store_of_accumulators_has_each_ctas_tile(ctas: int, group: str, tmp_path: Path) -> None:
    """As the DSL prints it: ``(512,256):(1@1,1@0)``, and a box of the 128 rows of one CTA."""
    text = STORED.replace("CTAS", str(ctas)).replace("GROUP", f"tcgen05.CtaGroup.{group}")
    run = driver(tmp_path, text, arch="sm_100a")
    (info,) = run.machine.functions["dsl modules"]["scopes"]["__main__ main"].env.vars["made"]
    assert isinstance(info, TmaInfo) and isinstance(info.tma_tensor, TensorVal) and isinstance(info.atom.atom, CopyAtom)
    assert str(info.tma_tensor.layout) == "(_512,_256):(_1@1,_1@0)"
    found_map = info.atom.atom.tensor_map
    assert isinstance(found_map, TensorMap) and found_map.box == (64, 128)
