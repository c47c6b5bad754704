"""A product with one matrix of many: the mode that says which is no row of the operand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
from cutlass.cute.nvgpu import warp


@cute.kernel
def kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma, tc: cute.TiledCopy):
    t, _, _ = cute.arch.thread_idx()
    m, n, e = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    mine, thr = tc.get_slice(t), mma.get_slice(t)
    parts = []
    for g in (cute.local_tile(x, (64, 32), (m, 0)), cute.local_tile(w[e, None, None], (64, 32), (COLUMN, 0))):
        s = smem.allocate_tensor(cutlass.Float16, cute.make_layout((64, 32), stride=(40, 1)), 16)
        cute.copy(tc, mine.partition_S(g), mine.partition_D(s))
        parts.append(s)
    cute.arch.sync_threads()
    a, b = thr.partition_A(parts[0]), thr.partition_B(parts[1])
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    cute.autovec_copy(a, ra)
    cute.autovec_copy(b, rb)
    out = thr.partition_C(cute.local_tile(y[None, None, e], (64, 64), (m, n)))
    acc = mma.make_fragment_C(out)
    acc.fill(0.0)
    cute.gemm(mma, acc, ra, rb, acc)
    cute.autovec_copy(acc, out)


@cute.jit
def host(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), (2, 2, 1))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    kernel(x, w, y, mma, tc).launch(grid=(x.shape[0] // 64, w.shape[1] // 64, 4), block=(128, 1, 1))


rows = cute.sym_int(divisibility=64)
x, w, y = (rows, 32), (4, 256, 32), (rows, 256, 4)
args = [make_fake_tensor(cutlass.Float16, s, stride=tuple(reversed([1, s[-1], 8192][:len(s)]))) for s in (x, w)]
cute.compile(host, *args, make_fake_tensor(cutlass.Float32, y, stride=(256, 1, cute.sym_int(divisibility=256))))
"""
)


@pytest.mark.parametrize(("column", "codes"), [("n", set()), ("m", {"CUT219"})])
def test_which_matrix_is_no_row_of_it(tmp_path: Path, column: str, codes: set[str]) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("COLUMN", column))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False, select=("CUT219",)))
    assert {f.code for f in made.findings} == codes
