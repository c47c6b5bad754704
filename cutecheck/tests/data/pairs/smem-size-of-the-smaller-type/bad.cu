#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class T>
struct Shared {
  using TileA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<T>{}, Shape<_128, _64, _4>{}));
  static constexpr size_t bytes(size_t each) { return cosize_v<TileA> * each; }
};

template <class T>
__global__ void __launch_bounds__(128) pipeline(T const* in) {
  extern __shared__ __align__(1024) char raw[];
  Tensor s = make_tensor(make_smem_ptr(reinterpret_cast<T*>(raw)), typename Shared<T>::TileA{});
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(Shape<_128, _64, _4>{}, Stride<_64, _1, Int<8192>>{}));
  auto cp = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = cp.get_slice(threadIdx.x);
  for (int i = 0; i < 4; ++i) copy(cp, thr.partition_S(g)(_, _, _, i), thr.partition_D(s)(_, _, _, i));
  cp_async_fence();
  cp_async_wait<0>();
}

void launch(half_t const* in) {
  auto kernel = &pipeline<half_t>;
  auto bytes = Shared<half_t>::bytes(sizeof(uint8_t));
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  kernel<<<1, 128, bytes>>>(in);
}
