// Device side of the ISA tier: one copy or one gemm of exactly the checked types, and nothing else that loads or stores.
#pragma once

#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/arch/copy_sm80.hpp>
#include <cute/arch/mma_sm90_gmma.hpp>

namespace cutecheck_isa {

using namespace cute;

// How a copy without a tiled object or atom is called.
struct Plain {};
struct Aligned {};

// Where operands start is not known to the compiler: it must not join accesses that CuTe emits apart by what it knows
// of their alignment.
struct Places {
  unsigned a, b;         // bytes into shared memory
  void* p;
  void* q;
};

template <int Space, class T>
CUTE_DEVICE auto memory(unsigned offset, void* global) {
  extern __shared__ __align__(1024) unsigned char smem[];
  if constexpr (Space == 0) return make_gmem_ptr(static_cast<T*>(global));
  else return make_smem_ptr(reinterpret_cast<T*>(smem + offset));
}

// A word of each thread's own that the compiler knows nothing of, without a load: each reading of the clock is another.
CUTE_DEVICE unsigned reading() {
  unsigned value;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(value));
  return value ^ threadIdx.x;
}

template <class Tensor>
constexpr int bytes_of = cosize_v<typename Tensor::layout_type> * sizeof_bits_v<typename Tensor::value_type> / 8;

template <class Tensor>
CUTE_DEVICE void unknown(Tensor& frag) {
  constexpr int bytes = bytes_of<Tensor>;
  auto raw = reinterpret_cast<unsigned char*>(raw_pointer_cast(frag.data()));
  CUTE_UNROLL
  for (int i = 0; i < bytes / 4; ++i) reinterpret_cast<unsigned*>(raw)[i] = reading();
  if constexpr (bytes % 4 >= 2) *reinterpret_cast<unsigned short*>(raw + bytes / 4 * 4) = reading();
  if constexpr (bytes % 2) raw[bytes - 1] = reading();
}

// Keeps what was loaded or computed: one reduction, which is neither load nor store.
template <class Tensor>
CUTE_DEVICE void used(Places const& at, Tensor& frag) {
  constexpr int bytes = bytes_of<Tensor>;
  auto raw = reinterpret_cast<unsigned char*>(raw_pointer_cast(frag.data()));
  unsigned all = 0;
  CUTE_UNROLL
  for (int i = 0; i < bytes / 4; ++i) all = all * 31 + reinterpret_cast<unsigned*>(raw)[i];
  if constexpr (bytes % 4 >= 2) all = all * 31 + *reinterpret_cast<unsigned short*>(raw + bytes / 4 * 4);
  if constexpr (bytes % 2) all = all * 31 + raw[bytes - 1];
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at.q), "r"(all));
}

template <class How, class From, class To>
CUTE_DEVICE void moved(From const& from, To& to) {
  if constexpr (is_same_v<How, Plain>) copy(from, to);
  else if constexpr (is_same_v<How, Aligned>) copy_aligned(from, to);
  else copy(How{}, from, to);
}

template <class How, class T, class Src, class Dst, int From, int To>
CUTE_DEVICE void between(Places const& at, Src const& src, Dst const& dst) {
  auto from = make_tensor(memory<From, T>(at.a, at.p), src);
  auto to = make_tensor(memory<To, T>(at.b, at.q), dst);
  moved<How>(from, to);
#if __CUDA_ARCH__ >= 800
  cp_async_fence();
  cp_async_wait<0>();
#endif
}

template <class How, class T, class Src, class Dst, int From>
CUTE_DEVICE void load(Places const& at, Src const& src, Dst const&) {
  auto from = make_tensor(memory<From, T>(at.a, at.p), src);
  auto to = make_tensor<T>(Dst{});
  moved<How>(from, to);
  used(at, to);
}

template <class How, class T, class Src, class Dst, int To>
CUTE_DEVICE void store(Places const& at, Src const&, Dst const& dst) {
  auto from = make_tensor<T>(Src{});
  unknown(from);
  auto to = make_tensor(memory<To, T>(at.b, at.q), dst);
  moved<How>(from, to);
}

