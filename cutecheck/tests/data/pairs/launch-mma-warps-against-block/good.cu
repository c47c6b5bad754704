#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2, _1>>{}));
constexpr int kThreads = 4 * 32;
__global__ void __launch_bounds__(kThreads) product(half_t const* A, half_t const* B, float* C) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_128, _64>, Stride<_64, _1>>{});
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tCgA = thr.partition_A(gA);
  Tensor tCgB = thr.partition_B(gB);
  Tensor tCgC = thr.partition_C(gC);
  Tensor rA = thr.make_fragment_A(tCgA);
  Tensor rB = thr.make_fragment_B(tCgB);
  Tensor acc = thr.make_fragment_C(tCgC);
  copy(tCgA, rA);
  copy(tCgB, rB);
  clear(acc);
  gemm(mma, rA, rB, acc);
  copy(acc, tCgC);
}
void run(half_t const* A, half_t const* B, float* C) { product<<<1, kThreads>>>(A, B, C); }
