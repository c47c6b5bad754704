"""Axes of a grid whose index the kernel never asks for (CUT219)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__device__ int column(dim3 const& at) { return at.y; }
__device__ int other() { return blockIdx.y; }
__global__ void __launch_bounds__(256) move(float const* A, float* C, int m, int n, int* next) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, _64{}), LayoutRight{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_layout(make_shape(m, _64{}), LayoutRight{}));
  BEFORE
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(ROW, 0));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(ROW, 0));
  auto threads = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  copy(local_partition(gA, threads, threadIdx.x), local_partition(gC, threads, threadIdx.x));
}
void run(float const* A, float* C, int m, int n, int* next, dim3 grid, int many) {
  move<<<dim3(GRID), 256>>>(A, C, m, n, next);
}
"""
CASES = {
    "one axis": ("", "blockIdx.x", "m / 64", 0),
    "one block along y": ("", "blockIdx.x", "m / 64, 1", 0),
    "so many along y": ("", "blockIdx.x", "m / 64, n", 1),
    "so many along z": ("", "blockIdx.x", "m / 64, 1, n", 1),
    "a grid from elsewhere": ("", "blockIdx.x", "grid", 0),
    "a number from elsewhere": ("", "blockIdx.x", "m / 64, many", 0),
    "a number of them": ("", "blockIdx.x", "m / 64, 4", 0),
    "asked for in a condition": ("if (blockIdx.y > 0) return;", "blockIdx.x", "m / 64, n", 0),
    "asked for by a function": ("if (other() > 0) return;", "blockIdx.x", "m / 64, n", 0),
    "as a whole": ("if (column(blockIdx) > 0) return;", "blockIdx.x", "m / 64, n", 0),
    "counted": ("if (atomicAdd(next, 1) > n) return;", "blockIdx.x", "m / 64, n", 0),
    "in assembly": ('int y; asm("mov.u32 %0, %%ctaid.y;" : "=r"(y)); if (y) return;', "blockIdx.x", "m / 64, n", 0),
    "its place in a cluster": ("int at = cute::block_rank_in_cluster();", "blockIdx.x + at", "m / 64, n", 0),
    "by its cluster's": ("int at = cute::cluster_id_in_grid().y; if (at > 0) return;", "blockIdx.x", "m / 64, n", 0),
    "none at all": ("", "0", "m / 64, n", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_axes(tmp_path: Path, name: str) -> None:
    before, row, grid, wrong = CASES[name]
    text = KERNEL.replace("BEFORE", before).replace("ROW", row).replace("GRID", grid)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    assert not report.failures
    found = [f.message for f in report.findings if "never asks" in f.message]
    assert len(found) == wrong, found
