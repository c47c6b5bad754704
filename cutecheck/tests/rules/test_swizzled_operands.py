"""Operands of products in shared memory of whose offset a swizzle has some bits, which the layout's type says."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_8, _16>>{}, Layout<Shape<_8, _1>>{}));
using Smem = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _32>, Stride<_1, _64>>{}));
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C, int k) {
  __shared__ half_t a[2048], b[2048];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, k), make_stride(_1{}, _64{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, k), make_stride(_1{}, _64{}));
  Tensor gA = local_tile(mA, Shape<_64, _32>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_64, _32>{}, make_coord(0, _));
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>>{});
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{}), sB = make_tensor(make_smem_ptr(b), Smem{});
  auto load = Load{}.get_slice(threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor tA = thr.partition_A(sA), tB = thr.partition_B(sB), tC = thr.partition_C(gC);
  Tensor acc = make_fragment_like(tC);
  clear(acc);
  for (int i = 0; i < size<2>(gA); ++i) {
    copy(Load{}, load.partition_S(gA)(_, _, _, i), load.partition_D(sA));
    copy(Load{}, load.partition_S(gB)(_, _, _, TILE), load.partition_D(sB));
    __syncthreads();
    gemm(Mma{}, tA, tB, acc);
    __syncthreads();
  }
  copy(acc, tC);
}
void run(half_t const* A, half_t const* B, float* C, int k) { product<<<1, 128>>>(A, B, C, k); }
"""


@pytest.mark.parametrize(("tile", "found"), [("i", []), ("i % 2", ["CUT218"])])
def test_the_kernel_is_run_pass_by_pass(tmp_path: Path, tile: str, found: list[str]) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace("TILE", tile))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT212", "CUT218", "CUT221"), arch=("sm_80",)))
    assert [f.code for f in report.findings] == found
