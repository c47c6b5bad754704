#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class T, int kM, int kK>
struct Operand {
  using Atom = GMMA::Layout_K_SW128_Atom<T>;
  using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<kM>, Int<kK>>{}));
};

__global__ void __launch_bounds__(128) hopper(float* out) {
  using A = Operand<half_t, 64, 32>;
  using B = Operand<half_t, 128, 32>;
  extern __shared__ __align__(1024) half_t smem[];
  Tensor sA = make_tensor(make_smem_ptr(smem), A::Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem + 64 * 64), B::Smem{});
  auto mma = make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{});
  auto thr = mma.get_slice(threadIdx.x);
  Tensor a = thr.partition_fragment_A(sA), b = thr.partition_fragment_B(sB);
  Tensor c = partition_fragment_C(mma, Shape<_64, _128>{});
  warpgroup_arrive();
  gemm(mma, a, b, c);
  warpgroup_commit_batch();
  warpgroup_wait<0>();
  out[threadIdx.x] = c(0);
}
