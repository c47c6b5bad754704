#include <cute/tensor.hpp>
using namespace cute;

using T = half_t;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Smem = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                    Shape<_64, _64>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, T>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

__global__ void __launch_bounds__(128) multiply(T const* A, T const* B, float* C) {
  __shared__ alignas(128) T a[cosize_v<Smem>];
  __shared__ alignas(128) T b[cosize_v<Smem>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_64, _64>{}, LayoutRight{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Shape<_64, _64>{}, LayoutRight{});
  Tensor sA = make_tensor(make_smem_ptr(a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA));
  copy(load, thr.partition_S(gB), thr.partition_D(sB));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();

  Mma mma;
  auto thr_mma = mma.get_slice(threadIdx.x);
  Tensor rA = thr_mma.partition_fragment_A(sA);
  Tensor rB = thr_mma.partition_fragment_B(sB);
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  auto read_a = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto read_b = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, T>{}, mma);
  auto thr_a = read_a.get_slice(threadIdx.x);
  auto thr_b = read_b.get_slice(threadIdx.x);
  Tensor tXsA = thr_a.partition_S(sA);
  Tensor tXrA = thr_a.retile_D(rA);
  Tensor tXsB = thr_b.partition_S(sB);
  Tensor tXrB = thr_b.retile_D(rB);
  copy(read_a, tXsA, tXrA);
  copy(read_b, tXsB, tXrB);
  gemm(mma, rA, rB, acc);
  auto store = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint64_t>, float>{}, mma);
  auto thr_c = store.get_slice(threadIdx.x);
  Tensor gC = make_tensor(make_gmem_ptr(C), Shape<_64, _64>{}, LayoutRight{});
  copy(store, thr_c.retile_S(acc), thr_c.partition_D(gC));
}
