#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kPad = 4;
using SmemA = Layout<Shape<_64, _32>, Stride<Int<32 + kPad>, _1>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) stage(half_t const* A) {
  __shared__ alignas(16) half_t smem[2 * cosize_v<SmemA>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
  auto thr = Load{}.get_slice(threadIdx.x);
  copy(Load{}, thr.partition_S(gA), thr.partition_D(sA));
}
