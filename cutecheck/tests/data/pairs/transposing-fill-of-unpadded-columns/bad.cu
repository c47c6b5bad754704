#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <int kM, int kK, int kSkew>
struct ColumnMajor {
  using Layout_ = Layout<Shape<Int<kM>, Int<kK>>, Stride<_1, Int<kM + kSkew>>>;
};
using Tile_ = ColumnMajor<128, 8, 0>;

__global__ void __launch_bounds__(256) sgemm_fill(float const* A, int k_tiles) {
  __shared__ float smem[2 * 8 * 136];
  Tensor g = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_128{}, _8{}, k_tiles), make_stride(_8{}, _1{}, 1024)));
  Tensor s = make_tensor(make_smem_ptr(smem), Tile_::Layout_{});
  auto rows = make_layout(Shape<_32, _8>{}, Stride<_8, _1>{});
  for (int t = 0; t < k_tiles; ++t) {
    Tensor from = local_partition(g(_, _, t), rows, threadIdx.x);
    Tensor to = local_partition(s, rows, threadIdx.x);
    copy(from, to);
    __syncthreads();
    __syncthreads();
  }
}
