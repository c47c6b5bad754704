// Tensor-map copies: one tile between global and shared memory through exactly the type that make_tma_copy has for it.
//
// The tensor map is encoded on the host from the prediction and lies in global memory, first in an object of that type.
#pragma once

#include "kernels.hpp"
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>

namespace cutecheck_gpu {

// The type of the copy of a tile: `Whole` the global tensor's layout, `Smem` the tile's in shared memory.
template <class Op, class T, class Whole, class Smem>
using TmaCopy = decltype(make_tma_copy(
    Op{}, make_tensor(make_gmem_ptr(static_cast<T const*>(nullptr)), Whole{}), Smem{}));

// Coordinates of tile `k` of the second mode.
template <class Whole, class Tma, class Smem>
CUTE_DEVICE auto tma_tile(Tma const& tma, Smem const& smem, int k) {
  auto coordinates = tma.get_tma_tensor(shape(Whole{}));
  return local_tile(coordinates, product_each(shape(smem)), make_coord(Int<0>{}, k));
}

// By one thread. `bar` has been told of the bytes.
template <class Whole, class Tma, class Smem>
CUTE_DEVICE void tma_fetch(Tma const& tma, uint64_t& bar, Smem const& smem, int k) {
  auto thr = tma.get_slice(Int<0>{});
  copy(tma.with(bar), thr.partition_S(tma_tile<Whole>(tma, smem, k)), thr.partition_D(smem));
}

// By one thread; what it reads was written before and made visible to the asynchronous proxy.
template <class Whole, class Tma, class Smem>
CUTE_DEVICE void tma_put(Tma const& tma, Smem const& smem) {
  auto thr = tma.get_slice(Int<0>{});
  copy(tma, thr.partition_S(smem), thr.partition_D(tma_tile<Whole>(tma, smem, 0)));
  tma_store_arrive();
  tma_store_wait<0>();
}

// A single load (or store) of one tile; `Gmem` is the layout of the whole global tensor, which is that tile.
template <class T, class Gmem, class Smem, bool Load>
CUTE_DEVICE void tma_stage(Job const& job, unsigned bar_bytes, void const* map) {
  extern __shared__ __align__(1024) unsigned char smem[];
  using Tma = TmaCopy<conditional_t<Load, SM90_TMA_LOAD, SM90_TMA_STORE>, T, Gmem, Smem>;
  auto const& tma = *static_cast<Tma const*>(map);
  unsigned const room = (Load ? job.room.dst : job.room.src) * sizeof(T) / 4;
  if (job.flags & FILL) {
    words(reinterpret_cast<unsigned*>(smem), static_cast<unsigned const*>(Load ? job.out : job.in), room);
  }
  uint64_t& bar = *reinterpret_cast<uint64_t*>(smem + bar_bytes);
  if (threadIdx.x == 0) {
    initialize_barrier(bar, 1);
    cutlass::arch::fence_barrier_init();
  }
  cutlass::arch::fence_view_async_shared();
  __syncthreads();
  auto tile = make_tensor(make_smem_ptr(reinterpret_cast<T*>(smem)), Smem{});
  long long const begin = clock64();
  if (threadIdx.x == 0) {
    tma_descriptor_fence_acquire(tma.get_tma_descriptor());
    if constexpr (Load) {
      set_barrier_transaction_bytes(bar, sizeof(T) * size(Smem{}));
      tma_fetch<Gmem>(tma, bar, tile, 0);
    } else {
      tma_put<Gmem>(tma, tile);
    }
  }
  if constexpr (Load) wait_barrier(bar, 0);
  __syncthreads();
  if (job.cycles) job.cycles[threadIdx.x] = clock64() - begin;
  if (Load && (job.flags & DUMP)) words(static_cast<unsigned*>(job.out), reinterpret_cast<unsigned const*>(smem), room);
}

}  // namespace cutecheck_gpu
