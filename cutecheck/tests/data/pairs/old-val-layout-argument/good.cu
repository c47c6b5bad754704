#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{}));
__global__ void __launch_bounds__(128) epilogue(float* C) {
  Mma mma;
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  copy(AutoVectorizingCopyWithAssumedAlignment<64>{}, acc, mma.get_slice(threadIdx.x).partition_C(gC));
}
