#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
__global__ void __launch_bounds__(128) product(half_t const* A, half_t const* B, float* C) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_64, _16>, Stride<_16, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Layout<Shape<_64, _16>, Stride<_16, _1>>{});
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(gA);
  Tensor rB = thr.partition_fragment_B(gB);
  Tensor acc = thr.partition_fragment_C(gC);
  clear(acc);
  gemm(mma, rA, rB, acc);
}
