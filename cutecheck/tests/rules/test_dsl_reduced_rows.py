"""Reductions of rows over lanes: of accumulators, of fragments that copies fill, by shuffles and by their functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import operator

import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_tensor


@cute.jit
def together(x, op, width: cutlass.Constexpr):
    for i in cutlass.range_constexpr(5):
        if cutlass.const_expr(2 << i <= width):
            x = op(x, cute.arch.shuffle_sync_bfly(x, offset=1 << i))
    return x


@cute.kernel
def sums(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy, mma: cute.TiledMma):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    g = cute.local_tile(x, (8, 128), (bidx, 0))
    part = tiled.get_slice(tidx).partition_S(g)
    r = cute.make_fragment_like(part)
    cute.copy(tiled, part, r)
    v = r.load().to(cutlass.Float32)
    own = (v * v).reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = cute.arch.warp_reduction(own, operator.add, threads_in_group=16)
    a = mma.make_fragment_A(mma.get_slice(tidx).partition_shape_A((64, 16)))
    b = mma.make_fragment_B(mma.get_slice(tidx).partition_shape_B((32, 16)))
    acc = cute.make_rmem_tensor(mma.get_slice(tidx).partition_shape_C((64, 32)), cutlass.Float32)
    a.fill(0.0)
    b.fill(0.0)
    acc.fill(0.0)
    cute.gemm(mma, acc, a, b, acc)
    rows = cute.make_tensor(
        acc.iterator, cute.make_layout(((2, acc.shape[1]), (2, acc.shape[2])), stride=((2, 4), (1, 4 * acc.shape[1])))
    )
    for i in cutlass.range_constexpr(2):
        most = rows[i, None].load().reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0)
        y[i] = together(most, lambda p, q: cute.arch.fmax(p, q), 4) + total


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=64)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), (4, 1, 1))
    sums(x, y, tiled, mma).launch(grid=[cute.ceil_div(x.shape[0], 8), 1, 1], block=[128, 1, 1])


x = make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int()), stride=(cute.sym_int(divisibility=8), 1))
cute.compile(run, x, make_fake_tensor(cutlass.Float32, (2,), stride=(1,)))
"""
OF_COPY, OF_MMA = "threads_in_group=16", "fmax(p, q), 4)"
BY_ROWS = "rows[i, None].load()"
CASES: dict[str, tuple[list[tuple[str, str]], list[str]]] = {
    "right": ([], []),
    "more_lanes": ([(OF_COPY, "threads_in_group=32"), (OF_MMA, "fmax(p, q), 32)")], []),  # the most of all rows
    "half_of_a_row": ([(OF_COPY, "threads_in_group=8")], ["16 lanes of a warp have elements of the row of `r`"]),
    "of_absolute_values": (
        [("(v * v).reduce", "cute.where(v < 0.0, -v, v).reduce"), (OF_COPY, "threads_in_group=8")],
        ["16 lanes of a warp have elements of the row of `r`"],
    ),
    "of_blocks": ([("(8, 128), (bidx, 0)", "(8, 64), (bidx, 0)"), (OF_COPY, "threads_in_group=8")], []),
    "then_downwards": (
        [(OF_COPY, "threads_in_group=8)\n    total = total + cute.arch.shuffle_sync_down(total, offset=8")],
        [],
    ),
    "half_of_a_quad": ([(OF_MMA, "fmax(p, q), 2)")], ["4 lanes of a warp have elements of the row of `rows`"]),
    "the_wrong_lanes": ([("offset=1 << i", "offset=8 >> i")], ["those of lane 1 do not come to lane 0"]),
    "columns": ([(BY_ROWS, "rows[None, i].load()"), (OF_MMA, "fmax(p, q), 32)")], []),
    "a_part_of_a_column": ([(BY_ROWS, "rows[None, i].load()")], ["8 lanes of a warp"]),
    "all_of_the_fragment": ([(BY_ROWS, "rows.load()"), (OF_MMA, "fmax(p, q), 2)")], []),
    "not_at_all": ([(OF_MMA, "fmax(p, q), 1)")], []),  # perhaps through shared memory
    "of_other_values": ([("x = op(x, cute.arch", "x = op(x + x, cute.arch"), (OF_MMA, "fmax(p, q), 2)")], []),
}


@pytest.mark.parametrize("case", CASES)
def test_lanes(tmp_path: Path, case: str) -> None:
    edits, said = CASES[case]
    text = KERNEL
    for right, wrong in edits:
        assert right in text
        text = text.replace(right, wrong, 1)
    (tmp_path / "kernel.py").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT224",), cache=False))
    assert not report.failures and not report.errors and len(report.facts.events) >= 2
    assert len(report.findings) == len(said)
    assert all(words in f.message for words, f in zip(said, report.findings, strict=True))
