"""Kernels whose blocks share the sum of a tile: semaphores, and results that are stored by single elements."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/semaphore.h>
using namespace cute;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _8>>;
using Tile32 = Layout<Shape<_32, _32, _3>, Stride<_36, _1, Int<32 * 36>>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, tfloat32_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128)
shared_work(tfloat32_t const* A, tfloat32_t const* B, float* C, int* locks, int m, int n, int nb, int k) {
  __shared__ alignas(128) tfloat32_t a[cosize_v<Tile32>], b[cosize_v<Tile32>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(ROWS, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(STRIDE, _1{}));
  Tensor gA = local_tile(mA, Shape<_32, _32>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_32, _32>{}, make_coord(blockIdx.y, _));
  auto at = make_coord(blockIdx.x, blockIdx.y);
  Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<_32, _32>{}, make_coord(blockIdx.x, 0));
  Tensor sA = make_tensor(make_smem_ptr(a), Tile32{}), sB = make_tensor(make_smem_ptr(b), Tile32{});
  Load ld;
  auto load = ld.get_slice(threadIdx.x);
  auto mma = Mma{}.get_slice(threadIdx.x);
  Tensor tAc = load.partition_S(cA), tCg = mma.partition_C(local_tile(mC, Shape<_32, _32>{}, at));
  Tensor tCc = mma.partition_C(local_tile(make_identity_tensor(shape(mC)), Shape<_32, _32>{}, at));
  Tensor rA = mma.partition_fragment_A(sA(_, _, 0)), rB = mma.partition_fragment_B(sB(_, _, 0));
  int const parts = k / 32 / gridDim.z, first = blockIdx.z * parts;
  auto fill = [&](int t, int s) {
    for (int i = 0; i < size<1>(tAc); ++i)
      copy(ld.with(get<0>(tAc(0, i, 0)) < LIMIT), load.partition_S(gA)(_, i, _, first + t),
           load.partition_D(sA)(_, i, _, s));
    copy(ld.with(true), load.partition_S(gB)(_, _, _, first + t), load.partition_D(sB)(_, _, _, s));
  };
  Tensor acc = partition_fragment_C(Mma{}, Shape<_32, _32>{});
  clear(acc);
  cutlass::Semaphore turn(locks, threadIdx.x);
  for (int s = 0; s < 2; ++s) {
    if (s < parts) fill(s, s);
    cp_async_fence();
  }
  turn.fetch();
  turn.wait(blockIdx.z);
  for (int t = 0; t < parts; ++t) {
    cp_async_wait<WAIT>();
    __syncthreads();
    if (t + 2 < parts) fill(t + 2, (t + 2) % 3);
    cp_async_fence();
    copy(mma.partition_A(sA(_, _, t % 3)), rA);
    copy(mma.partition_B(sB(_, _, t % 3)), rB);
    gemm(Mma{}, rA, rB, acc);
  }
  for (int i = 0; i < size(acc); i += 2)
    if (get<0>(tCc(i)) < m) *reinterpret_cast<float2*>(&tCg(i)) = make_float2(acc(i), acc(i + 1));
  turn.release(blockIdx.z + 1);
}
void run(tfloat32_t const* A, tfloat32_t const* B, float* C, int* locks, int m, int n, int nb, int k) {
  if (n % 32 != 0 || nb % 32 != 0 || k % 32 != 0) return;
  shared_work<<<dim3((m + 31) / 32, n / 32, 4), 128>>>(A, B, C, locks, m, n, nb, k);
}
"""
CASES = [
    ("n", "m", "1", ""),
    ("n", "m", "2", "CUT213"),  # the semaphore's own waits hold threads back, and end no run of the kernel
    ("n", "n", "1", "CUT604"),  # `n` is an extent of what is stored by single elements alone
    ("k", "m", "1", "CUT223"),
    ("m", "m", "1", "CUT223"),
]


@pytest.mark.parametrize(("stride", "limit", "wait", "code"), CASES)
def test_blocks_that_take_turns(tmp_path: Path, stride: str, limit: str, wait: str, code: str) -> None:
    (tmp_path / "k.cu").write_text(
        KERNEL.replace("STRIDE", stride)
        .replace("ROWS", "nb" if limit == "n" else "n")
        .replace("LIMIT", limit)
        .replace("WAIT", wait)
    )
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    assert not report.failures
    found = {f.code for f in report.findings if f.severity == "error" or f.code == "CUT213"}
    assert found == ({code} if code else set())
