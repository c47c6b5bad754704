#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(32) f(float* A) {
  Tensor t = make_tensor(make_gmem_ptr(A), Layout<Shape<_32, _8, _4>>{});
  Tensor r = make_tensor<float>(Shape<_8>{});
  copy(local_tile(t, Shape<_1, _8, _1>{}, (threadIdx.x, _0{}, 1)), r);
}
