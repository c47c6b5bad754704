#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Elem = float;
template <class Smem>
auto make_load(Elem const* A, int m) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, _256{}), make_stride(_256{}, _1{}));
  return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
}
void instantiate(Elem const* A) {
  using Smem = decltype(composition(Swizzle<3, 4, 3>{}, smem_ptr_flag_bits<32>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  (void)make_load<Smem>(A, 4096);
}
