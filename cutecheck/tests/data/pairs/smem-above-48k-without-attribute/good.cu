#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kStages = 4;
struct Storage {
  alignas(128) half_t A[128 * 32 * kStages];
  alignas(128) half_t B[128 * 32 * kStages];
};
using Tile = Layout<Shape<_128, _32, Int<kStages>>, Stride<_32, _1, Int<128 * 32>>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) pipeline(half_t const* A, half_t const* B) {
  extern __shared__ char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_128, _32>, Stride<_32, _1>>{});
  Tensor sA = make_tensor(make_smem_ptr(storage.A), Tile{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA)(_, _, _, 0));
}
void run(half_t const* A, half_t const* B, cudaStream_t stream) {
  int bytes = sizeof(Storage);
  cudaFuncSetAttribute(pipeline, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  pipeline<<<1, 128, bytes, stream>>>(A, B);
}
