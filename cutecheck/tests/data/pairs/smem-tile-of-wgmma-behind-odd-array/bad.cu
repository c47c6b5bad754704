#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
struct Storage {
  alignas(16) half_t bias[72];
  half_t A[cosize_v<SmemA>];
};
__global__ void __launch_bounds__(128) operand(float* out) {
  extern __shared__ alignas(1024) char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(storage.A), SmemA{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCsA = thr.partition_A(sA);
  Tensor tCrA = thr.make_fragment_A(tCsA);
  out[0] = float(size(tCrA));
}
