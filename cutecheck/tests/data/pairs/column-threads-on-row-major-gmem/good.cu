#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class ThrLayout>
__global__ void __launch_bounds__(256) stage(float const* A, int lda) {
  // cutecheck: assume lda % 4 == 0
  __shared__ alignas(16) float smem[32 * 64];
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(_64{}, _32{}), make_stride(lda, _1{}));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _32>>{});
  auto load = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, ThrLayout{}, Layout<Shape<_1, _1>>{});
  auto thr = load.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(thr.partition_S(gA));
  copy(load, thr.partition_S(gA), r);
  if (lda < 0) smem[threadIdx.x] = r(0);
}
void run(float const* A, int lda) { stage<Layout<Shape<_8, _32>, Stride<_32, _1>>><<<1, 256>>>(A, lda); }
