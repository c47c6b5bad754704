"""Scales that TMA brings beside the operands of each step along K, and threads read by element: one mistake each."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Element = cutlass::float_e4m3_t;
constexpr int kStages = 3;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Element>{}, Shape<_64, _128, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Element>{}, Shape<_128, _128, Int<kStages>>{}));
using SmemS = decltype(make_layout(Shape<_64, _1, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x32_F32E4M3E4M3_SS_TN<>{}));
struct Storage {
  alignas(1024) Element a[cosize_v<SmemA>];
  alignas(1024) Element b[cosize_v<SmemB>];
  alignas(128) float s[cosize_v<SmemS>];
  cutlass::arch::ClusterTransactionBarrier full[kStages];
  cutlass::arch::ClusterBarrier empty[kStages];
};
template <class TmaA, class TmaB, class TmaS>
__global__ void __launch_bounds__(256) scaled(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
                                              CUTE_GRID_CONSTANT TmaS const tma_s, float* out, int m, int n, int k,
                                              int l) {
  extern __shared__ __align__(1024) char raw[];
  Storage& st = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(st.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(st.b), SmemB{});
  Tensor sS = make_tensor(make_smem_ptr(st.s), SmemS{});
  int const group = threadIdx.x / 128, thread = threadIdx.x % 128, steps = k / 128;
  int const row = blockIdx.x, column = blockIdx.y;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) { st.full[i].init(1); st.empty[i].init(4); }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  int stage = 0, phase = 0;
  if (group == 0) {
    if (thread == 0) {
      auto slice_a = tma_a.get_slice(0); auto slice_b = tma_b.get_slice(0); auto slice_s = tma_s.get_slice(0);
      for (int at = 0; at < l; ++at) {
        Tensor mA = tma_a.get_tma_tensor(make_shape(m, k, l))(_, _, at);
        Tensor mB = tma_b.get_tma_tensor(make_shape(n, k, l))(_, _, at);
        Tensor mS = tma_s.get_tma_tensor(make_shape(m, k / 128, l))(_, _, at);
        Tensor gA = local_tile(mA, Shape<_64, _128>{}, make_coord(row, _));
        Tensor gB = local_tile(mB, Shape<_128, _128>{}, make_coord(column, _));
        Tensor gS = local_tile(mS, Shape<_64, _1>{}, make_coord(row, _));
        Tensor fromA = slice_a.partition_S(gA);
        Tensor fromB = slice_b.partition_S(gB);
        Tensor fromS = slice_s.partition_S(gS);
        Tensor toA = slice_a.partition_D(sA);
        Tensor toB = slice_b.partition_D(sB);
        Tensor toS = slice_s.partition_D(sS);
        for (int i = 0; i < steps; ++i) {
          st.empty[stage].wait(phase ^ 1);
          auto& full = st.full[stage];
          full.arrive_and_expect_tx(64 * 128 + 128 * 128 + 64 * 4);
          copy(tma_a.with(reinterpret_cast<uint64_t&>(full)), fromA(_, _, _, i), toA(_, _, _, stage));
          copy(tma_b.with(reinterpret_cast<uint64_t&>(full)), fromB(_, _, _, i), toB(_, _, _, stage));
          copy(tma_s.with(reinterpret_cast<uint64_t&>(full)), fromS(_, _, _, i), toS(_, _, _, stage));
          if (++stage == kStages) { stage = 0; phase ^= 1; }
        }
      }
    }
  } else {
    Mma mma;
    auto thr = mma.get_slice(thread);
    Tensor part = partition_fragment_C(mma, Shape<_64, _128>{});
    Tensor sum = make_fragment_like(part);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
    Tensor where = thr.partition_C(make_identity_tensor(Shape<_64, _128>{}));
    clear(sum);
    for (int at = 0; at < l; ++at)
    for (int i = 0; i < steps; ++i) {
      st.full[stage].wait(phase);
      float const scale = sS(get<0>(where(0)), 0, stage);
      float const below = sS(get<0>(where(2)), 0, stage);
      mma.accumulate_ = GMMA::ScaleOut::Zero;
      warpgroup_arrive();
      for (int kk = 0; kk < size<2>(rA); ++kk) {
        gemm(mma, rA(_, _, kk, stage), rB(_, _, kk, stage), part);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      __syncwarp();
      if (thread % 32 == 0) { st.empty[stage].arrive(); }
      for (int j = 0; j < size(sum); ++j) { sum(j) += part(j) * (j % 4 < 2 ? scale : below); }
      if (++stage == kStages) { stage = 0; phase ^= 1; }
    }
    Tensor mC = make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{}));
    copy(sum, thr.partition_C(local_tile(mC, Shape<_64, _128>{}, make_coord(row, column))));
  }
}
void run(Element* a, Element* b, float* s, float* c, int m, int n, int k, int l) {
  if (m % 64 || n % 128 || k % 128) return;
  auto gA = make_tensor(make_gmem_ptr(a), make_shape(m, k, l), make_stride(k, _1{}, m * k));
  auto gB = make_tensor(make_gmem_ptr(b), make_shape(n, k, l), make_stride(k, _1{}, n * k));
  auto gS = make_tensor(make_gmem_ptr(s), make_shape(m, k / 128, l), make_stride(_1{}, m, m * (k / 128)));
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{}(_, _, _0{}));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, gB, SmemB{}(_, _, _0{}));
  auto tma_s = make_tma_copy(SM90_TMA_LOAD{}, gS, SmemS{}(_, _, _0{}));
  auto kernel = scaled<decltype(tma_a), decltype(tma_b), decltype(tma_s)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<dim3(m / 64, n / 128), 256, sizeof(Storage)>>>(tma_a, tma_b, tma_s, c, m, n, k, l);
}
"""
READ = """      float const scale = sS(get<0>(where(0)), 0, stage);
      float const below = sS(get<0>(where(2)), 0, stage);
"""
NEXT = "reinterpret_cast<uint64_t&>(st.full[(stage + 1) % kStages])"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ((), ""),
        (((f"      st.full[stage].wait(phase);\n{READ}", f"{READ}      st.full[stage].wait(phase);\n"),), "CUT213"),
        (((READ, ""), ("stage].arrive(); }\n", f"stage].arrive(); }}\n{READ}")), "CUT212"),
        ((("tma_s.with(reinterpret_cast<uint64_t&>(full))", f"tma_s.with({NEXT})"),), "CUT213"),
        ((("tma_b.with(reinterpret_cast<uint64_t&>(full))", f"tma_b.with({NEXT})"),), "CUT213"),
        ((("tma_b.with(reinterpret_cast<uint64_t&>(full))", "tma_b.with(reinterpret_cast<uint64_t&>(st.full[0]))"),),
         "CUT217"),
        ((("fromS(_, _, _, i)", "fromS(_, _, _, stage)"),), "CUT218"),
        ((("fromS(_, _, _, i)", "fromS(_, _, _, 0)"),), "CUT218"),
        ((("k / 128, l))(_, _, at)", "k / 128, l))(_, _, 0)"),), "CUT219"),
        ((("Shape<_64, _1>{}, make_coord(row, _)", "Shape<_64, _1>{}, make_coord(row + 1, _)"),), "CUT219"),
    ],
    ids=[
        "right", "read too early", "read too late", "next barrier", "next barrier of B", "first barrier", "the stage's",
        "the first one's", "one matrix's", "other rows",
    ],
)  # fmt: skip
def test_mistake(changes: tuple[tuple[str, str], ...], code: str, tmp_path: Path) -> None:
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "a.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, ignore=("CUT1", "CUT4")))
    assert not report.failures
    assert {f.code for f in report.findings} == ({code} if code else set())
