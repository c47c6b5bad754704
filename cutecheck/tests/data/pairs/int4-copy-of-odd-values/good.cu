#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, int4b_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _32>>{}));
__global__ void __launch_bounds__(128) load(int4b_t const* A) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_32, _128>, Stride<_128, _1>>{});
  Tensor src = Load{}.get_slice(threadIdx.x).partition_S(gA);
  Tensor r = make_fragment_like(src);
  copy(Load{}, src, r);
}
