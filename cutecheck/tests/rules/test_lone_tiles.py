"""A product of which one operand stays at a tile while the other goes on, where no run of the kernel tells (CUT218)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Mma = decltype(make_tiled_mma(
    SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UMMA::Major::K, UMMA::Major::K>{}));
using Part = decltype(partition_shape_A(Mma{}, Shape<_128, _64>{}));
using Smem = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, Part{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<Smem>];
  alignas(1024) half_t b[cosize_v<Smem>];
  uint64_t done;
  uint32_t base;
};
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* D, int m, int n, int k) {
  extern __shared__ alignas(1024) char smem[];
  Storage& s = *reinterpret_cast<Storage*>(smem);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
  Tensor mD = make_tensor(make_gmem_ptr(D), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_128, _64>{}, make_coord(blockIdx.y, _));
  Tensor gD = local_tile(mD, Shape<_128, _128>{}, make_coord(blockIdx.x, blockIdx.y));
  Mma mma;
  auto cta = mma.get_slice(0);
  Tensor tA = cta.partition_A(gA), tB = cta.partition_B(gB), tD = cta.partition_C(gD);
  Tensor sA = make_tensor(make_smem_ptr(s.a), Smem{}), sB = make_tensor(make_smem_ptr(s.b), Smem{});
  Tensor rA = cta.make_fragment_A(sA), rB = cta.make_fragment_B(sB), acc = cta.make_fragment_C(tD);
  TMEM::Allocator1Sm allocator{};
  bool first = threadIdx.x / 32 == 0;
  if (first) allocator.allocate(128, &s.base);
  if (first && elect_one_sync()) initialize_barrier(s.done, 1);
  __syncthreads();
  acc.data() = s.base;
  mma.accumulate_ = UMMA::ScaleOut::Zero;
  int phase = 0;
  for (int i = 0; i < size<3>(tA); ++i) {
    cooperative_copy<128>(threadIdx.x, tA(_, _, _, i), sA);
    COPY_B
    __syncthreads();
    if (first) {
      for (int j = 0; j < size<2>(rA); ++j) {
        gemm(mma, rA(_, _, j), rB(_, _, SLICE), acc);
        mma.accumulate_ = UMMA::ScaleOut::One;
      }
      cutlass::arch::umma_arrive(&s.done);
    }
    wait_barrier(s.done, phase);
    phase ^= 1;
    AT_END
  }
  auto read = make_tmem_copy(SM100_TMEM_LOAD_32dp32b1x{}, acc);
  auto thr = read.get_slice(threadIdx.x);
  Tensor out = thr.partition_D(tD);
  Tensor r = make_tensor<float>(shape(out));
  copy(read, thr.partition_S(acc), r);
  copy(r, out);
  __syncthreads();
  if (first) allocator.free(s.base, 128);
}
void run(half_t const* A, half_t const* B, float* D, int m, int n, int k) {
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  product<<<dim3(m / 128, n / 128), 128, sizeof(Storage)>>>(A, B, D, m, n, k);
}
"""
COPY = "cooperative_copy<128>(threadIdx.x, tB(_, _, _, TILE), sB);"
STORE = """
    auto now = make_tmem_copy(SM100_TMEM_LOAD_32dp32b1x{}, acc);
    auto mine = now.get_slice(threadIdx.x);
    Tensor rows = make_tensor<float>(shape(mine.partition_D(tD)));
    copy(now, mine.partition_S(acc), rows);
    copy(rows, mine.partition_D(tD));
    mma.accumulate_ = UMMA::ScaleOut::Zero;
"""
CASES = {
    "both go on": (COPY.replace("TILE", "i"), "j", "", 0),
    "tile 0 of B": (COPY.replace("TILE", "0"), "j", "", 1),
    "slice 0 of B": (COPY.replace("TILE", "i"), "0", "", 1),
    "in the other direction": (COPY.replace("TILE", "size<3>(tA) - 1 - i"), "j", "", 0),
    "once": ("if (i == 0) " + COPY.replace("TILE", "0"), "j", "", 0),
    "another sum in each pass": (COPY.replace("TILE", "0"), "j", STORE, 0),
}


@pytest.mark.parametrize("name", CASES)
def test_operands(tmp_path: Path, name: str) -> None:
    copy, piece, end, wrong = CASES[name]
    text = KERNEL.replace("COPY_B", copy).replace("SLICE", piece).replace("AT_END", end)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_100a",), select=("CUT218",)))
    assert not report.failures
    found = [f.message for f in report.findings if f.code == "CUT218"]
    assert len(found) == wrong, found


@pytest.mark.parametrize(("count", "wrong"), [("1", 0), ("2", 1), ("128", 1)])
@pytest.mark.parametrize("member", [False, True])
def test_commits_that_are_counted(tmp_path: Path, count: str, wrong: int, member: bool) -> None:
    """Said once, though a run of the threads shows it, too."""
    text = KERNEL.replace("COPY_B", COPY.replace("TILE", "i")).replace("SLICE", "j").replace("AT_END", "")
    text = text.replace("s.done, 1)", f"s.done, {count})")
    if not member:
        text = text.replace("  uint64_t done;\n", "").replace("s.done", "done")
        text = text.replace("  Storage& s =", "  __shared__ alignas(8) uint64_t done;\n  Storage& s =")
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_100a",), select=("CUT217",)))
    assert not report.failures
    assert len([f for f in report.findings if f.code == "CUT217"]) == wrong
