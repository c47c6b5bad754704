#include <cute/tensor.hpp>
using namespace cute;

using T = half_t;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Smem = decltype(tile_to_shape(Atom{}, Shape<_64, _64, _3>{}));
using SmemC = decltype(tile_to_shape(Atom{}, Shape<_64, _64>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, T>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{},
                                       Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

__global__ void __launch_bounds__(128) multiply(T const* A, T const* B, T* C, int tiles) {
  extern __shared__ __align__(128) T smem[];
  auto shape = Shape<_4096, _4096>{};
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), shape, LayoutRight{}), Shape<_64, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), shape, LayoutRight{}), Shape<_64, _64>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), shape, LayoutRight{}), Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<Smem>), Smem{});
  Tensor sC = make_tensor(make_smem_ptr(smem), SmemC{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAgA = thr.partition_S(gA), tAsA = thr.partition_D(sA), tBgB = thr.partition_S(gB), tBsB = thr.partition_D(sB);
  Mma mma;
  auto thr_mma = mma.get_slice(threadIdx.x);
  Tensor rA = thr_mma.partition_fragment_A(sA(_, _, 0));
  Tensor rB = thr_mma.partition_fragment_B(sB(_, _, 0));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  auto read_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto read_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto thr_a = read_a.get_slice(threadIdx.x);
  auto thr_b = read_b.get_slice(threadIdx.x);
  Tensor tXsA = thr_a.partition_S(sA), tXsB = thr_b.partition_S(sB);

  for (int s = 0; s < 2; ++s) {
    copy(load, tAgA(_, _, _, s), tAsA(_, _, _, s));
    copy(load, tBgB(_, _, _, s), tBsB(_, _, _, s));
    cp_async_fence();
  }
  cp_async_wait<1>();
  __syncthreads();
  int read = 0, write = 2;
  for (int t = 0; t < tiles; ++t) {
    copy(read_a, tXsA(_, _, _, read), thr_a.retile_D(rA));
    copy(read_b, tXsB(_, _, _, read), thr_b.retile_D(rB));
    copy(load, tAgA(_, _, _, t + 2), tAsA(_, _, _, write));
    copy(load, tBgB(_, _, _, t + 2), tBsB(_, _, _, write));
    cp_async_fence();
    gemm(mma, rA, rB, acc);
    write = read;
    read = read == 2 ? 0 : read + 1;
    cp_async_wait<1>();
  }
  cp_async_wait<0>();
  __syncthreads();

  Tensor out = make_fragment_like<T>(acc);
  for (int i = 0; i < size(acc); ++i) out(i) = T(acc(i));
  auto to_smem = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, T>{}, mma);
  auto thr_c = to_smem.get_slice(threadIdx.x);
  copy(to_smem, thr_c.retile_S(out), thr_c.partition_D(sC));
  Store store;
  auto thr_s = store.get_slice(threadIdx.x);
  Tensor tCsC = thr_s.partition_S(sC), tCgC = thr_s.partition_D(gC);
  for (int i = 0; i < size<1>(tCsC); ++i) copy(store, tCsC(_, i, _), tCgC(_, i, _));
}

void run(T const* A, T const* B, T* C, int tiles) {
  int const bytes = 2 * cosize_v<Smem> * sizeof(T);
  cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  multiply<<<dim3(64, 64), 128, bytes>>>(A, B, C, tiles);
}
