#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <GMMA::Major tA>
struct Config {
  using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<tA, GMMA::Major::K>{}));
  using SmemA = decltype(tile_to_shape(GMMA::Layout_MN_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
};
template <class C>
__global__ void __launch_bounds__(128) operand(float* out) {
  __shared__ alignas(1024) half_t smem[64 * 64];
  Tensor sA = make_tensor(make_smem_ptr(smem), typename C::SmemA{});
  typename C::Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr.partition_A(sA);
  Tensor tCrA = thr.make_fragment_A(tCsA);
  out[0] = float(size(tCrA));
}
void run(float* out) { operand<Config<GMMA::Major::MN>><<<1, 128>>>(out); }
