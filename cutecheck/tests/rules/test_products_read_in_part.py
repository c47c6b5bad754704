"""Accumulators of which the kernel reads some elements alone (CUT222)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
__device__ void elsewhere(float* p);
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C, int n) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_128, _64>{}, Stride<_64, _1>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Shape<_128, _64>{}, Stride<_64, _1>{});
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_128, _128>{}, Stride<_128, _1>{});
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor tA = thr.partition_A(gA), tB = thr.partition_B(gB), tC = thr.partition_C(gC);
  Tensor rA = thr.make_fragment_A(tA), rB = thr.make_fragment_B(tB), acc = thr.make_fragment_C(tC);
  copy(tA, rA);
  copy(tB, rB);
  clear(acc);
  gemm(Mma{}, rA, rB, acc);
  Tensor to = group_modes<1, 3>(tC), from = group_modes<1, 3>(acc);
  STORE
}
void run(half_t const* A, half_t const* B, float* C, int n) { product<<<1, 128>>>(A, B, C, n); }
"""
CASES = {
    "whole": ("copy(acc, tC);", 0),
    "in slices": ("for (int i = 0; i < size<1>(from); ++i) copy(from(_, i), to(_, i));", 0),
    "in slices of slices": (
        "for (int i = 0; i < 32; i += 4)\n  for (int j = 0; j < 4; ++j) copy(from(_, i + j), to(_, i + j));", 0,
    ),
    "the first of them again": (
        "for (int i = 0; i < 32; i += 4)\n  for (int j = 0; j < 4; ++j) copy(from(_, j), to(_, i + j));", 112,
    ),
    "every other": ("for (int i = 0; i < 32; i += 2) copy(from(_, i), to(_, i));", 64),
    "two halves": (
        "for (int i = 0; i < 32; i += 2) copy(from(_, i), to(_, i));\n"
        "for (int i = 1; i < 32; i += 2) copy(from(_, i), to(_, i));", 0,
    ),
    "as many as the caller says": ("for (int i = 0; i < n; ++i) copy(from(_, i), to(_, i));", 0),
    "under a condition": (
        "for (int i = 0; i < 32; ++i)\n  if (get<0>(thr.partition_C(make_identity_tensor(shape(gC)))(0, i)) < n) "
        "copy(from(_, i), to(_, i));", 0,
    ),
    "elements, too": ("copy(from(_, 0), to(_, 0));\nfor (int i = 4; i < size(acc); ++i) tC(i) = acc(i);", 0),
    "by a pointer, too": ("copy(from(_, 0), to(_, 0));\nelsewhere(acc.data());", 0),
    "of another type": (
        "auto wide = recast<uint128_t>(acc);\nauto at = recast<uint128_t>(tC);\ncopy(wide(_, 0, _), at(_, 0, _));", 0,
    ),
    "rows that are no padding": ("copy(acc(make_coord(_, 0), _, _), tC(make_coord(_, 0), _, _));", 0),
    "in both forms": ("copy(from(_, 0), to(_, 0));\naxpby(2.0f, acc, 0.0f, tC);", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_of_registers(tmp_path: Path, name: str) -> None:
    store, lost = CASES[name]
    (tmp_path / "k.cu").write_text(KERNEL.replace("STORE", store))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT222",)))
    assert not report.failures
    found = [f.message for f in report.findings if f.code == "CUT222"]
    assert [m for m in found if f"other {lost} is lost" in m] == found
    assert len(found) == bool(lost)


OVER = {
    "each to its place": ("copy(from(_, i + j), to(_, i + j));", False),
    "over each other": ("copy(from(_, i + j), to(_, j));", True),
    "over each other, the inner ones": ("copy(from(_, i + j), to(_, i));", True),
    "one after the other": ("copy(from(_, i + j), to(_, j)); to.data() = to.data() + 64;", False),
    "by way of others": (
        "Tensor t = make_fragment_like(from(_, 0)); copy(from(_, i + j), t); copy(t, to(_, j));", True,
    ),
    "the last pass alone": ("if (i == 28) copy(from(_, i + j), to(_, j));", False),
    "read in between": (
        "Tensor t = make_fragment_like(from(_, 0)); copy(from(_, i + j), to(_, j)); copy(to(_, j), t);", False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OVER)
def test_stored_over(tmp_path: Path, name: str) -> None:
    store, wrong = OVER[name]
    loops = "for (int i = 0; i < 32; i += 4)\n  for (int j = 0; j < 4; ++j) { " + store + " }"
    (tmp_path / "k.cu").write_text(KERNEL.replace("STORE", loops))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    assert not report.failures
    assert any("all but the last are lost" in f.message for f in report.findings) == wrong


def test_a_slice_for_each_pass_of_an_inner_loop(tmp_path: Path) -> None:
    body = """
  __shared__ alignas(128) float smem[128 * 32];
  Tensor sC = make_tensor(make_smem_ptr(smem), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
  Tensor tS = thr.partition_C(sC);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) copy(acc(_, _, 2 * i + j), tS(_, _, j));
    __syncthreads();
    for (int j = 0; j < 2; ++j) copy(tS(_, _, j), tC(_, _, AT));
    __syncthreads();
  }
"""
    for at, wrong in (("2 * i + j", False), ("j", True)):
        (tmp_path / "k.cu").write_text(KERNEL.replace("STORE", body.replace("AT", at)))
        report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
        assert not report.failures
        assert any("all but the last are lost" in f.message for f in report.findings) == wrong


@pytest.mark.parametrize(("columns", "found"), [("_64", 0), ("_128", 1)])
def test_columns_that_pad_the_product(tmp_path: Path, columns: str, found: int) -> None:
    text = KERNEL.replace("Shape<_128, _128>{}", f"Shape<_128, {columns}>{{}}").replace(
        "acc = thr.make_fragment_C(tC);", "acc = partition_fragment_C(Mma{}, Shape<_128, _128>{});"
    )
    (tmp_path / "k.cu").write_text(
        text.replace("STORE", "for (int j = 0; j < 4; ++j) copy(acc(_, _, j), tC(_, _, j));")
    )
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT222",)))
    assert not report.failures
    assert len(report.findings) == found
