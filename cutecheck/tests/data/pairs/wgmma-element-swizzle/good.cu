#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32BF16BF16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Elem = bfloat16_t;
template <int M, int K> struct Tiles {
  using Atom = GMMA::Layout_K_SW128_Atom<Elem>;
  using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<M>, Int<K>>{}));
};
__global__ void __launch_bounds__(128) operand(float* out) {
  using SmemB = Tiles<128, 64>::Smem;
  __shared__ alignas(1024) Elem smem[cosize_v<SmemB>];
  Tensor sB = make_tensor(make_smem_ptr(smem), SmemB{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCrB = thr.make_fragment_B(thr.partition_B(sB));
  out[0] = float(size(tCrB));
}
