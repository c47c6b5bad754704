#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Elem = half_t;
template <int kM, int kK>
auto make_load(Elem const* A, int m, int k) {
  // cutecheck: assume k % 8 == 0
  using Smem = Layout<Shape<Int<kM>, Int<kK>>, Stride<Int<kK>, _1>>;
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  return make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
}
void instantiate(Elem const* A) { (void)make_load<256, 32>(A, 4096, 4096); }
