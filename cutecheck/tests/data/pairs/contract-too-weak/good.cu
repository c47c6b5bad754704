#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) load(half_t const* A, int m, int lda, half_t* out) {
  assert(lda % 8 == 0);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, _64{}), make_stride(lda, _1{}));
  Tensor gA = local_tile(mA, Shape<_16, _64>{}, make_coord(blockIdx.x, 0));
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor src = thr.partition_S(gA);
  Tensor r = make_fragment_like(src);
  copy(Load{}, src, r);
  out[threadIdx.x] = r(0);
}
