#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
struct Storage {
  alignas(1024) half_t A[cosize_v<Smem>];
  alignas(1024) half_t B[cosize_v<SmemB>];
  alignas(8) uint64_t full_a;
  alignas(8) uint64_t full_b;
};
template <class TmaA, class TmaB>
__global__ void __launch_bounds__(128) kernel(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b) {
  extern __shared__ alignas(1024) char raw[];
  Storage& storage = *reinterpret_cast<Storage*>(raw);
  Tensor mA = tma_a.get_tma_tensor(make_shape(Int<512>{}, Int<512>{}));
  Tensor mB = tma_b.get_tma_tensor(make_shape(Int<512>{}, Int<512>{}));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gB = local_tile(mB, Shape<_64, _64>{}, make_coord(blockIdx.y, 0));
  Tensor sA = make_tensor(make_smem_ptr(storage.A), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(storage.B), SmemB{});
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  if (threadIdx.x == 0) {
    initialize_barrier(storage.full_a, 1);
    initialize_barrier(storage.full_b, 1);
    set_barrier_transaction_bytes(storage.full_a, sizeof(storage.A));
    copy(tma_a.with(storage.full_a), tAgA, tAsA);
    set_barrier_transaction_bytes(storage.full_b, sizeof(storage.A));
    copy(tma_b.with(storage.full_b), tBgB, tBsB);
  }
  __syncthreads();
  wait_barrier(storage.full_a, 0);
  wait_barrier(storage.full_b, 0);
}
void run(half_t const* A, half_t const* B) {
  auto a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), Layout<Shape<Int<512>, Int<512>>, Stride<Int<512>, _1>>{}), Smem{});
  auto b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), Layout<Shape<Int<512>, Int<512>>, Stride<Int<512>, _1>>{}), SmemB{});
  auto go = &kernel<decltype(a), decltype(b)>;
  go<<<dim3(4, 8), 128, sizeof(Storage)>>>(a, b);
}
