#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class N>
using MmaWith = decltype(make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, N, _16>{}));
using Interleaved = Layout<Shape<_8, _2, _2>, Stride<_1, _16, _4>>;

__global__ void __launch_bounds__(128) mul(half_t const* B) {
  MmaWith<Interleaved> mma;
  __shared__ alignas(128) half_t buf[64 * 64];
  Tensor sB = make_tensor(make_smem_ptr(buf), tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
  auto s2r = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto thr = s2r.get_slice(threadIdx.x);
  Tensor rB = mma.get_slice(threadIdx.x).partition_fragment_B(sB);
  copy(s2r, thr.partition_S(sB), thr.retile_D(rB));
}
