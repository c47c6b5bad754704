"""Predicates of the DSL that a variable hands on, copies of several tensors under one, and short first tiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

ADD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, at: cute.Tensor, limits: cute.Shape, tiled: cute.TiledCopy):
    block = ((None, None), cute.arch.block_idx()[0])
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    tA, tB, tC = thr.partition_S(a[block]), thr.partition_S(b[block]), thr.partition_D(c[block])
    tI = thr.partition_S(at[block])
    pred = cute.make_rmem_tensor(tI.shape, cutlass.Boolean)
    for i in range(cute.size(pred)):
        inside = cute.elem_less(tI[i], limits)
        pred[i] = inside
    rA, rB = cute.make_fragment_like(tA), cute.make_fragment_like(tB)
    cute.copy(tiled, tA, rA, pred=pred)
    cute.copy(tiled, tB, rB, pred=pred)
    rB.store(rA.load() + rB.load())
    cute.copy(tiled, rB, tC, pred=pred)


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 1)))
    gA, gB, gC = (cute.zipped_divide(t, (16, 32)) for t in (a, b, c))
    at = cute.zipped_divide(cute.make_identity_tensor(c.shape), (16, 32))
    add(gA, gB, gC, at, c.shape, tiled).launch(grid=[cute.size(gC, mode=[1]), 1, 1], block=[128, 1, 1])


def tensor(rows=1, columns=1):
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(divisibility=rows), cute.sym_int(divisibility=columns)),
                            stride=(cute.sym_int(), 1), assumed_align=16)


cute.compile(run, tensor(), tensor(), tensor())
"""
WHOLE_B = ("cute.compile(run, tensor(), tensor()", "cute.compile(run, tensor(), tensor(16, 32)")
UNASKED_B = ("cute.copy(tiled, tB, rB, pred=pred)", "cute.copy(tiled, tB, rB)")
ELEMENTWISE = {
    "right": ([], set()),
    "of_one_element": ([("elem_less(tI[i]", "elem_less(tI[0]")], {"CUT604"}),
    "of_the_first_block": ([("partition_S(at[block])", "partition_S(at[((None, None), 0)])")], {"CUT604"}),
    "stored_without": ([("tC, pred=pred)", "tC)")], {"CUT210"}),
    "read_without": ([UNASKED_B], {"CUT210"}),
    "read_without_whole_tiles": ([UNASKED_B, WHOLE_B], set()),
    "read_where_the_tile_is_inside": ([(UNASKED_B[0], f"if block[1] < 4:\n        {UNASKED_B[1]}")], set()),
    "another_tile": ([UNASKED_B, ("thr.partition_S(b[block])", "thr.partition_S(b[((None, None), 0)])")], set()),
    "the_variable_says_otherwise": (
        [("pred[i] = inside", "inside = cute.elem_less(tI[i], limits) and rows > 1\n        pred[i] = inside"),
         ("    block = ", "    rows = limits[0]\n    block = ")],
        set(),
    ),
}  # fmt: skip


def codes(tmp_path: Path, text: str, edits: list[tuple[str, str]]) -> set[str]:
    for right, wrong in edits:
        assert right in text
        text = text.replace(right, wrong, 1)
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604", "CUT210")))
    assert not report.errors
    return {f.code for f in report.findings}


@pytest.mark.parametrize("case", ELEMENTWISE)
def test_one_predicate_for_tensors_of_one_shape(tmp_path: Path, case: str) -> None:
    edits, found = ELEMENTWISE[case]
    assert codes(tmp_path, ADD, edits) == found


