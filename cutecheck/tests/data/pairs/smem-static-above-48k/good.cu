#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kStages = 3;
using Tile = Layout<Shape<_128, _64, Int<kStages>>, Stride<_64, _1, Int<128 * 64>>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) pipeline(half_t const* A) {
  __shared__ alignas(128) half_t smem[cosize_v<Tile>];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(smem), Tile{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA)(_, _, _, 0));
}
