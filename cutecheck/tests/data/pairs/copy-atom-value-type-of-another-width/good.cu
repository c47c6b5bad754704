#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) load(float const* A, float* out) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor src = thr.partition_S(gA);
  Tensor r = make_fragment_like(src);
  copy(Load{}, src, r);
  out[threadIdx.x] = r(0);
}
