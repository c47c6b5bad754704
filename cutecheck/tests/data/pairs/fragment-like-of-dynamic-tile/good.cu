#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(128) scale(float const* in, float* out, int rows) {
  auto tiler = make_shape(_64{}, _32{});
  Tensor gI = local_tile(make_tensor(make_gmem_ptr(in), make_shape(1024, 1024), make_stride(1024, _1{})), tiler, make_coord(blockIdx.x, blockIdx.y));
  auto cp = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _1>>{});
  auto thr = cp.get_slice(threadIdx.x);
  Tensor src = thr.partition_S(gI);
  Tensor r = make_fragment_like(src);
  copy(cp, src, r);
  out[threadIdx.x] = r(0);
}