PANELS = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def panels(a: cute.Tensor, b: cute.Tensor, tiled: cute.TiledCopy, across: cutlass.Int32):
    bx, by, _ = cute.arch.block_idx()
    row, column = bx // across, by * across + bx % across
    thr = tiled.get_slice(cute.arch.thread_idx()[0])
    gA, gB = cute.local_tile(a, (64, 32), (row, None)), cute.local_tile(b, (64, 32), (column, None))
    cA = cute.local_tile(cute.make_identity_tensor(a.shape), (64, 32), (row, None))
    cB = cute.local_tile(cute.make_identity_tensor(b.shape), (64, 32), (column, None))
    lacking = cute.size(a, mode=[1]) - 32 * cute.size(gA, mode=[2])
    gA, gB = cute.domain_offset((0, lacking, 0), gA), cute.domain_offset((0, lacking, 0), gB)
    cA, cB = cute.domain_offset((0, lacking, 0), cA), cute.domain_offset((0, lacking, 0), cB)
    tA, tB, iA, iB = (thr.partition_S(t) for t in (gA, gB, cA, cB))
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 32), stride=(32, 1)), 16)
    sB = smem.allocate_tensor(cutlass.Float32, cute.make_layout((64, 32), stride=(32, 1)), 16)
    dA, dB = thr.partition_D(sA), thr.partition_D(sB)
    pA = cute.make_rmem_tensor((1, dA.shape[1], dA.shape[2]), cutlass.Boolean)
    pB = cute.make_rmem_tensor((1, dB.shape[1], dB.shape[2]), cutlass.Boolean)
    for m in cutlass.range_constexpr(dA.shape[1]):
        for k in cutlass.range_constexpr(dA.shape[2]):
            pA[0, m, k] = cute.elem_less(iA[0, m, k, 0][0], a.shape[0])
            pB[0, m, k] = cute.elem_less(iB[0, m, k, 0][0], b.shape[0])
    for k in cutlass.range_constexpr(dA.shape[2]):
        if cute.elem_less(cutlass.Int32(-1), iA[0, 0, k, 0][1]):
            cute.copy(tiled, tA[None, None, k, 0], dA[None, None, k], pred=pA[None, None, k])
        if cute.elem_less(cutlass.Int32(-1), iB[0, 0, k, 0][1]):
            cute.copy(tiled, tB[None, None, k, 0], dB[None, None, k], pred=pB[None, None, k])
    for t in range(1, cute.size(gA, mode=[2])):
        cute.arch.sync_threads()
        cute.copy(tiled, tA[None, None, None, t], dA, pred=pA)
        cute.copy(tiled, tB[None, None, None, t], dB, pred=pB)


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor, across: cutlass.Int32):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    panels(a, b, tiled, across).launch(grid=[64, 64, 1], block=[128, 1, 1])


def tensor(columns):
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(), columns), stride=(cute.sym_int(), 1), assumed_align=16)


size = cute.sym_int()
cute.compile(run, tensor(size), tensor(size), cutlass.Int32(1))
"""
ASKED_A = "if cute.elem_less(cutlass.Int32(-1), iA[0, 0, k, 0][1]):"
GEMM = {
    "right": ([], set()),
    "whole_tiles_of_all_tensors": (
        [(ASKED_A, "if True:"), ("size = cute.sym_int()", "size = cute.sym_int(divisibility=32)")], set(),
    ),
    "asked_as_greater": ([(ASKED_A, "if iA[0, 0, k, 0][1] >= 0:")], set()),
    "not_asked": ([(ASKED_A, "if True:")], {"CUT210"}),
    "asked_of_the_rows": ([(ASKED_A, ASKED_A.replace("[1])", "[0])"))], {"CUT210"}),
    "coordinates_not_moved": ([("cA, cB = cute.domain_offset((0, lacking, 0), cA), cute", "cB = cute")], {"CUT210"}),
    "rows_of_the_other": ([("iB[0, m, k, 0][0], b.shape[0]", "iB[0, m, k, 0][0], a.shape[0]")], {"CUT604"}),
    "predicate_of_the_other": ([("t], dB, pred=pB", "t], dB, pred=pA")], {"CUT604"}),
    "later_tiles_without": ([("tA[None, None, None, t], dA, pred=pA", "tA[None, None, None, t], dA")], {"CUT210"}),
}  # fmt: skip


@pytest.mark.parametrize("case", GEMM)
def test_the_short_tile_first(tmp_path: Path, case: str) -> None:
    edits, found = GEMM[case]
    assert codes(tmp_path, PANELS, edits) == found
