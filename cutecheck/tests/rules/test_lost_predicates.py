"""Tiles of one row of blocks, of which some are copied under a predicate and others without; and slices left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Tiles = Layout<Shape<_64, _64, _2>, Stride<_64, _1, Int<4096>>>;
__global__ void __launch_bounds__(128) kernel(half_t const* A, half_t const* B, float* out, int m, int k) {
  __shared__ alignas(128) half_t a[cosize_v<Tiles>], b[cosize_v<Tiles>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_64, _64>{}, make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Tiles{}), sB = make_tensor(make_smem_ptr(b), Tiles{});
  auto thr = Load{}.get_slice(threadIdx.x);
  auto other = Load{}.get_slice(SLICE);
  Tensor fA = thr.partition_S(gA), tA = thr.partition_D(sA), fB = other.partition_S(gB), tB = other.partition_D(sB);
  Tensor at = thr.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tA), size<2>(tA)));
  int rows = m - 64 * blockIdx.x, tiles = ceil_div(k, 64);
  for (int i = 0; i < size<1>(tA); ++i)
    for (int j = 0; j < size<2>(tA); ++j) pred(i, j) = PREDICATE;
  copy_if(Load{}, pred, fA(_, _, _, 0), tA(_, _, _, 0));
  copy(Load{}, fB(_, _, _, 0), tB(_, _, _, 0));
  cp_async_fence();
  for (int t = 1; t < tiles; ++t) {
    COPY
    copy(Load{}, fB(_, _, _, t), tB(_, _, _, t % 2));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    out[threadIdx.x] += float(sA(t, threadIdx.x % 64, 0)) + float(sB(t, threadIdx.x % 64, 1));
    __syncthreads();
  }
}
void run(half_t const* A, half_t const* B, float* out, int m, int k) {
  CHECK kernel<<<ceil_div(m, 64), 128>>>(A, B, out, m, k);
}
"""
ROWS = "get<0>(at(0, i, j)) < rows"
BARE, ASKED = (
    "copy(Load{}, fA(_, _, _, t), tA(_, _, _, t % 2));",
    "copy_if(Load{}, pred, fA(_, _, _, t), tA(_, _, _, t % 2));",
)
CASES = {
    "asked": ((ROWS, ASKED, "threadIdx.x", ""), set()),
    "lost": ((ROWS, BARE, "threadIdx.x", ""), {"CUT210"}),
    "lost_under_a_condition_of_the_loop": ((ROWS, f"if (t + 1 < tiles) {BARE}", "threadIdx.x", ""), {"CUT210"}),
    "for_whole_tiles": ((ROWS, f"if (rows >= 64) {BARE} else {ASKED}", "threadIdx.x", ""), set()),
    "rows_are_checked": ((ROWS, BARE, "threadIdx.x", "if (m % 64 != 0) return;"), set()),
    "of_the_columns_alone": (("get<1>(at(0, i, j)) < k", BARE, "threadIdx.x", ""), set()),
    "half_of_the_slices": ((ROWS, ASKED, "threadIdx.x % 64", ""), {"CUT701"}),
}


@pytest.mark.parametrize("name", CASES)
def test_copies(name: str, tmp_path: Path) -> None:
    text = KERNEL
    for mark, value in zip(("PREDICATE", "COPY", "SLICE", "CHECK"), CASES[name][0], strict=True):
        text = text.replace(mark, value)
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT210", "CUT701"), cache=False))
    assert not report.failures and not report.errors and len(report.facts.events) >= 4
    assert {f.code for f in report.findings} == CASES[name][1]
