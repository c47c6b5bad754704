#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

struct InBounds {
  int m, k;
  template <class Coord>
  CUTE_DEVICE bool operator()(Coord const& c) const { return elem_less(c, make_coord(m, k)); }
};

template <class Copy, class Src, class Dst, class Crd>
CUTE_DEVICE void guarded_rows(Copy const& cp, Src const& src, Dst&& dst, Crd const& crd, int m, int k) {
  Tensor pred = make_tensor<bool>(make_shape(size<1>(dst), size<2>(dst)));
  CUTE_UNROLL
  for (int i = 0; i < size<0>(pred); ++i) {
    CUTE_UNROLL
    for (int j = 0; j < size<1>(pred); ++j) {
      pred(i, j) = elem_less(crd(0, 0, j), make_coord(m, k));
    }
  }
  copy_if(cp, pred, src, dst);
}

__global__ void __launch_bounds__(128) fetch(float const* A, int m, int k, int lda) {
  // cutecheck: assume lda % 4 == 0
  // cutecheck: assume k % 4 == 0
  __shared__ alignas(128) float buf[64 * 64];
  auto shape = make_shape(m, k);
  Tensor mA = make_tensor(make_gmem_ptr(A), shape, make_stride(lda, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cA = local_tile(make_identity_tensor(shape), Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(buf), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto cp = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto thr = cp.get_slice(threadIdx.x);
  guarded_rows(cp, thr.partition_S(gA), thr.partition_D(sA), thr.partition_S(cA), m, k);
}
