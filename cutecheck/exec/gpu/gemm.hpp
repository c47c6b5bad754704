// The reference GEMM: D(m,n) = sum over k of A(m,k) B(n,k), one block, through exactly the types of `C`.
//
// C::Mma; C::A, C::B, C::D (element types); GmemA, GmemB (rows, k, tiles of k), GmemD; SmemA, SmemB; CopyA, CopyB
// (global to shared memory, void where MapA, MapB is the tensor-map copy of WholeA, WholeB); ReadA, ReadB (shared
// memory to registers, void where the MMA reads shared memory itself). The epilogue: WriteD (registers to global
// memory, void: element by element as the MMA owns them), or through SmemD (else void) by StageD (registers to shared
// memory) and then WriteD or, where WriteD is void, the tensor-map store MapD.
#pragma once

#include "tma.hpp"

namespace cutecheck_gpu {

struct GemmJob {
  unsigned flags;
  unsigned reps;
  unsigned words;    // of shared memory to poison
  unsigned a_bytes, b_bytes, d_bytes;  // where the tiles start in shared memory, not known to the compiler: it must
                                       // not merge accesses that CuTe emits by what it knows of their alignment
  unsigned bar_bytes;                  // where the barrier of tensor-map loads lies
  unsigned poison;
  void const* a;
  void const* b;
  void* d;
  void const* map_a;  // objects of the types MapA, MapB, MapD
  void const* map_b;
  void const* map_d;
  long long* cycles;
};

// A loop that runs once, which the compiler does not know: warps without a part in the copy branch around it. Were its
// instructions predicated instead, counters of cp.async would count those of whole warps that are switched off.
template <class Copy, class From, class To>
CUTE_DEVICE void run_copy(GemmJob const& job, Copy const& copier, From const& from, To const& to) {
  if (threadIdx.x < size(copier)) {
    auto thr = copier.get_slice(threadIdx.x);
    CUTE_NO_UNROLL
    do {
      copy(copier, thr.partition_S(from), thr.partition_D(to));
    } while (job.flags & AGAIN);
  }
}

template <class Read, class Smem, class Frag>
CUTE_DEVICE void read_fragment(Smem const& smem, Frag& frag) {
  Read read;
  auto thr = read.get_slice(threadIdx.x);
  copy(read, thr.partition_S(smem), thr.retile_D(frag));
}

template <class Smem>
CUTE_DEVICE constexpr unsigned bytes_of(Smem const& smem) {
  return sizeof(typename Smem::value_type) * size(smem);
}

// Accumulators through shared memory to global memory.
template <class C, class Out, class GmemD>
CUTE_DEVICE void staged_epilogue(GemmJob const& job, Out const& out, GmemD const& gD) {
  extern __shared__ __align__(1024) unsigned char smem[];
  using D = typename C::D;
  auto sD = make_tensor(make_smem_ptr(reinterpret_cast<D*>(smem + job.d_bytes)), typename C::SmemD{});
  typename C::StageD stage;
  if (threadIdx.x < size(stage)) {
    auto thr = stage.get_slice(threadIdx.x);
    copy(stage, thr.retile_S(out), thr.partition_D(sD));
  }
  if constexpr (is_void_v<typename C::WriteD>) {
    cutlass::arch::fence_view_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) tma_put<typename C::GmemD>(*static_cast<typename C::MapD const*>(job.map_d), sD);
  } else {
    __syncthreads();
    typename C::WriteD write;
    if (threadIdx.x < size(write)) {
      auto thr = write.get_slice(threadIdx.x);
      auto to = thr.partition_D(gD);
      auto held = make_fragment_like(to);
      copy(write, thr.partition_S(sD), held);
      copy(write, held, to);
    }
  }
}

