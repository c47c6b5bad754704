#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x32_S32S8S8S32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _16, _32>>;
using Smem = Layout<Shape<_64, _64>, Stride<_80, _1>>;
__global__ void __launch_bounds__(128) feed(int8_t* out) {
  __shared__ alignas(16) int8_t smem[cosize_v<Smem>];
  Tensor sB = make_tensor(make_smem_ptr(smem), Smem{});
  Mma mma;
  Tensor rB = mma.get_slice(threadIdx.x).partition_fragment_B(sB);
  auto s2r = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, int8_t>{}, mma);
  auto thr = s2r.get_slice(threadIdx.x);
  copy(s2r, thr.partition_S(sB), thr.retile_D(rB));
  out[threadIdx.x] = rB(0);
}
