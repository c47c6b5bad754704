#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kM = 64, kK = 64, kPad = 8;
using SmemA = Layout<Shape<Int<kM>, Int<kK>>, Stride<Int<kK + kPad>, _1>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) stage(half_t const* A) {
  __shared__ alignas(16) half_t smem[cosize_v<SmemA>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Shape<Int<kM>, Int<kK>>{}, LayoutRight{});
  Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA));
  cp_async_fence();
  cp_async_wait<0>();
}