// A MMA on registers: exactly the operands' layouts.
template <class Mma, class A, class B, class C, class TA, class TB, class TC>
CUTE_DEVICE void multiply(Places const& at, TA const&, TB const&, TC const&) {
  auto a = make_tensor<A>(TA{});
  auto b = make_tensor<B>(TB{});
  auto c = make_tensor<C>(TC{});
  unknown(a);
  unknown(b);
  unknown(c);
  gemm(Mma{}, a, b, c);
  used(at, c);
}

// Cuts trailing modes (stages, steps of K) off, so that a fragment has `Rank` modes.
template <int Rank, class Tensor>
CUTE_DEVICE auto cut(Tensor const& t) {
  if constexpr (Tensor::rank > Rank) {
    if constexpr (Tensor::rank == 4) return cut<Rank>(t(_, _, _, 0));
    else return cut<Rank>(t(_, _, 0));
  } else {
    return t;
  }
}

// An operand that the MMA reads from shared memory, by its partitioned layout.
template <class Mma, bool First, int Rank, class T, class Smem>
CUTE_DEVICE auto descriptors(unsigned offset, Smem const& layout) {
  auto part = make_tensor(memory<1, T>(offset, nullptr), layout);
  if constexpr (First) return cut<Rank>(Mma{}.get_slice(0).make_fragment_A(part));
  else return cut<Rank>(Mma{}.get_slice(0).make_fragment_B(part));
}

// The descriptors of one operand and nothing else: whether the compiler takes its layout.
template <class Mma, bool First, class T, class Smem>
CUTE_DEVICE void descriptor(Places const& at, Smem const& layout) {
  auto part = make_tensor(memory<1, T>(at.a, nullptr), layout);
  if constexpr (First) (void)Mma{}.get_slice(0).make_fragment_A(part);
  else (void)Mma{}.get_slice(0).make_fragment_B(part);
}

// A warpgroup's MMA; `SA` is void where A is in registers with layout `TA`.
template <class Mma, int Rank, class A, class B, class C, class SA, class TA, class SB, class TC>
CUTE_DEVICE void warpgroup(Places const& at) {
  auto b = descriptors<Mma, false, Rank, B>(at.b, SB{});
  auto c = make_tensor<C>(TC{});
  unknown(c);
  auto go = [&](auto& a) {
    warpgroup_fence_operand(c);
    warpgroup_arrive();
    gemm(Mma{}, a, b, c);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(c);
  };
  if constexpr (is_void_v<SA>) {
    auto a = make_tensor<A>(TA{});
    unknown(a);
    go(a);
  } else {
    auto a = descriptors<Mma, true, Rank, A>(at.a, SA{});
    go(a);
  }
  used(at, c);
}

#if defined(CUTE_ARCH_TCGEN05_TMEM_ENABLED) || defined(CUTLASS_ARCH_MMA_SM100_ENABLED)
// An MMA whose accumulators are in tensor memory and whose operands are in shared memory.
template <class Mma, int Rank, class A, class B, class C, class SA, class SB, class TC>
CUTE_DEVICE void tensor_memory(Places const& at) {
  auto a = descriptors<Mma, true, Rank, A>(at.a, SA{});
  auto b = descriptors<Mma, false, Rank, B>(at.b, SB{});
  auto c = make_tensor(make_tmem_ptr<C>(at.a), TC{});
  gemm(Mma{}, a, b, c);
}

template <class How, class T, class Src, class Dst>
CUTE_DEVICE void tmem_load(Places const& at, Src const& src, Dst const&) {
  auto from = make_tensor(make_tmem_ptr<T>(at.a), src);
  auto to = make_tensor<T>(Dst{});
  moved<How>(from, to);
  used(at, to);
}

template <class How, class T, class Src, class Dst>
CUTE_DEVICE void tmem_store(Places const& at, Src const&, Dst const& dst) {
  auto from = make_tensor<T>(Src{});
  unknown(from);
  auto to = make_tensor(make_tmem_ptr<T>(at.a), dst);
  moved<How>(from, to);
}
#endif

}  // namespace cutecheck_isa
