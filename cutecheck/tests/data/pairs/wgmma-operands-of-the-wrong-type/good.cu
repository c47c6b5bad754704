#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Elem = half_t;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_64, _128>{}));
__global__ void __launch_bounds__(128) operand(float* out) {
  __shared__ alignas(1024) Elem smem[cosize_v<SmemA>];
  Tensor sA = make_tensor(make_smem_ptr(smem), SmemA{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCrA = thr.make_fragment_A(thr.partition_A(sA));
  out[0] = float(size(tCrA));
}
