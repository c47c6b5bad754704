#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class T, int Threads, class Op>
CUTE_HOST_DEVICE constexpr auto row_loader() {
  return make_tiled_copy(Copy_Atom<Op, T>{}, Layout<Shape<_4, Int<Threads / 4>>, Stride<Int<Threads / 4>, _1>>{}, Layout<Shape<_1, _1>>{});
}

__global__ void __launch_bounds__(128) stage(float const* x) {
  __shared__ alignas(16) float buf[32 * 32];
  Tensor g = make_tensor(make_gmem_ptr(x), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(buf), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  auto loader = row_loader<float, 128, SM80_CP_ASYNC_CACHEALWAYS<uint128_t>>();
  auto thr = loader.get_slice(threadIdx.x);
  copy(loader, thr.partition_S(g), thr.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
}
