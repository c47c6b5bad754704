#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

#include <cutlass/arch/barrier.h>
using namespace cute;

using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using Half = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));

template <class Tma>
__global__ void fetch(CUTE_GRID_CONSTANT Tma const tma, int m, int k) {
  __shared__ alignas(1024) half_t buf[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t bar;
  Tensor mA = tma.get_tma_tensor(make_shape(m, k));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor sA = make_tensor(make_smem_ptr(buf), Smem{});
  auto [tAgA, tAsA] = tma_partition(tma, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  if (threadIdx.x == 0) {
    initialize_barrier(bar, 1);
    set_barrier_transaction_bytes(bar, sizeof(half_t) * size(Smem{}));
    copy(tma.with(bar), tAgA, tAsA);
  }
  __syncthreads();
  wait_barrier(bar, 0);
}
void run(half_t const* A, int m, int k) {
  Tensor g = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, g, Smem{}, Shape<_128, _64>{}, _1{});
  fetch<<<dim3(m / 128), 128>>>(tma, m, k);
}
