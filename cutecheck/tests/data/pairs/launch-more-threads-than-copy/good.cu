#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(256) load_tile(half_t const* A) {
  __shared__ alignas(16) half_t smem[64 * 64];
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  if (threadIdx.x < size(load)) copy(load, thr.partition_S(gA), thr.partition_D(sA));
}
void run(half_t const* A) { load_tile<<<1, 256>>>(A); }
