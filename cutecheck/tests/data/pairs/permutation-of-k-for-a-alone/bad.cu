#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Deep = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, Layout<Shape<_2, _4, _2>, Stride<_1, _4, _2>>>>;
using Smem = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C) {
  __shared__ alignas(128) half_t smem_a[cosize_v<Smem>];
  __shared__ alignas(128) half_t smem_b[cosize_v<Smem>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(smem_a), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem_b), Smem{});
  auto load = Load{}.get_slice(threadIdx.x);
  copy(Load{}, load.partition_S(gA), load.partition_D(sA));
  copy(Load{}, load.partition_S(gB), load.partition_D(sB));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  Deep mma;
  Mma mma_b;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(sA);
  Tensor rB = mma_b.get_slice(threadIdx.x).partition_fragment_B(sB);
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  auto s2rA = make_tiled_copy_A(Copy_Atom<UniversalCopy<half_t>, half_t>{}, mma);
  auto s2rB = make_tiled_copy_B(Copy_Atom<UniversalCopy<half_t>, half_t>{}, mma_b);
  auto ta = s2rA.get_slice(threadIdx.x);
  auto tb = s2rB.get_slice(threadIdx.x);
  copy(s2rA, ta.partition_S(sA), ta.retile_D(rA));
  copy(s2rB, tb.partition_S(sB), tb.retile_D(rB));
  clear(acc);
  gemm(mma, rA, rB, acc);
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  copy(acc, thr.partition_C(gC));
}
