"""A mode of a matrix in global memory that has its own extent as its stride (CUT223)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cassert>
#include <cute/tensor.hpp>
using namespace cute;
template <class S, class D>
__global__ void __launch_bounds__(256) copy_tile(float const* A, float* C, S shape, D stride, int m, int n) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, n), make_stride(n, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), shape, stride);
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gC = local_tile(mC, Shape<_128, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  auto threads = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  copy(local_partition(gA, threads, threadIdx.x), local_partition(gC, threads, threadIdx.x));
}
void run(float const* A, float* C, int m, int n, int ld, int heads) {
  CHECK
  auto shape = make_shape(SHAPE);
  auto stride = make_stride(STRIDE);
  copy_tile<<<dim3(m / 128, n / 64), 256>>>(A, C, shape, stride, m, n);
}
"""
CASES = {
    "rows": ("m, n", "n, _1{}", "", False),
    "its own": ("m, n", "m, _1{}", "", True),
    "columns": ("m, n", "_1{}, m", "", False),
    "its own of columns": ("m, n", "_1{}, n", "", True),
    "padded": ("m, n", "ld, _1{}", "", False),
    "square": ("m, m", "m, _1{}", "", False),
    "square, as is checked": ("m, n", "m, _1{}", "assert(m == n);", False),
    "a panel of a square matrix": ("m, _64{}", "m, _1{}", "", False),
    "heads side by side": ("m, n", "n * heads, _1{}", "", False),
    "heads of the wrong width": ("m, n", "m * heads, _1{}", "", False),
    "known": ("_128{}, _256{}", "_128{}, _1{}", "", True),
    "known, padded": ("_512{}, _256{}", "_512{}, _1{}", "", False),
}


@pytest.mark.parametrize("name", CASES)
def test_strides(tmp_path: Path, name: str) -> None:
    shape, stride, checked, wrong = CASES[name]
    text = KERNEL.replace("SHAPE", shape).replace("STRIDE", stride).replace("CHECK", checked)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT223",)))
    assert not report.failures
    assert ("CUT223" in {f.code for f in report.findings}) == wrong
    assert not wrong or "mode" in next(f.message for f in report.findings if f.code == "CUT223")


PARTS = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void __launch_bounds__(64) part(float const* A, float* C, int n, int w, int j) {
  Tensor gA = make_tensor(make_gmem_ptr(A + START), SHAPE, STRIDE);
  Tensor gC = make_tensor(make_gmem_ptr(C + STORED), SHAPE, Stride<_64, _1>{});
  copy(gA(_, threadIdx.x), gC(_, threadIdx.x));
}
void run(float const* A, float* C, int n, int w, int j) { part<<<16, 64>>>(A, C, n, w, j); }
"""
WINDOWS = "Shape<_16, _64>{}"


@pytest.mark.parametrize(
    ("start", "stored", "shape", "stride", "wrong"),
    [
        ("0", "blockIdx.x * 1024", WINDOWS, "Stride<_16, _1>{}", True),
        ("blockIdx.x * 256", "blockIdx.x * 1024", WINDOWS, "Stride<_16, _1>{}", False),  # windows of a signal
        ("0", "0", "make_shape(n, w)", "make_stride(n, _1{})", True),
        ("j", "0", "make_shape(n, w)", "make_stride(n, _1{})", False),  # a panel, from column j on
        ("blockIdx.x * n", "0", "make_shape(n, w)", "make_stride(n, _1{})", True),
    ],
)
def test_parts_of_more(tmp_path: Path, start: str, stored: str, shape: str, stride: str, wrong: bool) -> None:
    text = PARTS.replace("START", start).replace("STORED", stored).replace("STRIDE", stride).replace("SHAPE", shape)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT223",)))
    assert not report.failures
    assert bool(report.findings) == wrong


@pytest.mark.parametrize("pointer", ["make_gmem_ptr(A)", "A"])
@pytest.mark.parametrize(("stride", "wrong"), [("n", False), ("m", True)])
def test_a_tensor_map(tmp_path: Path, stride: str, wrong: bool, pointer: str) -> None:
    (tmp_path / "k.cu").write_text(
        f"""
#include <cute/tensor.hpp>
using namespace cute;
template <class Load> __global__ void kernel(Load const load) {{}}
void run(half_t const* A, int m, int n) {{
  Tensor mA = make_tensor({pointer}, make_shape(m, n), make_stride({stride}, _1{{}}));
  auto smem = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{{}}, Shape<_128, _64>{{}});
  auto load = make_tma_copy(SM90_TMA_LOAD{{}}, mA, smem);
  kernel<<<1, 128>>>(load);
}}
"""
    )
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_90a",)))
    assert not report.failures
    assert ("CUT223" in {f.code for f in report.findings}) == wrong
