// persistent GEMM of Blackwell: TMA warp, MMA warp, epilogue warps; two accumulators in tensor memory
#include <cute/tensor.hpp>
#include <cute/arch/tmem_allocator_sm100.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using TransBarrier = cutlass::arch::ClusterTransactionBarrier;
using Barrier = cutlass::arch::ClusterBarrier;
constexpr int kStages = 4, kAcc = 2, BM = 128, BN = 128, BK = 64;
using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, BM, BN, UMMA::Major::K, UMMA::Major::K>{}));
using ShapeA = decltype(append(partition_shape_A(Mma{}, Shape<Int<BM>, Int<BK>>{}), Int<kStages>{}));
using ShapeB = decltype(append(partition_shape_B(Mma{}, Shape<Int<BN>, Int<BK>>{}), Int<kStages>{}));
using SmemA = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, ShapeA{}));
using SmemB = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, ShapeB{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  TransBarrier full[kStages];
  Barrier empty[kStages];
  Barrier acc_full[kAcc];
  Barrier acc_empty[kAcc];
  alignas(16) uint32_t tmem;
};
__forceinline__ __device__ void umma_commit(Barrier& bar) {
  cutlass::arch::umma_arrive(reinterpret_cast<uint64_t*>(&bar));
}
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(256) gemm100(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
    float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b), SmemB{});
  int const warp = cutlass::canonical_warp_idx_sync();
  bool const elected = cute::elect_one_sync();
  int const tiles_m = M / BM, num_tiles = tiles_m * (N / BN), k_tiles = K / BK;
  if (warp == 0 && elected) {
    for (int i = 0; i < kStages; ++i) {
      s.full[i].init(1);
      s.empty[i].init(1);
    }
    for (int i = 0; i < kAcc; ++i) {
      s.acc_full[i].init(1);
      s.acc_empty[i].init(128);
    }
    cutlass::arch::fence_barrier_init();
  }
  using Allocator = TMEM::Allocator1Sm;
  Allocator allocator{};
  if (warp == 2) {
    allocator.allocate(kAcc * BN, &s.tmem);
  }
  __syncthreads();
  Mma mma;
  auto cta = mma.get_slice(_0{});
  Tensor tD = partition_fragment_C(mma, Shape<Int<BM>, Int<BN>>{});
  uint32_t const tmem_base = s.tmem;
  if (warp == 0) {
    if (elected) {
      int it = 0;
      for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
        Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(M, K)), Shape<Int<BM>, Int<BK>>{}, make_coord(tile % tiles_m, _));
        Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(N, K)), Shape<Int<BN>, Int<BK>>{}, make_coord(tile / tiles_m, _));
        Tensor tCgA = cta.partition_A(gA);
        Tensor tCgB = cta.partition_B(gB);
        auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 3>(sA), group_modes<0, 3>(tCgA));
        auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 3>(sB), group_modes<0, 3>(tCgB));
        for (int k = 0; k < k_tiles; ++k, ++it) {
          int const stage = it % kStages;
          s.empty[stage].wait(((it / kStages) & 1) ^ 1);
          s.full[stage].arrive_and_expect_tx((BM + BN) * BK * sizeof(half_t));
          copy(tma_a.with(reinterpret_cast<uint64_t&>(s.full[stage])), tAgA(_, k), tAsA(_, stage));
          copy(tma_b.with(reinterpret_cast<uint64_t&>(s.full[stage])), tBgB(_, k), tBsB(_, stage));
        }
      }
    }
  } else if (warp == 1) {
    if (elected) {
      Tensor rA = cta.make_fragment_A(sA);
      Tensor rB = cta.make_fragment_B(sB);
      int it = 0, acc = 0;
      for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x, ++acc) {
        int const slot = acc % kAcc;
        s.acc_empty[slot].wait(((acc / kAcc) & 1) ^ 1);
        tD.data() = tmem_base + slot * BN;
        mma.accumulate_ = UMMA::ScaleOut::Zero;
        for (int k = 0; k < k_tiles; ++k, ++it) {
          int const stage = it % kStages;
          s.full[stage].wait((it / kStages) & 1);
          for (int kb = 0; kb < size<2>(rA); ++kb) {
            gemm(mma, rA(_, _, kb, stage), rB(_, _, kb, stage), tD);
            mma.accumulate_ = UMMA::ScaleOut::One;
          }
          umma_commit(s.empty[stage]);
        }
        umma_commit(s.acc_full[slot]);
      }
    }
  } else if (warp >= 4) {
    auto t2r = make_tmem_copy(SM100_TMEM_LOAD_32dp32b32x{}, tD);
    auto thr = t2r.get_slice(threadIdx.x - 128);
    int acc = 0;
    for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x, ++acc) {
      int const slot = acc % kAcc;
      s.acc_full[slot].wait((acc / kAcc) & 1);
      tD.data() = tmem_base + slot * BN;
      Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
      Tensor gC = local_tile(mC, Shape<Int<BM>, Int<BN>>{}, make_coord(tile % tiles_m, tile / tiles_m));
      Tensor tDgC = thr.partition_D(cta.partition_C(gC));
      Tensor rC = make_tensor<float>(shape(tDgC));
      copy(t2r, thr.partition_S(tD), rC);
      cutlass::arch::fence_view_async_tmem_load();
      s.acc_empty[slot].arrive();
      copy(rC, tDgC);
    }
  }
  __syncthreads();
  if (warp == 2) {
    allocator.release_allocation_lock();
    allocator.free(tmem_base, kAcc * BN);
  }
}
void run(half_t const* A, half_t const* B, float* C, int M, int N, int K, int sms) {
  auto a = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{})), SmemA{}(_, _, _, 0), Shape<Int<BM>, Int<BK>>{});
  auto b = make_tma_atom(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{})), SmemB{}(_, _, _, 0), Shape<Int<BN>, Int<BK>>{});
  auto kernel = gemm100<decltype(a), decltype(b)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<sms, 256, sizeof(Storage)>>>(a, b, C, M, N, K);
}
