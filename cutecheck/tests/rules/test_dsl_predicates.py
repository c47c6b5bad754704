"""Predicates of the DSL's copies that helpers compute, in kernels of several configurations (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


class Load:
    def __init__(self, rows, columns):
        self.tile = (rows, columns)

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
        across = self.tile[1]
        threads = cute.make_layout((128 // across, across), stride=(across, 1))
        tiled = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 1)))
        self.kernel(a, b, tiled).launch(grid=[8, 8, 1], block=[128, 1, 1])

    def asked(self, coordinates, limit):
        pred = cute.make_rmem_tensor(coordinates.shape, cutlass.Boolean)
        for i in range(cute.size(pred)):
            pred[i] = cute.elem_less(coordinates[i], limit)
        return pred

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, tiled: cute.TiledCopy):
        bx, by, _ = cute.arch.block_idx()
        thr = tiled.get_slice(cute.arch.thread_idx()[0])
        self.both(a, b, bx, by, tiled, thr)

    @cute.jit
    def both(self, a, b, bx, by, tiled, thr):
        gA, gB = cute.local_tile(a, self.tile, (bx, by)), cute.local_tile(b, self.tile, (by, bx))
        cA = cute.local_tile(cute.make_identity_tensor(a.shape), self.tile, (bx, by))
        cB = cute.local_tile(cute.make_identity_tensor(b.shape), self.tile, (by, bx))
        tAgA, tBgB, tAcA, tBcB = thr.partition_S(gA), thr.partition_S(gB), thr.partition_S(cA), thr.partition_S(cB)
        pA = self.asked(tAcA, a.shape)
        pB = self.asked(tBcB, b.shape)
        cute.copy(tiled, tAgA, cute.make_fragment_like(tAgA), pred=pA)
        cute.copy(tiled, tBgB, cute.make_fragment_like(tBgB), pred=pB)


def tensor():
    size = cute.sym_int()
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(), size), stride=(cute.sym_int(), 1), assumed_align=16)


for rows, columns in ((64, 32), (32, 16), (64, 8)):
    cute.compile(Load(rows, columns), tensor(), tensor())
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", ""),
        ("pred=pB)", "pred=pA)", "predicates of `tBgB`"),
        ("asked(tBcB, b.shape)", "asked(tBcB, a.shape)", "predicates of `tBgB`"),
    ],
)
def test_of_a_helper_and_of_several_configurations(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL.replace(right, wrong, 1) if right else KERNEL)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    assert {f.code for f in report.findings} == ({"CUT604"} if said else set()), report.findings
    assert all(said in f.message for f in report.findings) and not report.errors


ROWS_AND_COLUMNS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(a: cute.Tensor, tiled: cute.TiledCopy):
    bx, _, _ = cute.arch.block_idx()
    by = cute.arch.block_idx()[1]
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    gA = cute.local_tile(a, (64, 64), (bx, by))
    cA = cute.local_tile(cute.make_identity_tensor(a.shape), (64, 64), (bx, by))
    tAgA, tAcA = thr.partition_S(gA), thr.partition_S(cA)
    rA = cute.make_fragment_like(tAgA)
    pred = columns(tAcA, a.shape[1])
    for i in cutlass.range_constexpr(cute.size(rA, mode=[1])):
        if cute.elem_less(tAcA[0, i, 0][0], a.shape[0]):
            cute.copy(tiled, tAgA[None, i, None], rA[None, i, None], pred=pred[None, 0, None])


def columns(coordinates, limit):
    count = cute.size(coordinates, mode=[2])
    pred = cute.make_rmem_tensor(cute.make_layout((1, 1, count), stride=(0, 0, 1)), cutlass.Boolean)
    for j in range(count):
        pred[0, 0, j] = cute.elem_less(coordinates[0, 0, j][1], limit)
    return pred


@cute.jit
def host(a: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    kernel(a, tiled).launch(grid=[8, 8, 1], block=[128, 1, 1])


shape = (cute.sym_int(), cute.sym_int())
cute.compile(host, make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int(), 1), assumed_align=16))
"""
GUARD = "        if cute.elem_less(tAcA[0, i, 0][0], a.shape[0]):\n    "


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("", "", []),
        ("    pred = columns", "    if bx * 64 >= a.shape[0]:\n        return\n    pred = columns", []),
        ("a.shape[0])", "a.shape[1])", ["compare mode 0 with"]),
        ("a.shape[1])", "a.shape[0])", ["compare mode 1 with"]),
        (GUARD, "    ", ["do not bound mode 0"]),
    ],
)
def test_columns_that_a_helper_asks_for_in_rows_that_a_condition_does(
    tmp_path: Path, right: str, wrong: str, said: list[str]
) -> None:
    text = ROWS_AND_COLUMNS.replace(right, wrong, 1) if right else ROWS_AND_COLUMNS
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    messages = [f.message for f in report.findings]
    assert len(messages) == len(said) and not report.errors
    assert all(part in message for part, message in zip(said, messages, strict=True))


