#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kStages = 3;
using SmemA = Layout<Shape<_64, _64, Int<kStages>>, Stride<_64, _1, Int<64 * 64>>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) stage(half_t const* A) {
  __shared__ alignas(16) half_t smem[cosize_v<SmemA>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Shape<_64, Int<64 * kStages>>{}, LayoutRight{});
  Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAgA = thr.partition_S(local_tile(gA, Shape<_64, _64>{}, make_coord(0, _)));
  Tensor tAsA = thr.partition_D(sA);
  CUTE_UNROLL
  for (int k = 0; k <= kStages - 0; ++k) {
    copy(load, tAgA(_, _, _, k), tAsA(_, _, _, k));
    cp_async_fence();
  }
  cp_async_wait<0>();
}
