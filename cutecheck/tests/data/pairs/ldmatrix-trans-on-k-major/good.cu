#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using SmemB = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
__global__ void __launch_bounds__(128) feed(half_t* out) {
  __shared__ alignas(128) half_t smem[cosize_v<SmemB>];
  Tensor sB = make_tensor(make_smem_ptr(smem), SmemB{});
  Mma mma;
  Tensor rB = mma.get_slice(threadIdx.x).partition_fragment_B(sB);
  auto s2r = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto thr = s2r.get_slice(threadIdx.x);
  copy(s2r, thr.partition_S(sB), thr.retile_D(rB));
  out[threadIdx.x] = rB(0);
}
