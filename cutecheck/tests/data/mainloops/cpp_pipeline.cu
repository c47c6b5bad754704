#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/pipeline/sm90_pipeline.hpp>
using namespace cute;

constexpr int kStages = 4;
using BM = _128;
using BN = _128;
using BK = _64;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<BM, BK, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<BN, BK, Int<kStages>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2, _1, _1>>{}));
using Pipe = cutlass::PipelineTmaAsync<kStages>;

struct Shared {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  typename Pipe::SharedStorage pipe;
};

template <class TmaA, class TmaB>
__global__ void __launch_bounds__(384, 1)
ws_gemm(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b, half_t* C, int M, int N, int K) {
  extern __shared__ __align__(1024) char raw[];
  Shared& sh = *reinterpret_cast<Shared*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(sh.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(sh.b), SmemB{});
  Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(M, K)), Shape<BM, BK>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(N, K)), Shape<BN, BK>{}, make_coord(blockIdx.y, _));
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));

  int warp_group = cutlass::canonical_warp_group_idx();
  int warp = cutlass::canonical_warp_idx_sync();
  int lane = cute::elect_one_sync();

  typename Pipe::Params params;
  params.transaction_bytes = (size(BM{}) * size(BK{}) + size(BN{}) * size(BK{})) * sizeof(half_t);
  params.role = warp_group == 0 ? Pipe::ThreadCategory::Producer : Pipe::ThreadCategory::Consumer;
  params.is_leader = threadIdx.x == 0;
  params.num_consumers = 256;
  Pipe pipe(sh.pipe, params, Shape<_1, _1, _1>{});
  __syncthreads();

  int k_tiles = K / size(BK{});
  if (warp_group == 0) {
    if (warp == 0 && lane) {
      auto state = cutlass::make_producer_start_state<Pipe>();
      for (int k = 0; k < k_tiles; ++k) {
        pipe.producer_acquire(state);
        auto* bar = pipe.producer_get_barrier(state);
        copy(tma_a.with(*bar), tAgA(_, k), tAsA(_, state.index()));
        copy(tma_b.with(*bar), tBgB(_, k), tBsB(_, state.index()));
        ++state;
      }
      pipe.producer_tail(state);
    }
  } else {
    Mma mma;
    auto thr = mma.get_slice(threadIdx.x - 128);
    Tensor tCrA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor tCrB = thr.make_fragment_B(thr.partition_B(sB));
    Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
    Tensor gC = local_tile(mC, Shape<BM, BN>{}, make_coord(blockIdx.x, blockIdx.y));
    Tensor tCgC = thr.partition_C(gC);
    Tensor acc = thr.make_fragment_C(tCgC);
    clear(acc);
    cutlass::PipelineState<kStages> read;
    for (int k = 0; k < k_tiles; ++k) {
      pipe.consumer_wait(read);
      warpgroup_arrive();
      gemm(mma, tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index()), acc);
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      pipe.consumer_release(read);
      ++read;
    }
    copy(acc, tCgC);
  }
}

void run(half_t const* A, half_t const* B, half_t* C, int M, int N, int K) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
  Tensor gB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{}));
  auto tma_a = make_tma_atom(SM90_TMA_LOAD{}, gA, SmemA{}(_, _, 0), Shape<BM, BK>{});
  auto tma_b = make_tma_atom(SM90_TMA_LOAD{}, gB, SmemB{}(_, _, 0), Shape<BN, BK>{});
  auto* kernel = &ws_gemm<decltype(tma_a), decltype(tma_b)>;
  int smem = sizeof(Shared);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  kernel<<<dim3(M / 128, N / 128), 384, smem>>>(tma_a, tma_b, C, M, N, K);
}