@pytest.mark.parametrize(
    ("tile", "said"),
    [("bx", []), ("cutlass.min(bx + 1, cute.ceil_div(a.shape[0], 64)) - 1", []), ("0", ["start at the tile"])],
)
def test_the_last_tile_that_a_block_needs(tmp_path: Path, tile: str, said: list[str]) -> None:
    """Keys of a causal attention: as many as the block's queries, or all that there are."""
    text = ROWS_AND_COLUMNS.replace("(64, 64), (bx, by))", f"(64, 64), ({tile}, by))")
    if tile == "0":
        text = ROWS_AND_COLUMNS.replace("a.shape), (64, 64), (bx, by))", "a.shape), (64, 64), (0, by))")
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    messages = [f.message for f in report.findings]
    assert len(messages) == len(said) and not report.errors
    assert all(part in message for part, message in zip(said, messages, strict=True))


BATCHES = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(a: cute.Tensor, tiled: cute.TiledCopy):
    bx, bz, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    gA = cute.local_tile(a[None, None, bz], (64, 64), (bx, None))
    gA = cute.make_tensor(gA.iterator.align(4), gA.layout)
    cA = cute.local_tile(cute.make_identity_tensor(a.shape)[None, None, bz], (64, 64), (bx, None))
    tAgA, tAcA = thr.partition_S(gA), thr.partition_S(cA)
    rA = cute.make_fragment_like(tAgA[None, None, None, 0])
    rows, columns = cute.size(rA, mode=[1]), cute.size(rA, mode=[2])
    pred = cute.make_rmem_tensor(cute.make_layout((1, rows, columns), stride=(0, 1, 0)), cutlass.Boolean)
    for i in cutlass.range_constexpr(rows):
        pred[0, i, 0] = cute.elem_less(tAcA[0, i, 0, 0][0], a.shape[0])
    for k in cutlass.range(cute.size(gA, mode=[2])):
        cute.copy(tiled, tAgA[None, None, None, k], rA, pred=pred)


@cute.jit
def host(a: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    kernel(a, tiled).launch(grid=[8, 8, 1], block=[128, 1, 1])


shape, stride = (cute.sym_int(), cute.sym_int(), cute.sym_int()), (cute.sym_int(), 1, cute.sym_int())
cute.compile(host, make_fake_tensor(cutlass.Float32, shape, stride=stride, assumed_align=16))
"""


@pytest.mark.parametrize(
    ("right", "wrong", "said"), [("", "", []), ("a.shape[0])", "a.shape[1])", ["compare mode 0 with"])]
)
def test_coordinates_of_a_batch_and_a_tile_whose_address_is_said_to_be_aligned(
    tmp_path: Path, right: str, wrong: str, said: list[str]
) -> None:
    """The identity tensor is of the whole tensor, the tile of one of its matrices, made anew of its first element."""
    (tmp_path / "kernel.py").write_text(BATCHES.replace(right, wrong, 1) if right else BATCHES)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    messages = [f.message for f in report.findings]
    assert len(messages) == len(said) and not report.errors
    assert all(part in message for part, message in zip(said, messages, strict=True))


PARTS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(y: cute.Tensor, w: cute.Tensor, tiled: cute.TiledCopy):
    bx, by, _ = cute.arch.block_idx()
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    part = thr.partition_D(cute.local_tile(y, (16, 32), (bx, by)))
    at = thr.partition_D(cute.local_tile(cute.make_identity_tensor(y.shape), (16, 32), (bx, by)))
    sums = cute.make_fragment_like(part)
    sums.fill(0.0)
    weights = thr.partition_S(cute.local_tile(w, (32, 64), (by, 0)))
    cute.copy(tiled, weights, cute.make_fragment_like(weights))
    for i in cutlass.range_constexpr(cute.size(part)):
        if at[i][0] < y.shape[0]:
            part[i] = sums[i]


@cute.jit
def host(y: cute.Tensor, w: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    kernel(y, w, tiled).launch(grid=(cute.ceil_div(y.shape[0], 16), COLUMNS, 1), block=(128, 1, 1))


rows, columns = cute.sym_int(), cute.sym_int()
y = make_fake_tensor(cutlass.Float32, (rows, columns), stride=(cute.sym_int(), 1), assumed_align=16)
cute.compile(host, y, make_fake_tensor(cutlass.Float32, (128, 64), stride=(64, 1), assumed_align=16))
"""


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [("w.shape[0] // 32", False), ("4", False), ("cute.ceil_div(y.shape[1], 32)", True), ("3", True)],
)
def test_as_many_tiles_as_another_matrix_has(tmp_path: Path, columns: str, wrong: bool) -> None:
    """Whole tiles of a matrix of constant extents, not the mode's own, say how many there are."""
    (tmp_path / "k.py").write_text(PARTS.replace("COLUMNS", columns))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    assert not report.failures
    assert bool(report.findings) == wrong
