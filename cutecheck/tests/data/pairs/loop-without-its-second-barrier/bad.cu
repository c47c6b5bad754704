#include <cute/tensor.hpp>
using namespace cute;
using Tile = Layout<Shape<_32, _32>, Stride<Int<40>, _1>>;
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_4, _32>, Stride<_1, _4>>{}, Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(128) through(float const* in, float* out, int n) {
  __shared__ float smem[cosize_v<Tile>];
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(make_shape(_32{}, _32{}, n), make_stride(_32{}, _1{}, _1024{})));
  Tensor o = make_tensor(make_gmem_ptr(out), make_layout(make_shape(_32{}, _32{}, n), make_stride(_32{}, _1{}, _1024{})));
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  auto w = Rows{}.get_slice(threadIdx.x);
  auto r = Columns{}.get_slice(threadIdx.x);
  for (int i = 0; i < n; ++i) {
    copy(Rows{}, w.partition_S(g(_, _, i)), w.partition_D(s));
    __syncthreads();
    copy(Columns{}, r.partition_S(s), r.partition_D(o(_, _, i)));
  }
}
