#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Perm = Layout<Shape<_2, _4, _2>, Stride<_1, _2, _4>>;
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _1, _1>>{}, Tile<_32, Perm, _16>{}));
__global__ void __launch_bounds__(64) epilogue(float* C) {
  Mma mma;
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_32, _16>, Stride<_16, _1>>{});
  Tensor acc = partition_fragment_C(mma, Shape<_32, _16>{});
  clear(acc);
  auto st = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint64_t>, float>{}, mma);
  auto thr = st.get_slice(threadIdx.x);
  copy(st, thr.retile_S(acc), thr.partition_D(gC));
}
