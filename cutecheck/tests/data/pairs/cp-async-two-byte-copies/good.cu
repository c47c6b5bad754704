#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint32_t>, half_t>{},
    Layout<Shape<_32, _4>>{}, Layout<Shape<_2, _1>>{}));
__global__ void __launch_bounds__(128) stage(half_t const* A) {
  __shared__ alignas(16) half_t smem[64 * 16];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _16>>{});
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _16>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
}
