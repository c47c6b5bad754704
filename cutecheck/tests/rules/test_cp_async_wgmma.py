"""Kernels that copy by cp.async what their one warpgroup multiplies, run pass by pass: right, and with one mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
#include <cutlass/arch/barrier.h>
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _3>{}));
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C, int k) {
  extern __shared__ __align__(1024) half_t smem[];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<Smem>), Smem{});
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_64, _64>{}, make_coord(0, _));
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor fA = load.partition_S(gA), tA = load.partition_D(sA), fB = load.partition_S(gB), tB = load.partition_D(sB);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.make_fragment_A(thr.partition_A(sA)), rB = thr.make_fragment_B(thr.partition_B(sB));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  int tiles = ceil_div(k, 64), next = 0, read = 0, write = 2;
  for (int i = 0; i < 2; ++i) {
    copy(Load{}, fA(_, _, _, next), tA(_, _, _, i));
    copy(Load{}, fB(_, _, _, next), tB(_, _, _, i));
    cp_async_fence();
    ++next;
  }
  for (int t = 0; t < tiles; ++t) {
    if (next < tiles) {
      copy(Load{}, fA(_, _, _, next), tA(_, _, _, write));
      copy(Load{}, fB(_, _, _, next), tB(_, _, _, write));
      ++next;
      write = write == 2 ? 0 : write + 1;
    }
    cp_async_fence();
    cp_async_wait<2>();
    FENCE
    __syncthreads();
    warpgroup_arrive();
    gemm(mma, rA(_, _, _, read), rB(_, _, _, read), acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    __syncthreads();
    read = read == 2 ? 0 : read + 1;
  }
  copy(acc, thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{})));
}
void run(half_t const* A, half_t const* B, float* C, int k) {
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, 98304);
  product<<<1, 128, 98304>>>(A, B, C, k);
}
"""
FENCE = ("FENCE", "cutlass::arch::fence_view_async_shared();")
PLAIN = ("SM80_CP_ASYNC_CACHEALWAYS<uint128_t>", "UniversalCopy<uint128_t>")
CASES = {
    "right": ((FENCE,), set()),
    "stores": ((FENCE, PLAIN), set()),
    "stores_without_a_fence": ((PLAIN,), {"CUT215"}),
    "waits_too_little": ((FENCE, ("wait<2>", "wait<3>")), {"CUT213"}),
    "reads_one_stage": ((FENCE, ("    read = read == 2 ? 0 : read + 1;\n", "")), {"CUT218"}),
    "reads_no_stage": ((FENCE, ("read == 2 ? 0", "read == 3 ? 0")), {"CUT209"}),
    "fills_one_stage": ((FENCE, ("      write = write == 2 ? 0 : write + 1;\n", "")), {"CUT213"}),
    "same_tile": ((FENCE, ("      ++next;\n      write", "      write")), {"CUT218"}),
    "ends_early": ((FENCE, ("t < tiles; ++t", "t < tiles - 1; ++t")), {"CUT218"}),
    "adds_to_nothing": ((FENCE, ("  clear(acc);\n", "")), {"CUT220"}),
    "sets_first": (
        (
            FENCE,
            ("  clear(acc);\n", "  mma.accumulate_ = GMMA::ScaleOut::Zero;\n"),
            ("    warpgroup_commit", "    mma.accumulate_ = GMMA::ScaleOut::One;\n    warpgroup_commit"),
        ),
        set(),
    ),
    "b_lags": ((FENCE, ("fB(_, _, _, next), tB(_, _, _, write)", "fB(_, _, _, t), tB(_, _, _, write)")), {"CUT218"}),
}


@pytest.mark.parametrize("name", CASES)
def test_product(name: str, tmp_path: Path) -> None:
    text = KERNEL
    for old, new in CASES[name][0]:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (tmp_path / "kernel.cu").write_text(PREAMBLE + text.replace("FENCE", ""))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",), cache=False))
    assert not report.failures and not report.errors
    found = {f.code for f in report.findings}
    assert found >= CASES[name][1] if CASES[name][1] else not found
