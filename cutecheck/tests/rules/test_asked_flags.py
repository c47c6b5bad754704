"""Copies under an element of a tensor of bools are judged by what it was computed from, as copy_if's (CUT604)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
using Other = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
template <bool kEven>
__global__ void __launch_bounds__(128) load_tile(float const* A, int m, int k, int lda) {
  // cutecheck: assume lda % 4 == 0
  __shared__ alignas(128) float smem[64 * 64];
  int m0 = blockIdx.x * 64, k0 = blockIdx.y * 64;
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(lda, _1{}));
  Tensor cA = make_identity_tensor(Shape<_64, _64>{});
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAgA = thr.partition_S(gA);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tAcA = thr.partition_S(cA);
  Tensor tBcA = Other{}.get_slice(threadIdx.x).partition_S(cA);
  auto rows = size<1>(tAsA);
  auto cols = size<2>(tAsA);
  BODY
}
template __global__ void load_tile<false>(float const*, int, int, int);
"""
PRED = """
  Tensor pred = make_tensor<bool>(make_shape(rows, cols));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) pred(i, j) = COND;
"""
ASKED = """
  for (int a = 0; a < rows; ++a)
    for (int b = 0; b < cols; ++b) if (pred(a, b)) copy(load, tAgA(_, a, b), tAsA(_, a, b));
"""
RIGHT = "m0 + get<0>(tAcA(0, i, j)) < m && k0 + get<1>(tAcA(0, i, j)) < k"
ROW = """
  Tensor row = make_tensor<bool>(make_shape(rows));
  Tensor col = make_tensor<bool>(make_shape(cols));
  for (int i = 0; i < rows; ++i) row(i) = m0 + get<0>(tAcA(0, i, 0)) < m;
  for (int i = 0; i < cols; ++i) col(i) = k0 + get<1>(tAcA(0, 0, i)) < LIMIT;
  for (int i = 0; i < rows; ++i) {
    if (!row(i)) continue;
    for (int j = 0; j < cols; ++j) if (kEven || col(j)) copy(load, tAgA(_, i, j), tAsA(_, i, j));
  }
"""
ONE_ROW = """
  for (int i = 0; i < rows; ++i) {
    Tensor here = make_tensor<bool>(Shape<_1>{});
    here(0) = m0 + get<0>(tAcA(0, i, 0)) < LIMIT;
    if (here(0)) copy(load, tAgA(_, i, _), tAsA(_, i, _));
  }
"""
ALIKE = """
  Tensor row = make_tensor<bool>(make_shape(rows, cols), Stride<_1, _0>{});
  int left = m - m0;
  for (int i = 0; i < rows; ++i) row(i, 0) = get<MODE>(tAcA(0, i, 0)) < left;
  for (int a = 0; a < rows; ++a)
    for (int b = 0; b < cols; ++b)
      if (row(a, b) && k0 + get<1>(tAcA(0, a, b)) < k) copy(load, tAgA(_, a, b), tAsA(_, a, b));
"""
BY_VALUE = """
  auto each = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
      Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto mine = each.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(gA);
  Tensor to = mine.partition_D(sA);
  Tensor at = WHOSE.get_slice(threadIdx.x).partition_S(cA);
  Tensor col = make_tensor<bool>(make_shape(size<2>(from)));
  for (int i = 0; i < size(col); ++i) col(i) = k0 + get<1>(at(0, 0, i)) < k;
  for (int i = 0; i < size<1>(from); ++i)
    for (int j = 0; j < size<2>(from); ++j)
      if (m0 + get<0>(at(0, i, 0)) < m && col(j)) copy(each, from(_, i, j), to(_, i, j));
"""
CASES = {
    "values_together": (BY_VALUE.replace("WHOSE", "each"), False),  # four instructions under the first's condition
    "values_of_another": (BY_VALUE.replace("WHOSE", "Other{}"), True),
    "right": (PRED.replace("COND", RIGHT) + ASKED, False),
    "limits_swapped": (PRED.replace("COND", RIGHT.replace("< m", "< k", 1).replace("< k\n", "< m")) + ASKED, True),
    "one_mode_twice": (PRED.replace("COND", RIGHT.replace("get<1>", "get<0>")) + ASKED, True),
    "another_partition": (PRED.replace("COND", RIGHT.replace("tAcA", "tBcA")) + ASKED, True),
    "one_too_far": (PRED.replace("COND", RIGHT.replace("< k", "<= k")) + ASKED, True),
    "one_mode": (PRED.replace("COND", RIGHT.partition(" &&")[0]) + ASKED, True),
    "other_parts": (PRED.replace("COND", RIGHT.partition(" &&")[0] + " && lda > k") + ASKED, False),
    "rows_and_columns": (ROW.replace("LIMIT", "k"), False),
    "rows_and_columns_swapped": (ROW.replace("LIMIT", "m"), True),
    "one_for_all_columns": (ALIKE.replace("MODE", "0"), False),
    "one_for_all_columns_of_the_other_mode": (ALIKE.replace("MODE", "1"), True),
    "in_the_loop": (ONE_ROW.replace("LIMIT", "m"), True),  # columns are not asked for
    "set_at_two_places": (
        PRED.replace("COND", RIGHT.replace("< k", "< m")) + "  pred(0, 0) = lda > 0;\n" + ASKED,
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_copy_under_an_element(tmp_path: Path, name: str) -> None:
    body, wrong = CASES[name]
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    assert not report.failures
    assert {f.code for f in report.findings if f.severity == "error"} == ({"CUT604"} if wrong else set())


EPILOGUE = """
#include <cute/tensor.hpp>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Other = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_1, _4, _1>>, Tile<_16, _32, _16>>;
__global__ void __launch_bounds__(128) store_tile(float* C, int m, int n) {
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor gC = local_tile(mC, Shape<_128, _128>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cC = local_tile(make_identity_tensor(shape(mC)), Shape<_128, _128>{}, make_coord(blockIdx.x, blockIdx.y));
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor tCgC = thr.partition_C(gC);
  Tensor tCcC = WHOSE.get_slice(threadIdx.x).partition_C(cC);
  Tensor acc = thr.make_fragment_C(tCgC);
  clear(acc);
  Tensor pred = make_tensor<bool>(make_shape(size<1>(acc), size<2>(acc)));
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = elem_less(tCcC(0, i, j), make_coord(m, n));
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j)
      if (pred(i, j)) copy(acc(_, i, j), tCgC(_, i, j));
}
"""


@pytest.mark.parametrize(("whose", "wrong"), [("Mma{}", False), ("Other{}", True)])
def test_a_plain_copy_under_an_element(tmp_path: Path, whose: str, wrong: bool) -> None:
    (tmp_path / "k.cu").write_text(EPILOGUE.replace("WHOSE", whose))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    assert not report.failures
    assert [f.code for f in report.findings if f.severity == "error"] == (["CUT604"] if wrong else [])
