"""Tiles that are stored where those of other coordinates belong, and grids whose axes do not fit (CUT219)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

COPY = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(256) move(float const* A, float* C, int m, int n) {
  __shared__ alignas(128) float smem[64 * 64];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, n), LayoutRight{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_layout(make_shape(OUT), LayoutRight{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(TO));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sC = make_tensor(make_smem_ptr(smem), SMEM{});
  auto threads = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  copy(local_partition(gA, threads, threadIdx.x), local_partition(sA, threads, threadIdx.x));
  __syncthreads();
  copy(local_partition(sC, threads, threadIdx.x), local_partition(gC, threads, threadIdx.x));
}
void run(float const* A, float* C, int m, int n) {
  CHECK
  move<<<dim3(GRID), 256>>>(A, C, m, n);
}
"""
ROWS, COLUMNS = "Layout<Shape<_64, _64>, Stride<_64, _1>>", "Layout<Shape<_64, _64>, Stride<_1, _64>>"
GRID = "m / 64, n / 64"
CASES = {
    "a copy": ("m, n", "blockIdx.x, blockIdx.y", ROWS, GRID, 0),
    "a copy, swapped": ("m, n", "blockIdx.y, blockIdx.x", ROWS, GRID, 1),
    "a transposition": ("n, m", "blockIdx.y, blockIdx.x", COLUMNS, GRID, 0),
    "a transposition without coordinates": ("n, m", "blockIdx.x, blockIdx.y", COLUMNS, GRID, 1),
    "square": ("m, m", "blockIdx.y, blockIdx.x", ROWS, "m / 64, m / 64", 0),
    "the grid, swapped": ("m, n", "blockIdx.x, blockIdx.y", ROWS, "n / 64, m / 64", 1),
    "one side of the grid": ("m, n", "blockIdx.x, blockIdx.y", ROWS, "m / 64, m / 64", 1),
    "a grid of other numbers": ("m, n", "blockIdx.x, blockIdx.y", ROWS, "m / 64, rows()", 0),
    "square, as is checked": ("m, n", "blockIdx.y, blockIdx.x", ROWS, GRID, 0),
    "a square grid, as is checked": ("m, n", "blockIdx.x, blockIdx.y", ROWS, "m / 64, m / 64", 0),
    "rounded up": ("m, n", "blockIdx.x, blockIdx.y", ROWS, "(m + 63) / 64, ceil_div(n, 64)", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_copies(tmp_path: Path, name: str) -> None:
    out, to, smem, grid, wrong = CASES[name]
    text = COPY.replace("OUT", out).replace("TO)", to + ")").replace("SMEM", smem).replace("GRID", grid)
    checked = "if (m != n) return;" if "checked" in name else ""
    (tmp_path / "k.cu").write_text("int rows();\n" + text.replace("CHECK", checked))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT219",)))
    assert not report.failures
    assert len([f for f in report.findings if f.code == "CUT219"]) == wrong


PRODUCT = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(256) product(float const* A, float const* B, float* C, int m, int n, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, k), LayoutRight{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(n, k), LayoutRight{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_layout(make_shape(m, n), LayoutRight{}));
  auto mma = make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{});
  auto coord = make_coord(blockIdx.x, blockIdx.y, _);
  Tensor gA = local_tile(mA, Shape<_64, _64, _8>{}, coord, Step<_1, X, _1>{});
  Tensor gB = local_tile(mB, Shape<_64, _64, _8>{}, coord, Step<X, _1, _1>{});
  Tensor gC = local_tile(mC, Shape<_64, _64, _8>{}, coord, Step<_1, _1, X>{});
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tA = thr.partition_A(gA), tB = thr.partition_B(gB), tC = thr.partition_C(gC);
  Tensor rA = thr.make_fragment_A(tA(_, _, _, 0)), rB = thr.make_fragment_B(tB(_, _, _, 0));
  Tensor acc = thr.make_fragment_C(tC);
  clear(acc);
  for (int i = 0; i < size<3>(tA); ++i) {
    copy(tA(_, _, _, i), rA);
    copy(tB(_, _, _, i), rB);
    gemm(mma, rA, rB, acc);
  }
  copy(acc, tC);
}
void run(float const* A, float const* B, float* C, int m, int n, int k) {
  product<<<dim3(GRID), 256>>>(A, B, C, m, n, k);
}
"""


@pytest.mark.parametrize(
    ("grid", "wrong"),
    [("m / 64, n / 64", 0), ("n / 64, m / 64", 1), ("m / 64, m / 64", 1), ("n / 64, n / 64", 1), ("m / 64, k / 64", 0)],
)
def test_grids_of_products(tmp_path: Path, grid: str, wrong: int) -> None:
    (tmp_path / "k.cu").write_text(PRODUCT.replace("GRID", grid))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT219",)))
    assert not report.failures
    assert len([f for f in report.findings if f.code == "CUT219"]) == wrong