template <class C>
CUTE_DEVICE void gemm_kernel(GemmJob const& job) {
  extern __shared__ __align__(1024) unsigned char smem[];
  using A = typename C::A;
  using B = typename C::B;
  using D = typename C::D;
  constexpr bool MapsA = !is_void_v<typename C::MapA>, MapsB = !is_void_v<typename C::MapB>;
  constexpr bool Maps = MapsA || MapsB;
  if (job.flags & FILL) {
    for (unsigned i = threadIdx.x; i < job.words; i += blockDim.x) reinterpret_cast<unsigned*>(smem)[i] = job.poison;
    __syncthreads();
  }
  uint64_t& bar = *reinterpret_cast<uint64_t*>(smem + job.bar_bytes);
  if constexpr (Maps) {
    if (threadIdx.x == 0) {
      initialize_barrier(bar, 1);
      cutlass::arch::fence_barrier_init();
      if constexpr (MapsA) tma_descriptor_fence_acquire(static_cast<TmaDescriptor const*>(job.map_a));
      if constexpr (MapsB) tma_descriptor_fence_acquire(static_cast<TmaDescriptor const*>(job.map_b));
    }
    cutlass::arch::fence_view_async_shared();
    __syncthreads();
  }
  auto gA = make_tensor(make_gmem_ptr(static_cast<A const*>(job.a)), typename C::GmemA{});
  auto gB = make_tensor(make_gmem_ptr(static_cast<B const*>(job.b)), typename C::GmemB{});
  auto gD = make_tensor(make_gmem_ptr(static_cast<D*>(job.d)), typename C::GmemD{});
  auto sA = make_tensor(make_smem_ptr(reinterpret_cast<A*>(smem + job.a_bytes)), typename C::SmemA{});
  auto sB = make_tensor(make_smem_ptr(reinterpret_cast<B*>(smem + job.b_bytes)), typename C::SmemB{});
  typename C::Mma mma;
  auto thr_mma = mma.get_slice(threadIdx.x);
  auto acc = thr_mma.partition_fragment_C(gD);
  clear(acc);
  int phase = 0;
  long long const begin = clock64();
  for (unsigned r = 0; r < job.reps; ++r) {
    CUTE_NO_UNROLL
    for (int k = 0; k < size<2>(gA); ++k) {
      if constexpr (Maps) {
        if (threadIdx.x == 0) {
          set_barrier_transaction_bytes(bar, (MapsA ? bytes_of(sA) : 0) + (MapsB ? bytes_of(sB) : 0));
          if constexpr (MapsA) tma_fetch<typename C::WholeA>(*static_cast<typename C::MapA const*>(job.map_a), bar, sA, k);
          if constexpr (MapsB) tma_fetch<typename C::WholeB>(*static_cast<typename C::MapB const*>(job.map_b), bar, sB, k);
        }
      }
      if constexpr (!MapsA) run_copy(job, typename C::CopyA{}, gA(_, _, k), sA);
      if constexpr (!MapsB) run_copy(job, typename C::CopyB{}, gB(_, _, k), sB);
      if constexpr (Maps) wait_barrier(bar, phase);
      phase ^= 1;
      settle();
      if constexpr (C::Warpgroup) {
        cutlass::arch::fence_view_async_shared();
        __syncthreads();
        auto rB = thr_mma.make_fragment_B(thr_mma.partition_B(sB));
        auto go = [&](auto& rA) {
          warpgroup_fence_operand(acc);
          warpgroup_arrive();
          gemm(mma, rA, rB, acc);
          warpgroup_commit_batch();
          warpgroup_wait<0>();
          warpgroup_fence_operand(acc);
        };
        if constexpr (is_void_v<typename C::ReadA>) {
          auto rA = thr_mma.make_fragment_A(thr_mma.partition_A(sA));
          go(rA);
        } else {
          auto rA = thr_mma.partition_fragment_A(sA);
          read_fragment<typename C::ReadA>(sA, rA);
          go(rA);
        }
      } else {
        auto rA = thr_mma.partition_fragment_A(sA);
        auto rB = thr_mma.partition_fragment_B(sB);
        read_fragment<typename C::ReadA>(sA, rA);
        read_fragment<typename C::ReadB>(sB, rB);
        gemm(mma, rA, rB, acc);
      }
      __syncthreads();
    }
  }
  if (job.cycles) job.cycles[threadIdx.x] = clock64() - begin;
  auto out = make_fragment_like<D>(acc);
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) out(i) = static_cast<D>(acc(i));
  if constexpr (!is_void_v<typename C::SmemD>) {
    staged_epilogue<C>(job, out, gD);
  } else if constexpr (is_void_v<typename C::WriteD>) {
    auto part = thr_mma.partition_C(gD);
    CUTE_UNROLL
    for (int i = 0; i < size(part); ++i) part(i) = out(i);
  } else {
    typename C::WriteD write;
    auto thr = write.get_slice(threadIdx.x);
    copy(write, thr.retile_S(out), thr.partition_D(gD));
  }
}

}  // namespace cutecheck_gpu
