#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
__global__ void __launch_bounds__(128) epilogue(half_t* C) {
  Mma mma;
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  Tensor out = make_fragment_like<half_t>(acc);
  for (int i = 0; i < size(acc); ++i) out(i) = half_t(acc(i));
  auto store = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, mma);
  auto thr = store.get_slice(threadIdx.x);
  copy(store, thr.retile_S(out), thr.partition_D(gC));
}
