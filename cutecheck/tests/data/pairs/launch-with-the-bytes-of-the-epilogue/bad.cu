#include <cute/tensor.hpp>
using namespace cute;

using Smem = Layout<Shape<_128, _64, _3>, Stride<_64, _1, Int<128 * 64>>>;
using SmemC = Layout<Shape<_128, _128>, Stride<_128, _1>>;

__global__ void __launch_bounds__(128) stages(half_t const* A, half_t const* B, int tiles) {
  extern __shared__ __align__(128) half_t smem[];
  auto shape = make_shape(Int<4096>{}, Int<4096>{});
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), shape, LayoutRight{}), Shape<_128, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), shape, LayoutRight{}), Shape<_128, _64>{}, make_coord(blockIdx.y, _));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<Smem>), Smem{});
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                              Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(threadIdx.x);
  int next = 0;
  for (int s = 0; s < 2; ++s) {
    if (next < tiles) {
      copy(load, thr.partition_S(gA)(_, _, _, next), thr.partition_D(sA)(_, _, _, s));
      copy(load, thr.partition_S(gB)(_, _, _, next), thr.partition_D(sB)(_, _, _, s));
    }
    ++next;
  }
}

void run(half_t const* A, half_t const* B, int tiles) {
  constexpr int bytes = cosize_v<SmemC> * sizeof(half_t);
  cudaFuncSetAttribute(stages, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  stages<<<dim3(32, 32), 128, bytes>>>(A, B, tiles);
}
