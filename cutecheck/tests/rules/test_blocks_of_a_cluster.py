"""A kernel whose clusters of two blocks take two tiles of rows: each block its own, by its rank in the cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
constexpr int kStages = 3;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, Int<kStages>>{}));
using SmemC = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _128>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(1024) half_t c[cosize_v<SmemC>];
  uint64_t full[kStages], empty[kStages];
};
template <class TmaA, class TmaB, class TmaC>
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(256) paired(
    CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b, CUTE_GRID_CONSTANT TmaC const tma_c,
    int m, int n, int k) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b), SmemB{});
  Tensor sC = make_tensor(make_smem_ptr(s.c), SmemC{});
  int const group = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      Full::init(&s.full[i], 1);
      Empty::init(&s.empty[i], 1);
    }
    cutlass::arch::fence_barrier_init();
  }
  cluster_sync();
  int const pairs = m / 128, at = blockIdx.x / 2, rank = int(block_rank_in_cluster());
  int const first = at % pairs * 2, column = at / pairs;
  int stage = 0, phase = 0;
  if (group == 0) {
    if (thread == 0) {
      Tensor mA = tma_a.get_tma_tensor(make_shape(m, k));
      Tensor mB = tma_b.get_tma_tensor(make_shape(n, k));
      Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(first + rank, _));
      Tensor gB = local_tile(mB, Shape<_128, _64>{}, make_coord(column, _));
      auto slice_a = tma_a.get_slice(0);
      auto slice_b = tma_b.get_slice(0);
      Tensor fromA = slice_a.partition_S(gA);
      Tensor fromB = slice_b.partition_S(gB);
      Tensor toA = slice_a.partition_D(sA);
      Tensor toB = slice_b.partition_D(sB);
      for (int i = 0; i < k / 64; ++i) {
        Empty::wait(&s.empty[stage], phase ^ 1);
        Full::arrive_and_expect_tx(&s.full[stage], 64 * 64 * 2 + 128 * 64 * 2);
        copy(tma_a.with(s.full[stage]), fromA(_, _, _, i), toA(_, _, _, stage));
        copy(tma_b.with(s.full[stage]), fromB(_, _, _, i), toB(_, _, _, stage));
        if (++stage == kStages) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    Mma mma;
    auto thr = mma.get_slice(thread);
    Tensor acc = partition_fragment_C(mma, Shape<_64, _128>{});
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
    clear(acc);
    for (int i = 0; i < k / 64; ++i) {
      Full::wait(&s.full[stage], phase);
      warpgroup_arrive();
      gemm(mma, rA(_, _, _, stage), rB(_, _, _, stage), acc);
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      if (thread == 0) { Empty::arrive(&s.empty[stage]); }
      if (++stage == kStages) { stage = 0; phase ^= 1; }
    }
    Tensor out = make_tensor_like<half_t>(acc);
    copy(acc, out);
    auto r2s = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
    auto mine = r2s.get_slice(thread);
    copy(r2s, mine.retile_S(out), mine.partition_D(sC));
    tma_store_fence();
    cutlass::arch::NamedBarrier::sync(128, 1);
    if (thread == 0) {
      Tensor mC = tma_c.get_tma_tensor(make_shape(m, n));
      Tensor gC = local_tile(mC, Shape<_64, _128>{}, make_coord(first + rank, column));
      auto slice = tma_c.get_slice(0);
      copy(tma_c, slice.partition_S(sC), slice.partition_D(gC));
      tma_store_arrive();
      tma_store_wait<0>();
    }
  }
}
void run(half_t* a, half_t* b, half_t* c, int m, int n, int k) {
  if (m % 128 || n % 128 || k % 64) return;
  auto gA = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  auto gB = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  auto gC = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, _1{}));
  auto tma_a = make_tma_copy(SM90_TMA_LOAD{}, gA, SmemA{}(_, _, _0{}));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, gB, SmemB{}(_, _, _0{}));
  auto tma_c = make_tma_copy(SM90_TMA_STORE{}, gC, SmemC{});
  auto kernel = paired<decltype(tma_a), decltype(tma_b), decltype(tma_c)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<(m / 64) * (n / 128), 256, sizeof(Storage)>>>(tma_a, tma_b, tma_c, m, n, k);
}
"""
LOADED, STORED = "make_coord(first + rank, _)", "make_coord(first + rank, column)"


@pytest.mark.parametrize(
    ("changes", "cluster", "said"),
    [
        ((), "2, 1, 1", ""),
        (((LOADED, "make_coord(first, _)"),), "2, 1, 1", "in the second block of the cluster `slice.partition_D(gC)`"),
        # no loop is around it, so that all tiles that are stored are known without a run
        (((LOADED, "make_coord(first, _)"), (STORED, "make_coord(first, column)")), "2, 1, 1", "nothing in the kernel"),
        # by what is left of its index
        (((LOADED, "make_coord(first + blockIdx.x % 2, _)"), (STORED, "make_coord(first + blockIdx.x % 2, column)")),
         "2, 1, 1", ""),
    ],
    ids=["right", "loaded by one", "both the same", "by their index"],
)  # fmt: skip
def test_rank_in_the_cluster(changes: tuple[tuple[str, str], ...], cluster: str, said: str, tmp_path: Path) -> None:
    text = KERNEL.replace("CLUSTER", cluster)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (tmp_path / "a.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, ignore=("CUT1", "CUT4")))
    assert not report.failures
    assert {f.code for f in report.findings} == ({"CUT219"} if said else set()), report.findings
    assert all(said in f.message for f in report.findings)


PARTS_OF_K = (
    ("pairs = m / 128", "pairs = m / 64"),
    ("at % pairs * 2", "at % pairs"),
    (LOADED, "make_coord(first, _)"),
    (STORED, "make_coord(first, column)"),
    ("fromA(_, _, _, i)", "fromA(_, _, _, i + rank * (k / 128))"),
    ("fromB(_, _, _, i)", "fromB(_, _, _, i + rank * (k / 128))"),
    ("i < k / 64", "i < k / 128"),
    ("(m / 64) * (n / 128)", "2 * (m / 64) * (n / 128)"),
    ("k % 64)", "k % 128)"),
)


@pytest.mark.parametrize(("store", "said"), [("SM90_TMA_REDUCE_ADD", 0), ("SM90_TMA_STORE", 1)])
def test_blocks_that_each_have_a_part_of_k(store: str, said: int, tmp_path: Path) -> None:
    """What both blocks of a cluster add to one tile is right; where they store it one of the sums is lost."""
    text = KERNEL.replace("CLUSTER", "2, 1, 1").replace("SM90_TMA_STORE", store)
    for old, new in PARTS_OF_K:
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "a.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, ignore=("CUT1", "CUT4")))
    assert not report.failures and not report.errors
    assert ["next block of its cluster" in f.message for f in report.findings] == [True] * said
