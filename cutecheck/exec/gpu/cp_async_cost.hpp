// Cycles of cp.async of 16 bytes a lane: one warp, 64 copies in flight, then all awaited.
#pragma once

namespace cutecheck_gpu {

// `shared` and `global`: byte offsets of each lane, 32 a pattern; `cycles`: the last of three repetitions.
template <bool Bypass>
__device__ void cp_async_cost(
    unsigned patterns, unsigned const* shared, unsigned const* global, unsigned char const* data, long long* cycles) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned const base = static_cast<unsigned>(__cvta_generic_to_shared(smem));
  for (unsigned p = 0; p < patterns; ++p) {
    unsigned const to = base + shared[p * 32 + threadIdx.x];
    unsigned char const* from = data + global[p * 32 + threadIdx.x];
    long long spent = 0;
    for (int repetition = 0; repetition < 3; ++repetition) {
      __syncwarp();
      long long const begin = clock64();
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        if constexpr (Bypass) {
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
        } else {
          asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
        }
      }
      asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" ::: "memory");
      spent = clock64() - begin;
    }
    if (threadIdx.x == 0) cycles[p] = spent;
  }
}

}  // namespace cutecheck_gpu
