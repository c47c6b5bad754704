#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using LoadA = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using LoadB = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>, half_t>{},
    Layout<Shape<_8, _16>>{}, Layout<Shape<_8, _1>>{}));
__global__ void __launch_bounds__(128) load_tile(half_t const* A, int m, int k, int lda) {
  __shared__ alignas(128) half_t smem[64 * 64];
  // cutecheck: assume lda % 8 == 0
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(lda, _1{}));
  Tensor cA = make_identity_tensor(shape(mA));
  auto tile = Shape<_64, _64>{};
  auto coord = make_coord(blockIdx.x, blockIdx.y);
  Tensor gA = local_tile(mA, tile, coord);
  Tensor ctA = local_tile(cA, tile, coord);
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  LoadA load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAgA = thr.partition_S(gA);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tAcA = LoadB{}.get_slice(threadIdx.x).partition_S(ctA);
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
  CUTE_UNROLL
  for (int i = 0; i < size<0>(pred); ++i) {
    for (int j = 0; j < size<1>(pred); ++j) {
      pred(i, j) = elem_less(tAcA(0, i, j), shape(mA));
    }
  }
  copy_if(load, pred, tAgA, tAsA);
}
