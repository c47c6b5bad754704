#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _16, _16>>;
template <int kBlockM, int kBlockN>
__global__ void __launch_bounds__(128) product(float* C) {
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<Int<kBlockM>, Int<kBlockN>>, Stride<Int<kBlockN>, _1>>{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor acc = partition_fragment_C(mma, Shape<Int<kBlockM>, Int<kBlockN>>{});
  clear(acc);
  Tensor tCgC = thr.partition_C(gC);
  copy(AutoVectorizingCopyWithAssumedAlignment<64>{}, acc, tCgC);
}
void run(float* C) { product<128, 64><<<1, 128>>>(C); }
