"""Sequences that lie in one matrix one after another: where each begins and ends is read from memory (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS = 32, 128


@cute.jit
def asked(coordinates: cute.Tensor, limit: cutlass.Int32):
    pred = cute.make_rmem_tensor(
        cute.make_layout((1, cute.size(coordinates, mode=[1]), cute.size(coordinates, mode=[2])),
                         stride=(cute.size(coordinates, mode=[2]), 0, 1)), cutlass.Boolean)
    for k in cutlass.range_constexpr(pred.shape[2]):
        pred[0, 0, k] = coordinates[0, 0, k][1] < limit
    return pred


@cute.kernel
def double(x: cute.Tensor, y: cute.Tensor, starts: cute.Tensor, tiled: cute.TiledCopy):
    block, batch, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    start = starts[batch]
    length = starts[batch + 1] - start
    if block * ROWS < length:
        gX = cute.local_tile(cute.domain_offset((start, 0), x), (ROWS, COLUMNS), (block, 0))
        gY = cute.local_tile(cute.domain_offset((start, 0), y), (ROWS, COLUMNS), (block, 0))
        here = thr.partition_S(cute.make_identity_tensor((ROWS, COLUMNS)))
        tXg, tYg = thr.partition_S(gX), thr.partition_D(gY)
        kept = cute.make_fragment_like(tXg)
        kept.fill(0.0)
        which = asked(here, x.shape[1])
        for m in cutlass.range_constexpr(cute.size(tXg, mode=[1])):
            if here[0, m, 0][0] < length - block * ROWS:
                cute.copy(tiled, tXg[None, m, None], kept[None, m, None], pred=which[None, m, None])
        kept.store(kept.load() * 2.0)
        for m in cutlass.range_constexpr(cute.size(tYg, mode=[1])):
            if here[0, m, 0][0] < length - block * ROWS:
                cute.copy(tiled, kept[None, m, None], tYg[None, m, None], pred=which[None, m, None])


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, starts: cute.Tensor, longest: cutlass.Int32):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    grid = (cute.ceil_div(longest, ROWS), starts.shape[0] - 1, 1)
    double(x, y, starts, tiled).launch(grid=grid, block=[128, 1, 1])


def matrix():
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(), cute.sym_int(divisibility=4)),
                            stride=(cute.sym_int(divisibility=4), 1), assumed_align=16)


starts = make_fake_tensor(cutlass.Int32, (cute.sym_int(),), stride=(1,), assumed_align=4)
cute.compile(launch, matrix(), matrix(), starts, cutlass.Int32(100))
"""
STORE = "            if here[0, m, 0][0] < length - block * ROWS:\n                cute.copy(tiled, kept"
LOAD = STORE.replace("kept", "tXg")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", ""),
        ("coordinates[0, 0, k][1] < limit", "coordinates[0, 0, 0][1] < limit", "for other elements than the copy"),
        (LOAD, LOAD.replace(" - block * ROWS", ""), "is compared with `*starts - *starts`"),  # where the tile may start
        (STORE, STORE.replace("if here[0, m, 0][0] < length - block * ROWS", "if True"), "nothing bounds mode 0 of"),
    ],
)
def test_rows_of_a_sequence(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    assert right in KERNEL
    assert codes_of(tmp_path, KERNEL.replace(right, wrong), said) == ({"CUT604"} if said else set())


def test_a_length_of_all_blocks_need_be_none_of_a_matrix(tmp_path: Path) -> None:
    """Where nothing else asks for what is left of it, a limit may be the number of rows that each block has."""
    text = KERNEL.replace("length - block * ROWS", "length").replace("if block * ROWS < length:", "if length > 0:")
    assert codes_of(tmp_path, text, "") == set()


def test_rows_that_are_stored_elsewhere_may_be_whole_tiles(tmp_path: Path) -> None:
    """A matrix with room for whole tiles of each sequence: it starts elsewhere there."""
    room = "cute.domain_offset((start + batch * ROWS, 0), y)"
    text = KERNEL.replace("cute.domain_offset((start, 0), y)", room)
    text = text.replace(STORE, STORE.replace("if here[0, m, 0][0] < length - block * ROWS", "if True"))
    assert codes_of(tmp_path, text, "") == set()


ROW = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def scale(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
    block, _, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    gX, gY, cX = (cute.local_tile(t, (8, 64), (block, 0)) for t in (x, y, cute.make_identity_tensor(x.shape)))
    tXg, tYg, here = thr.partition_S(gX), thr.partition_D(gY), thr.partition_S(cX)
    kept = cute.make_fragment_like(tXg)
    row = here[0][0]
    if row < x.shape[0]:
        cute.copy(tiled, tXg, kept)
    kept.store(kept.load() * 2.0)
    if row < x.shape[0]:
        cute.copy(tiled, kept, tYg)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    scale(x, y, tiled).launch(grid=(cute.ceil_div(x.shape[0], 8), 1, 1), block=[128, 1, 1])


x, y = (make_fake_tensor(cutlass.Float32, (cute.sym_int(), 64), stride=(64, 1), assumed_align=16) for _ in range(2))
cute.compile(launch, x, y)
"""
STORED = "    if row < x.shape[0]:\n        cute.copy(tiled, kept"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (STORED, ""),
        (STORED.replace("<", "<="), "is made for the row"),
        (STORED.replace("shape[0]", "shape[1]"), "the extent of mode 1"),
        (STORED.replace("row <", "row + 1 <"), ""),  # of other numbers nothing is said
    ],
)
def test_a_row_that_a_variable_names(tmp_path: Path, wrong: str, said: str) -> None:
    """The compiler is told nothing of the extents of what is stored."""
    assert STORED in ROW
    assert codes_of(tmp_path, ROW.replace(STORED, wrong), said) == ({"CUT604"} if said else set())


def codes_of(folder: Path, text: str, said: str) -> set[str]:
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2", "CUT604")))
    assert not report.errors and not report.failures
    assert all(said in f.message for f in report.findings), [f.message for f in report.findings]
    return {f.code for f in report.findings}
