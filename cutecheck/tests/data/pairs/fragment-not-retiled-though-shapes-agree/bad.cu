#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _8, _8>>;
__global__ void __launch_bounds__(128) store(float* C) {
  Mma mma;
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _8>, Stride<_8, _1>>{});
  auto thr_mma = mma.get_slice(threadIdx.x);
  Tensor acc = thr_mma.make_fragment_C(thr_mma.partition_C(gC));
  clear(acc);
  auto cp = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_2, _2>>{});
  auto thr = cp.get_slice(threadIdx.x);
  Tensor tCgC = thr.partition_D(gC);
  Tensor rC = make_tensor(acc.data(), shape(tCgC));
  copy(cp, rC, tCgC);
}
