// persistent GEMM of Hopper with barriers of its own: one producer warp, two consumer warpgroups
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
constexpr int kStages = 4, BM = 128, BN = 128, BK = 64;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<Int<BM>, Int<BK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<Int<BN>, Int<BK>, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2, _1, _1>>{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(8) uint64_t full[kStages];
  alignas(8) uint64_t empty[kStages];
};
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(384) gemm_persistent(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b,
    float* C, int M, int N, int K) {
  extern __shared__ __align__(1024) char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.b), SmemB{});
  int const tiles_m = M / BM, tiles_n = N / BN, num_tiles = tiles_m * tiles_n;
  int const k_tiles = K / BK;
  int const wg = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      Full::init(&s.full[i], 1);
      Empty::init(&s.empty[i], 2);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (wg == 0) {
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (threadIdx.x == 0) {
      Tensor mA = tma_a.get_tma_tensor(make_shape(M, K));
      Tensor mB = tma_b.get_tma_tensor(make_shape(N, K));
      int stage = 0, phase = 1;
      for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
        int const tm = tile % tiles_m, tn = tile / tiles_m;
        Tensor gA = local_tile(mA, Shape<Int<BM>, Int<BK>>{}, make_coord(tm, _));
        Tensor gB = local_tile(mB, Shape<Int<BN>, Int<BK>>{}, make_coord(tn, _));
        auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
        auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
        for (int k = 0; k < k_tiles; ++k) {
          Empty::wait(&s.empty[stage], phase);
          Full::arrive_and_expect_tx(&s.full[stage], (BM + BN) * BK * sizeof(half_t));
          copy(tma_a.with(s.full[stage]), tAgA(_, k), tAsA(_, stage));
          copy(tma_b.with(s.full[stage]), tBgB(_, k), tBsB(_, stage));
          if (++stage == kStages) { stage = 0; phase ^= 1; }
        }
      }
    }
  } else {
    cutlass::arch::warpgroup_reg_alloc<232>();
    Mma mma;
    auto thr = mma.get_slice(threadIdx.x - 128);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
    int stage = 0, phase = 0;
    for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
      int const tm = tile % tiles_m, tn = tile / tiles_m;
      Tensor acc = partition_fragment_C(mma, Shape<Int<BM>, Int<BN>>{});
      clear(acc);
      for (int k = 0; k < k_tiles; ++k) {
        Full::wait(&s.full[stage], phase);
        warpgroup_fence_operand(acc);
        warpgroup_arrive();
        gemm(mma, rA(_, _, _, stage), rB(_, _, _, stage), acc);
        warpgroup_commit_batch();
        warpgroup_wait<0>();
        if (threadIdx.x % 128 == 0) Empty::arrive(&s.empty[stage]);
        if (++stage == kStages) { stage = 0; phase ^= 1; }
      }
      Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
      Tensor gC = local_tile(mC, Shape<Int<BM>, Int<BN>>{}, make_coord(tm, tn));
      copy(acc, thr.partition_C(gC));
    }
  }
}
void run(half_t const* A, half_t const* B, float* C, int M, int N, int K, int sms, cudaStream_t st) {
  auto a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{})), SmemA{}(_, _, 0));
  auto b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{})), SmemB{}(_, _, 0));
  auto kernel = gemm_persistent<decltype(a), decltype(b)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<sms, 384, sizeof(Storage), st>>>(a, b, C, M, N, K);
}
