#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(32) f(half_t* A) {
  Tensor t = make_tensor(make_gmem_ptr(A), Layout<Shape<_32, _8>, Stride<Int<12>, _1>>{});
  Tensor w = recast<uint128_t>(t);
  Tensor r = make_tensor_like(w(threadIdx.x, _));
  copy(w(threadIdx.x, _), r);
}
