#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <int kM, int kK>
__global__ void __launch_bounds__(128) drain(half_t* out) {
  __shared__ alignas(16) half_t smem[64 * 64];  smem[threadIdx.x] = out[threadIdx.x]; __syncthreads();
  auto store = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<Int<kM>, Int<kK>>, Stride<Int<kK>, _1>>{});
  auto thr = store.get_slice(threadIdx.x);
  copy(store, thr.partition_S(s), thr.partition_D(g));
}
void run(half_t* out) { drain<64, 64><<<1, 128>>>(out); }
