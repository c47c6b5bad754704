#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>

using namespace cute;

// C = A B^T; A is M x K and B is N x K, both row-major half_t, C is M x N row-major float; whole tiles.
struct Config {
  static constexpr int kM = 128, kN = 128, kK = 64, kStages = 4;
  using T = half_t;
  using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
  using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
  using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
  static constexpr int kThreads = size(Mma{});
  static constexpr int kBytes = sizeof(T) * (kM * kK + kN * kK);
};

template <class Cfg>
struct Storage {
  alignas(1024) typename Cfg::T a[cosize_v<typename Cfg::SmemA>];
  alignas(1024) typename Cfg::T b[cosize_v<typename Cfg::SmemB>];
  uint64_t full[Cfg::kStages];
  uint64_t empty[Cfg::kStages];
};

template <class Cfg, class TmaA, class TmaB>
__global__ void __launch_bounds__(Cfg::kThreads) gemm_kernel(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
                                                            float* C, int M, int N, int K, int ldc) {
  extern __shared__ char raw[];
  auto& s = *reinterpret_cast<Storage<Cfg>*>(raw);
  Tensor mA = tma_a.get_tma_tensor(make_shape(M, K));
  Tensor mB = tma_b.get_tma_tensor(make_shape(N, K));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(ldc, _1{}));
  Tensor gA = local_tile(mA, Shape<Int<Cfg::kM>, Int<Cfg::kK>>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<Int<Cfg::kN>, Int<Cfg::kK>>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(mC, Shape<Int<Cfg::kM>, Int<Cfg::kN>>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(s.a), typename Cfg::SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b), typename Cfg::SmemB{});
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));

  using Full = cutlass::arch::ClusterTransactionBarrier;
  using Empty = cutlass::arch::ClusterBarrier;
  int k_tiles = size<1>(tAgA);
  int k_next = 0;
  int warp = threadIdx.x / 32;
  bool elected = cute::elect_one_sync();
  if (warp == 0 && elected) {
    for (int i = 0; i < Cfg::kStages; ++i) {
      Full::init(&s.full[i], 1);
      Empty::init(&s.empty[i], Cfg::kThreads);
    }
  }
  cluster_sync();
  CUTE_UNROLL
  for (int i = 0; i < Cfg::kStages; ++i) {
    if (warp == 0 && elected) {
      Full::arrive_and_expect_tx(&s.full[i], Cfg::kBytes);
      copy(tma_a.with(s.full[i]), tAgA(_, k_next), tAsA(_, i));
      copy(tma_b.with(s.full[i]), tBgB(_, k_next), tBsB(_, i));
    }
    ++k_next;
  }

  typename Cfg::Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr.partition_A(sA);
  Tensor tCsB = thr.partition_B(sB);
  Tensor tCgC = thr.partition_C(gC);
  Tensor tCrA = thr.make_fragment_A(tCsA);
  Tensor tCrB = thr.make_fragment_B(tCsB);
  Tensor acc = thr.make_fragment_C(tCgC);
  clear(acc);

  int read = 0, phase = 0;
  for (int k = 0; k < k_tiles; ++k) {
    Full::wait(&s.full[read], phase);
    warpgroup_arrive();
    gemm(mma, tCrA(_, _, _, read), tCrB(_, _, _, read), acc);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    Empty::arrive(&s.empty[read]);
    if (warp == 0 && elected && k_next < k_tiles) {
      Empty::wait(&s.empty[read], phase);
      Full::arrive_and_expect_tx(&s.full[read], Cfg::kBytes);
      copy(tma_a.with(s.full[read]), tAgA(_, k_next), tAsA(_, read));
      copy(tma_b.with(s.full[read]), tBgB(_, k_next), tBsB(_, read));
      ++k_next;
    }
    if (++read == Cfg::kStages) {
      read = 0;
      phase ^= 1;
    }
  }
  axpby(1.0f, acc, 0.0f, tCgC);
}

void gemm_host(half_t const* A, half_t const* B, float* C, int M, int N, int K, int lda, int ldb, int ldc) {
  using Cfg = Config;
  assert(M % Cfg::kM == 0 && N % Cfg::kN == 0 && K % Cfg::kK == 0 && lda % 8 == 0 && ldb % 8 == 0 && ldc % 2 == 0);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(lda, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(ldb, _1{}));
  auto tma_a = make_tma_atom(SM90_TMA_LOAD{}, mA, Cfg::SmemA{}(_, _, 0), Shape<Int<Cfg::kM>, Int<Cfg::kK>>{});
  auto tma_b = make_tma_atom(SM90_TMA_LOAD{}, mB, Cfg::SmemB{}(_, _, 0), Shape<Int<Cfg::kN>, Int<Cfg::kK>>{});
  auto kernel = gemm_kernel<Cfg, decltype(tma_a), decltype(tma_b)>;
  int bytes = sizeof(Storage<Cfg>);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  dim3 grid(M / Cfg::kM, N / Cfg::kN);
  kernel<<<grid, Cfg::kThreads, bytes>>>(tma_a, tma_b, C, M, N, K, ldc);
}
