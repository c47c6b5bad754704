#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Ring = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64, _3>{}));
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C, int tiles) {
  extern __shared__ __align__(128) half_t smem[];
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{})));
  Tensor gB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{})));
  Tensor sA = make_tensor(make_smem_ptr(smem), Ring{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<Ring>), Ring{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor fromA = load.partition_S(gA);
  Tensor fromB = load.partition_S(gB);
  Tensor intoA = load.partition_D(sA);
  Tensor intoB = load.partition_D(sB);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(sA(_, _, 0));
  Tensor rB = thr.partition_fragment_B(sB(_, _, 0));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  auto s2rA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto s2rB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ta = s2rA.get_slice(threadIdx.x);
  auto tb = s2rB.get_slice(threadIdx.x);
  Tensor viewA = ta.partition_S(sA);
  Tensor viewB = tb.partition_S(sB);
  clear(acc);
  for (int stage = 0; stage < 2; ++stage) {
    copy(Load{}, fromA(_, _, _, stage), intoA(_, _, _, stage));
    copy(Load{}, fromB(_, _, _, stage), intoB(_, _, _, stage));
    cp_async_fence();
  }
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<1>();
    __syncthreads();
    copy(s2rA, viewA(_, _, _, tile % 3), ta.retile_D(rA));
    copy(s2rB, viewB(_, _, _, tile % 3), tb.retile_D(rB));
    copy(Load{}, fromA(_, _, _, (tile + 2) % tiles), intoA(_, _, _, (tile + 2) % 3));
    copy(Load{}, fromB(_, _, _, (tile + 2) % tiles), intoB(_, _, _, (tile + 2) % 3));
    cp_async_fence();
    gemm(mma, rA, rB, acc);
  }
  cp_async_wait<0>();
  __syncthreads();
  Tensor sC = make_tensor(make_smem_ptr(reinterpret_cast<float*>(smem)), Layout<Shape<_64, _64>, Stride<Int<72>, _1>>{});
  copy(acc, thr.partition_C(sC));
  __syncthreads();
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto store = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto out = store.get_slice(threadIdx.x);
  copy(store, out.partition_S(sC), out.partition_D(gC));
}
void run(half_t const* A, half_t const* B, float* C, int tiles) {
  int bytes = 2 * cosize_v<Ring> * sizeof(half_t);
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  product<<<1, 128, bytes>>>(A, B, C, tiles);
}
