#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Elem = half_t;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_128, _64>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_256, _64>{}));
struct Storage {
  alignas(1024) Elem A[cosize_v<SmemA>];
  alignas(1024) Elem B[cosize_v<SmemB>];
  alignas(8) uint64_t bar;
};
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(128) kernel(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b) {
  extern __shared__ alignas(1024) char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  Tensor mA = tma_a.get_tma_tensor(make_shape(Int<512>{}, Int<512>{}));
  Tensor mB = tma_b.get_tma_tensor(make_shape(Int<512>{}, Int<512>{}));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gB = local_tile(mB, Shape<_256, _64>{}, make_coord(blockIdx.y, 0));
  Tensor sA = make_tensor(make_smem_ptr(storage.A), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(storage.B), SmemB{});
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  constexpr int kBytes = (size(SmemA{}) ) * sizeof(Elem);
  if (threadIdx.x == 0) {
    initialize_barrier(storage.bar, 1);
    set_barrier_transaction_bytes(storage.bar, kBytes);
    copy(tma_a.with(storage.bar), tAgA, tAsA);
    copy(tma_b.with(storage.bar), tBgB, tBsB);
  }
  __syncthreads();
  wait_barrier(storage.bar, 0);
}
void run(Elem const* A, Elem const* B) {
  auto a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), Layout<Shape<Int<512>, Int<512>>, Stride<Int<512>, _1>>{}), SmemA{});
  auto b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), Layout<Shape<Int<512>, Int<512>>, Stride<Int<512>, _1>>{}), SmemB{});
  auto run = &kernel<decltype(a), decltype(b)>;
  cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Storage)));
  run<<<dim3(4, 2), 128, sizeof(Storage)>>>(a, b);
}
