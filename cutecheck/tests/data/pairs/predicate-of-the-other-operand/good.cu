#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using TileA = Shape<_128, _64>;
using TileB = Shape<_64, _64>;
using SmemA = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), TileA{}));
using SmemB = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), TileB{}));
__global__ void __launch_bounds__(128) fill(half_t const* A, half_t const* B, half_t* out, int m, int n) {
  __shared__ alignas(128) half_t smem_a[cosize_v<SmemA>];
  __shared__ alignas(128) half_t smem_b[cosize_v<SmemB>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, _64{}), make_stride(_64{}, _1{})));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(n, _64{}), make_stride(_64{}, _1{})));
  Tensor gA = local_tile(mA, TileA{}, make_coord(blockIdx.x, 0));
  Tensor gB = local_tile(mB, TileB{}, make_coord(blockIdx.y, 0));
  Tensor sA = make_tensor(make_smem_ptr(smem_a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(smem_b), SmemB{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor intoA = load.partition_D(sA);
  Tensor intoB = load.partition_D(sB);
  Tensor cA = load.partition_S(local_tile(make_identity_tensor(shape(mA)), TileA{}, make_coord(blockIdx.x, 0)));
  Tensor cB = load.partition_S(local_tile(make_identity_tensor(shape(mB)), TileB{}, make_coord(blockIdx.y, 0)));
  Tensor pA = make_tensor<bool>(make_shape(size<1>(intoA), size<2>(intoA)), make_stride(_1{}, _0{}));
  Tensor pB = make_tensor<bool>(make_shape(size<1>(intoB), size<2>(intoB)), make_stride(_1{}, _0{}));
  for (int i = 0; i < size<0>(pA); ++i) pA(i, 0) = get<0>(cA(0, i, 0)) < m;
  for (int i = 0; i < size<0>(pB); ++i) pB(i, 0) = get<0>(cB(0, i, 0)) < n;
  clear(intoA);
  clear(intoB);
  copy_if(Load{}, pA, load.partition_S(gA), intoA);
  copy_if(Load{}, pB, load.partition_S(gB), intoB);
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  out[threadIdx.x] = sA(threadIdx.x, 0) + sB(threadIdx.x % 64, 0);
}
