#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(128) scale(float const* in, float* out, int n) {
  Tensor gI = make_tensor(make_gmem_ptr(in), make_shape(n, _128{}), make_stride(_128{}, _1{}));
  Tensor gO = make_tensor(make_gmem_ptr(out), make_shape(n, _128{}), make_stride(_128{}, _1{}));
  Tensor r = make_tensor<float>(make_shape(n / 128));
  Tensor i = make_tensor(&gI(0, threadIdx.x), make_shape(n / 128));
  copy(i, r);
  copy(r, make_tensor(&gO(0, threadIdx.x), make_shape(n / 128)));
}
