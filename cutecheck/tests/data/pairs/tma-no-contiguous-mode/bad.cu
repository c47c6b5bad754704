#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Elem = half_t;
auto make_load(Elem const* A, int m) {
  using Smem = Layout<Shape<_64, _64>, Stride<_64, _1>>;
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, Int<512>{}), make_stride(Int<1024>{}, _2{}));
  return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
}
void instantiate(Elem const* A) { (void)make_load(A, 4096); }
