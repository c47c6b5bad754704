#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

enum class Order { Row, Column };
template <Order kOrder>
CUTE_HOST_DEVICE auto threads_of() {
  if constexpr (kOrder == Order::Row) return Layout<Shape<_4, _32>, Stride<_32, _1>>{};
  else return Layout<Shape<_32, _4>, Stride<_1, _32>>{};
}

template <Order kOrder>
__global__ void __launch_bounds__(128) scale(float const* in, float* out, int rows, int ld) {
  // cutecheck: assume ld % 32 == 0
  Tensor a = make_tensor(make_gmem_ptr(in), make_shape(rows, ld), make_stride(ld, _1{}));
  Tensor b = make_tensor(make_gmem_ptr(out), make_shape(rows, ld), make_stride(ld, _1{}));
  auto tile = Shape<_32, _32>{};
  auto at = make_coord(blockIdx.y, blockIdx.x);
  Tensor mine = local_partition(local_tile(a, tile, at), threads_of<Order::Row>(), threadIdx.x);
  Tensor reg = make_tensor_like(mine);
  copy(mine, reg);
  for (int i = 0; i < size(reg); ++i) reg(i) *= 2.f;
  copy(reg, local_partition(local_tile(b, tile, at), threads_of<kOrder>(), threadIdx.x));
}
void run(float const* in, float* out, int rows, int ld) { scale<Order::Column><<<dim3(ld / 32, rows / 32), 128>>>(in, out, rows, ld); }
