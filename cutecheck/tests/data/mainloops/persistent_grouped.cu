// grouped GEMM of Hopper: rows of each expert are read from memory, one CTA walks tiles of all of them
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
constexpr int kStages = 3, BM = 64, BN = 128, BK = 64;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<Int<BM>, Int<BK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<Int<BN>, Int<BK>, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(8) Full full[kStages];
  alignas(8) Empty empty[kStages];
};
struct Walk {
  int const* rows;
  int experts, tiles_n;
  int expert = 0, before = 0, next;
  CUTE_DEVICE Walk(int const* r, int e, int n) : rows(r), experts(e), tiles_n(n), next(int(blockIdx.x)) {}
  CUTE_DEVICE bool fetch(int& e, int& m, int& n) {
    while (expert < experts) {
      int const tiles = ((rows[expert] + BM - 1) / BM) * tiles_n;
      if (next < before + tiles) {
        int const at = next - before;
        e = expert; m = at / tiles_n; n = at % tiles_n;
        next += gridDim.x;
        return true;
      }
      before += tiles;
      ++expert;
    }
    return false;
  }
};
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(256) grouped(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
    int const* __restrict__ rows, float* out, int experts, int total, int N, int K) {
  extern __shared__ __align__(1024) char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b), SmemB{});
  int const k_tiles = (K + BK - 1) / BK;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      s.full[i].init(1);
      s.empty[i].init(128);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  Walk walk(rows, experts, N / BN);
  int e, m, n;
  if (threadIdx.x < 128) {
    if (threadIdx.x == 0) {
      int it = 0;
      while (walk.fetch(e, m, n)) {
        Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(total, K)), Shape<Int<BM>, Int<BK>>{}, make_coord(m, _));
        Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(N, K, experts)), Shape<Int<BN>, Int<BK>>{}, make_coord(n, _, e));
        auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
        auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
        for (int k = 0; k < k_tiles; ++k, ++it) {
          int const stage = it % kStages;
          s.empty[stage].wait(((it / kStages) & 1) ^ 1);
          s.full[stage].arrive_and_expect_tx((BM + BN) * BK * sizeof(half_t));
          copy(tma_a.with(reinterpret_cast<uint64_t&>(s.full[stage])), tAgA(_, k), tAsA(_, stage));
          copy(tma_b.with(reinterpret_cast<uint64_t&>(s.full[stage])), tBgB(_, k), tBsB(_, stage));
        }
      }
    }
  } else {
    Mma mma;
    auto thr = mma.get_slice(threadIdx.x - 128);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
    int it = 0;
    while (walk.fetch(e, m, n)) {
      Tensor acc = partition_fragment_C(mma, Shape<Int<BM>, Int<BN>>{});
      mma.accumulate_ = GMMA::ScaleOut::Zero;
      for (int k = 0; k < k_tiles; ++k, ++it) {
        int const stage = it % kStages;
        s.full[stage].wait((it / kStages) & 1);
        warpgroup_arrive();
        for (int kb = 0; kb < size<2>(rA); ++kb) {
          gemm(mma, rA(_, _, kb, stage), rB(_, _, kb, stage), acc);
          mma.accumulate_ = GMMA::ScaleOut::One;
        }
        warpgroup_commit_batch();
        warpgroup_wait<0>();
        s.empty[stage].arrive();
      }
      Tensor mC = make_tensor(make_gmem_ptr(out), make_shape(total, N), make_stride(N, _1{}));
      Tensor gC = local_tile(mC, Shape<Int<BM>, Int<BN>>{}, make_coord(m, n));
      copy(acc, thr.partition_C(gC));
    }
  }
}
void run(half_t const* A, half_t const* B, int const* rows, float* C, int experts, int total, int N, int K, int sms) {
  auto a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), make_shape(total, K), make_stride(K, _1{})), SmemA{}(_, _, 0));
  auto b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), make_shape(N, K, experts), make_stride(K, _1{}, N * K)), SmemB{}(_, _, 0));
  auto kernel = grouped<decltype(a), decltype(b)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<sms, 256, sizeof(Storage)>>>(a, b, rows, C, experts, total, N, K);
}
