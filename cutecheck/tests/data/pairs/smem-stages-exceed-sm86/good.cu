#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <int kM, int kN, int kK, int kStages>
struct Config {
  using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using SmemA = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
  using SmemB = decltype(tile_to_shape(Atom{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
  static constexpr int kSmem = (cosize_v<SmemA> + cosize_v<SmemB>) * sizeof(half_t);
};
template <class C>
__global__ void __launch_bounds__(128) pipeline(half_t const* A) {
  extern __shared__ __align__(128) half_t raw[];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(raw), typename C::SmemA{});
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA)(_, _, _, 0));
}
void run(half_t const* A) {
  using C = Config<128, 128, 64, 3>;
  auto kernel = &pipeline<C>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::kSmem);
  kernel<<<1, 128, C::kSmem>>>(A);
}
