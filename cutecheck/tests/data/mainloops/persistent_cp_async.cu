// persistent GEMM of Ampere, cp.async in stages; the tiles of a block follow one another
#include <cute/tensor.hpp>
using namespace cute;
constexpr int kStages = 3, BM = 128, BN = 128, BK = 32;
using Atom = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
using SmemA = decltype(tile_to_shape(Atom{}, Shape<Int<BM>, Int<BK>, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(Atom{}, Shape<Int<BN>, Int<BK>, Int<kStages>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using G2S = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) gemm80(half_t const* A, half_t const* B, float* C, int M, int N, int K) {
  extern __shared__ __align__(128) half_t raw[];
  Tensor sA = make_tensor(make_smem_ptr(raw), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(raw + cosize_v<SmemA>), SmemB{});
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(K, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(N, _1{}));
  Mma mma;
  G2S g2s;
  auto thr = mma.get_slice(threadIdx.x);
  auto cpy = g2s.get_slice(threadIdx.x);
  auto s2rA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto s2rB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto thrA = s2rA.get_slice(threadIdx.x);
  auto thrB = s2rB.get_slice(threadIdx.x);
  Tensor tAsA = cpy.partition_D(sA);
  Tensor tBsB = cpy.partition_D(sB);
  Tensor tXsA = thrA.partition_S(sA);
  Tensor tXsB = thrB.partition_S(sB);
  int const tiles_m = M / BM, num_tiles = tiles_m * (N / BN), k_tiles = K / BK;
  for (int tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    Tensor gA = local_tile(mA, Shape<Int<BM>, Int<BK>>{}, make_coord(tile % tiles_m, _));
    Tensor gB = local_tile(mB, Shape<Int<BN>, Int<BK>>{}, make_coord(tile / tiles_m, _));
    Tensor gC = local_tile(mC, Shape<Int<BM>, Int<BN>>{}, make_coord(tile % tiles_m, tile / tiles_m));
    Tensor tAgA = cpy.partition_S(gA);
    Tensor tBgB = cpy.partition_S(gB);
    Tensor acc = partition_fragment_C(mma, Shape<Int<BM>, Int<BN>>{});
    clear(acc);
    Tensor rA = thr.partition_fragment_A(sA(_, _, 0));
    Tensor rB = thr.partition_fragment_B(sB(_, _, 0));
    int write = 0, read = 0, next = 0;
    for (int i = 0; i < kStages - 1; ++i) {
      if (next < k_tiles) {
        copy(g2s, tAgA(_, _, _, next), tAsA(_, _, _, write));
        copy(g2s, tBgB(_, _, _, next), tBsB(_, _, _, write));
      }
      cp_async_fence();
      ++next;
      write = (write + 1) % kStages;
    }
    for (int k = 0; k < k_tiles; ++k) {
      cp_async_wait<kStages - 2>();
      __syncthreads();
      if (next < k_tiles) {
        copy(g2s, tAgA(_, _, _, next), tAsA(_, _, _, write));
        copy(g2s, tBgB(_, _, _, next), tBsB(_, _, _, write));
      }
      cp_async_fence();
      ++next;
      write = (write + 1) % kStages;
      copy(s2rA, tXsA(_, _, _, read), thrA.retile_D(rA));
      copy(s2rB, tXsB(_, _, _, read), thrB.retile_D(rB));
      gemm(mma, rA, rB, acc);
      read = (read + 1) % kStages;
    }
    copy(acc, thr.partition_C(gC));
    __syncthreads();
  }
}
void run(half_t const* A, half_t const* B, float* C, int M, int N, int K, int sms) {
  gemm80<<<sms, 128, (cosize_v<SmemA> + cosize_v<SmemB>) * 2>>>(A, B, C, M, N, K);
}
