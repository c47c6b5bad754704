"""Names of earlier versions of the DSL's package."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import HEAD, driver, events, results

TMA = (
    HEAD
    + """
import cutlass.utils as utils
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def kernel(atom: cute.CopyAtom, mA: cute.Tensor, layout: cute.Layout):
    s = utils.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=128)
    g = cute.local_tile(mA, (64, 64), (0, None))
    to, of = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2), cute.group_modes(g, 0, 2))
    bar = utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    cute.copy(atom, of[None, 0], to, tma_bar_ptr=bar)


@cute.jit
def host(a: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(64, 1))
    atom, mA = cpasync.NAME(cpasync.CopyBulkTensorTileG2SOp(), a, layout, (64, 64))
    kernel(atom, mA, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (128, 128), stride=(128, 1), assumed_align=16))
"""
)


@pytest.mark.parametrize("name", ["make_tiled_tma_atom", "make_tma_tile_atom"])
def test_tma_atoms(tmp_path: Path, name: str) -> None:
    (found,) = events(driver(tmp_path, TMA.replace("NAME", name), arch="sm_90a"))
    assert found.reason is None
    assert [t.space for t in found.operands] == ["coord", "smem"]


FRAGMENT = (
    HEAD
    + """
@cute.kernel
def kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((4, 2), stride=(1, 8))
    like = cute.make_fragment_like(layout)
    cute.make_layout(cute.cosize(like))
    made = cute.make_fragment_like(layout, cutlass.Float32)
    made.store(made.load() * 0.0)
    cute.autovec_copy(made, cute.make_tensor(x.iterator + 8 * t, cute.make_layout((4, 2))))


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (256,), stride=(1,), assumed_align=16))
"""
)


def test_a_fragment_like_a_layout_has_elements_where_their_type_is_given(tmp_path: Path) -> None:
    made = driver(tmp_path, FRAGMENT)
    assert "8:1" in {str(v) for values in results(made).values() for v in values}
    (copy,) = events(made)
    assert [t.space for t in copy.operands] == ["rmem", "gmem"]
    assert str(copy.operands[0].layout) == "(_4,(_2)):(_1,(_4))"


def test_columns_of_tensor_memory(tmp_path: Path) -> None:
    text = (
        HEAD + "\n\n@cute.jit\ndef host():\n    cute.make_layout(cute.arch.SM100_TMEM_CAPACITY_COLUMNS)\n\n\nhost()\n"
    )
    made = driver(tmp_path, text, arch="sm_100a")
    assert [str(v) for values in results(made).values() for v in values] == ["512:1"]


LENT = (
    HEAD
    + """
import devices


@cute.kernel
def kernel(x: cute.Tensor):
    @cute.struct
    class Storage:
        bars: cute.struct.MemRange[cutlass.Int64, devices.STAGES // 2]
        tile: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 64], 128]

    storage = cutlass.utils.SmemAllocator().allocate(Storage)
    cute.make_layout(storage.tile.get_tensor(cute.make_layout(64)).layout.shape)


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (256,), stride=(1,), assumed_align=16))
"""
)


def test_a_structure_of_which_one_field_has_an_unknown_size(tmp_path: Path) -> None:
    """Its other fields are what they are: a name that a version lacks says nothing of them."""
    made = driver(tmp_path, LENT)
    assert [(str(s.result), s.status) for s in made.recorder.sites.values()] == [("64:1", "resolved")] * 2
