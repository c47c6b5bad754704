// Device side of the GPU tier: one copy, or one GEMM, of exactly the types it is given.
//
// Every kernel is told by `flags` what to do besides the work itself, so that counters of a bare run hold nothing else.
// Elements travel as raw bits: a copy moves bits, and codes of coordinates are compared as such.
#pragma once

#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/arch/copy_sm80.hpp>
#include <cute/arch/mma_sm90_gmma.hpp>

namespace cutecheck_gpu {

using namespace cute;

enum : unsigned { FILL = 1, DUMP = 2, COUNT = 4, AGAIN = 1u << 31 };  // AGAIN is never set

template <class T>
using Raw = uint_bit_t<sizeof_bits_v<T>>;

template <class T>
CUTE_DEVICE Raw<T> raw(T const& value) {
  return reinterpret_cast<Raw<T> const&>(value);
}

// Fill shared memory with words, neighbouring lanes neighbouring words: one wavefront an instruction.
CUTE_DEVICE void words(unsigned* to, unsigned const* from, unsigned count) {
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

CUTE_DEVICE void settle() {
#if __CUDA_ARCH__ >= 800
  cp_async_fence();
  cp_async_wait<0>();
#endif
  __syncthreads();
}

template <class T, class Part>
CUTE_DEVICE void count(unsigned* counts, unsigned room, T const* base, Part const& part) {
  CUTE_UNROLL
  for (int i = 0; i < size(part); ++i) {
    long long const at = &part(i) - base;
    atomicAdd(counts + (at >= 0 && at < room ? at : room), 1u);
  }
}

// Folds a loaded fragment into `sink`, so that no repetition's loads are dead.
template <class Frag>
CUTE_DEVICE void fold(Frag const& frag, unsigned& sink) {
  if constexpr (size(Frag{}) * sizeof_bits_v<typename Frag::value_type> % 32 == 0) {
    auto w = recast<unsigned>(frag);
    CUTE_UNROLL
    for (int i = 0; i < size(w); ++i) sink ^= w(i);
  } else {
    CUTE_UNROLL
    for (int i = 0; i < size(frag); ++i) sink ^= unsigned(raw(frag(i)));
  }
}

struct Room {
  unsigned src, dst;  // elements that may be addressed on each side
};

struct Job {
  unsigned flags;
  unsigned reps;       // at least 1: how often the copy runs
  Room room;
  unsigned dst_bytes;  // where the destination (or the only side) starts in shared memory: not known to the compiler,
                       // which must not merge accesses that CuTe emits by what it knows of their alignment
  unsigned step;       // bytes from one repetition's source to the next: 0, not known to the compiler, which must not
                       // move loads out of the repetition
  void const* in;      // what the source holds (memory: by offset; registers: value * threads + thread)
  void* out;           // the destination (same form)
  unsigned* src_counts;
  unsigned* dst_counts;
  long long* cycles;
};

// From memory into registers. `Frag` is the fragment's layout as the checked code has it.
template <class T, class Src, class Copy, class Frag, bool Shared>
CUTE_DEVICE void load(Job const& job, Src const& layout) {
  extern __shared__ __align__(1024) unsigned char smem[];
  auto base = Shared ? smem + job.dst_bytes : static_cast<unsigned char const*>(job.in);
  if (Shared && (job.flags & FILL)) {
    words(reinterpret_cast<unsigned*>(smem), static_cast<unsigned const*>(job.in), (job.room.src * sizeof(T) + 3) / 4);
  }
  __syncthreads();
  Copy copier;
  if (threadIdx.x >= size(copier)) return;
  auto thr = copier.get_slice(threadIdx.x);
  auto whole = [&](unsigned r) {
    auto at = reinterpret_cast<T const*>(base + r * job.step);
    if constexpr (Shared) return make_tensor(make_smem_ptr(const_cast<T*>(at)), layout);
    else return make_tensor(make_gmem_ptr(at), layout);
  };
  auto frag = make_tensor<T>(Frag{});
  unsigned sink = 0;
  long long const begin = clock64();
  for (unsigned r = 0; r < job.reps; ++r) {
    copy(copier, thr.partition_S(whole(r)), frag);
    fold(frag, sink);
  }
  long long const end = clock64();
  if (job.cycles) job.cycles[threadIdx.x] = end - begin;
  if (job.step == ~0u) static_cast<unsigned*>(job.out)[threadIdx.x] = sink;
  auto out = static_cast<Raw<T>*>(job.out);
  CUTE_UNROLL
  for (int i = 0; i < size(frag); ++i) out[i * int(size(copier)) + threadIdx.x] = raw<T>(frag(i));
  if (job.flags & COUNT) {
    count(job.src_counts, job.room.src, reinterpret_cast<T const*>(base), thr.partition_S(whole(0)));
  }
}

// From registers into memory.
template <class T, class Dst, class Copy, class Frag, bool Shared>
CUTE_DEVICE void store(Job const& job, Dst const& layout) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned const count_words = (job.room.dst * sizeof(T) + 3) / 4;
  if (Shared && (job.flags & FILL)) words(reinterpret_cast<unsigned*>(smem), static_cast<unsigned const*>(job.out), count_words);
  __syncthreads();
  T* base = Shared ? reinterpret_cast<T*>(smem + job.dst_bytes) : static_cast<T*>(job.out);
  Copy copier;
  if (threadIdx.x < size(copier)) {
    auto whole = [&] {
      if constexpr (Shared) return make_tensor(make_smem_ptr(base), layout);
      else return make_tensor(make_gmem_ptr(base), layout);
    }();
    auto thr = copier.get_slice(threadIdx.x);
    auto part = thr.partition_D(whole);
    auto frag = make_tensor<T>(Frag{});
    auto in = static_cast<Raw<T> const*>(job.in);
    CUTE_UNROLL
    for (int i = 0; i < size(frag); ++i) {
      Raw<T> const bits = in[i * int(size(copier)) + threadIdx.x];
      frag(i) = reinterpret_cast<T const&>(bits);
    }
    long long const begin = clock64();
    for (unsigned r = 0; r < job.reps; ++r) {
      copy(copier, frag, part);
      asm volatile("" ::: "memory");
    }
    long long const end = clock64();
    if (job.cycles) job.cycles[threadIdx.x] = end - begin;
    if (job.flags & COUNT) count(job.dst_counts, job.room.dst, base, part);
  }
  __syncthreads();
  if (Shared && (job.flags & DUMP)) words(static_cast<unsigned*>(job.out), reinterpret_cast<unsigned const*>(smem), count_words);
}

// From memory to memory: cp.async, or through registers as CuTe does it.
template <class T, class Src, class Dst, class Copy, bool SharedSrc, bool SharedDst>
CUTE_DEVICE void stage(Job const& job, Src const& from, Dst const& to) {
  extern __shared__ __align__(1024) unsigned char smem[];
  unsigned char* second = smem + job.dst_bytes;
  unsigned const src_words = (job.room.src * sizeof(T) + 3) / 4, dst_words = (job.room.dst * sizeof(T) + 3) / 4;
  if (job.flags & FILL) {
    if (SharedSrc) words(reinterpret_cast<unsigned*>(smem), static_cast<unsigned const*>(job.in), src_words);
    if (SharedDst) words(reinterpret_cast<unsigned*>(second), static_cast<unsigned const*>(job.out), dst_words);
  }
  __syncthreads();
  auto first = SharedSrc ? smem : static_cast<unsigned char const*>(job.in);
  T* dst = SharedDst ? reinterpret_cast<T*>(second) : static_cast<T*>(job.out);
  Copy copier;
  if (threadIdx.x < size(copier)) {
    auto a = [&](unsigned r) {
      auto at = reinterpret_cast<T const*>(first + (SharedSrc ? r * job.step : 0));  // global loads may be made once
      if constexpr (SharedSrc) return make_tensor(make_smem_ptr(const_cast<T*>(at)), from);
      else return make_tensor(make_gmem_ptr(at), from);
    };
    auto b = [&] {
      if constexpr (SharedDst) return make_tensor(make_smem_ptr(dst), to);
      else return make_tensor(make_gmem_ptr(dst), to);
    }();
    auto thr = copier.get_slice(threadIdx.x);
    auto pb = thr.partition_D(b);
    long long const begin = clock64();
    for (unsigned r = 0; r < job.reps; ++r) {
      copy(copier, thr.partition_S(a(r)), pb);
      asm volatile("" ::: "memory");
    }
#if __CUDA_ARCH__ >= 800
    cp_async_fence();
    cp_async_wait<0>();
#endif
    long long const end = clock64();
    if (job.cycles) job.cycles[threadIdx.x] = end - begin;
    if (job.flags & COUNT) {
      count(job.src_counts, job.room.src, reinterpret_cast<T const*>(first), thr.partition_S(a(0)));
      count(job.dst_counts, job.room.dst, static_cast<T const*>(dst), pb);
    }
  }
  settle();
  if (SharedDst && (job.flags & DUMP)) words(static_cast<unsigned*>(job.out), reinterpret_cast<unsigned const*>(second), dst_words);
}

}  // namespace cutecheck_gpu
