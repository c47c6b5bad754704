#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class Tile>
struct Ping {
  float* base;
  CUTE_DEVICE auto operator[](int which) const { return make_tensor(make_smem_ptr(base + which * cosize_v<Tile>), Tile{}); }
};

__global__ void __launch_bounds__(256) flip(float const* in, float* out, int n) {
  using Tile = Layout<Shape<_32, _32>, Stride<Int<33>, _1>>;
  using Turned = Layout<Shape<_32, _32>, Stride<_1, Int<33>>>;
  __shared__ float smem[cosize_v<Tile>];
  auto threads = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
  auto tiles = make_layout(make_shape(_32{}, _32{}, n), make_stride(_32{}, _1{}, 1024));
  auto g = make_tensor(make_gmem_ptr(in), tiles);
  auto o = make_tensor(make_gmem_ptr(out), tiles);
  Ping<Tile> rows{smem};
  Ping<Turned> columns{smem};
  for (int i = 0; i < n; ++i) {
    copy(local_partition(g(_, _, i), threads, threadIdx.x), local_partition(rows[0], threads, threadIdx.x));
    __syncthreads();
    copy(local_partition(columns[0], threads, threadIdx.x), local_partition(o(_, _, i), threads, threadIdx.x));
    /* end of pass */
  }
}
