// Prints the fields of CuTe values for cutecheck's host tier: one line a field, "\x1f name \x1f text".
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include <cuda_runtime.h>
#include <device_launch_parameters.h>

#include <cutlass/cutlass.h>
#include <cutlass/numeric_types.h>
#include <cutlass/complex.h>
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/algorithm/copy.hpp>
#include <cute/algorithm/gemm.hpp>

// what only nvcc knows
#ifndef __launch_bounds__
#define __launch_bounds__(...)
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif

// device functions that authors call outside of templates; nothing here ever runs them
inline void __syncthreads() {}
inline void __syncwarp(unsigned = 0xffffffffu) {}

namespace cutecheck_host {

enum : unsigned { SIZE = 1, COSIZE = 2, PARTS = 4, OFFSET = 8, HASH = 16, TV_A = 32, TV_B = 64, TV_C = 128, TILE = 256 };

inline void name(char const* part, char const* field) { std::printf("\n\x1f%s%s\x1f", part, field); }

template <class T>
void put(char const* part, char const* field, T const& value) {
  name(part, field);
  cute::print(value);
}

// A value that its type says all of is named by it, and what would compute it is never emitted.
#define CUTECHECK_VALUE(...) \
  (cutecheck_host::made<std::remove_cv_t<std::remove_reference_t<decltype(__VA_ARGS__)>>>([&] { return __VA_ARGS__; }))

template <class T, class F>
T made(F const& compute) {
  if constexpr (std::is_empty_v<T> && std::is_default_constructible_v<T>) return T{};
  else return compute();
}

inline void put_text(char const* part, char const* field, std::string_view text) {
  name(part, field);
  std::printf("%.*s", static_cast<int>(text.size()), text.data());
}

template <class T>
constexpr std::string_view function_name() { return __PRETTY_FUNCTION__; }

// The type's name as the compiler writes it; the expected text where it is the expected type.
template <class Got, class Expected>
void put_type(char const* part, char const* field, char const* expected) {
  if constexpr (std::is_same_v<Got, Expected>) {
    put_text(part, field, expected);
  } else {
    std::string_view text = function_name<Got>();
    auto const begin = text.find("Got = ") != text.npos ? text.find("Got = ") + 6 : text.find("T = ") + 4;
    auto const end = text.find_last_of(";]");
    put_text(part, field, text.substr(begin, (end == text.npos ? text.size() : end) - begin));
  }
}

template <class L>
struct flagged : std::false_type {};
template <class A, int B, class L>
struct flagged<cute::ComposedLayout<A, cute::smem_ptr_flag_bits<B>, L>> : std::true_type {};
template <class A, int S, int B, class L>
struct flagged<cute::ComposedLayout<A, cute::smem_sparse_ptr_flag_bits<S, B>, L>> : std::true_type {};

// An offset in elements; a swizzle on an unset pointer is taken on the elements themselves.
template <class L>
std::int64_t offset_at(L const& layout, std::int64_t i) {
  if constexpr (flagged<L>::value) {
    return static_cast<std::int64_t>(layout.layout_a()(layout.layout_b()(i)));
  } else {
    return static_cast<std::int64_t>(layout(i));
  }
}

template <class L>
std::uint64_t offsets_hash(L const& layout) {
  std::uint64_t h = 1469598103934665603ull;
  std::int64_t const n = static_cast<std::int64_t>(cute::size(layout));
  for (std::int64_t i = 0; i < n; ++i) {
    h = (h ^ static_cast<std::uint64_t>(offset_at(layout, i))) * 1099511628211ull;
  }
  return h;
}

template <unsigned Has, class L>
void layout(L const& value) {
  put("", "text", value);
  if constexpr (Has & SIZE) put("", "size", CUTECHECK_VALUE(cute::size(value)));
  if constexpr (Has & COSIZE) put("", "cosize", CUTECHECK_VALUE(cute::cosize(value)));
  put("", "rank", CUTECHECK_VALUE(cute::rank(value)));
  if constexpr (Has & PARTS) {
    put("", "swizzle", value.layout_a());
    put("", "base", value.layout_b());
  }
  if constexpr (Has & OFFSET) put("", "offset", value.offset());
  if constexpr (Has & HASH) {
    name("", "offsets_fnv1a64");
    std::printf("%llx", static_cast<unsigned long long>(offsets_hash(value)));
  }
}

template <class... T>
struct types {};

template <class Atom>
struct argument_of;
template <class Op>
struct argument_of<cute::MMA_Atom<Op>> { using type = Op; };
template <class Op, class T>
struct argument_of<cute::Copy_Atom<Op, T>> { using type = Op; };

template <class Atom, class Op, class A, class B, class C, class D>
void mma_atom(types<Op, A, B, C, D>, char const* op, char const* a, char const* b, char const* c, char const* d) {
  char const* part = "atom.";
  put(part, "ThrID", typename Atom::ThrID{});
  put(part, "Shape_MNK", typename Atom::Shape_MNK{});
  put(part, "LayoutA_TV", typename Atom::LayoutA_TV{});
  put(part, "LayoutB_TV", typename Atom::LayoutB_TV{});
  put(part, "LayoutC_TV", typename Atom::LayoutC_TV{});
  put_type<typename argument_of<Atom>::type, Op>(part, "op", op);
  put_type<typename Atom::ValTypeA, A>(part, "ValTypeA", a);
  put_type<typename Atom::ValTypeB, B>(part, "ValTypeB", b);
  put_type<typename Atom::ValTypeC, C>(part, "ValTypeC", c);
  put_type<typename Atom::ValTypeD, D>(part, "ValTypeD", d);
}

template <class Atom, class Op, class T>
void copy_atom(types<Op, T>, char const* op, char const* type) {
  char const* part = "atom.";
  put(part, "ThrID", typename Atom::ThrID{});
  put(part, "ValLayoutSrc", typename Atom::ValLayoutSrc{});
  put(part, "ValLayoutDst", typename Atom::ValLayoutDst{});
  put(part, "ValLayoutRef", typename Atom::ValLayoutRef{});
  name(part, "ValueType_bits");
  std::printf("%d", static_cast<int>(cute::sizeof_bits_v<typename Atom::ValType>));
  put_type<typename Atom::ValType, T>(part, "ValueType", type);
  put_type<typename argument_of<Atom>::type, Op>(part, "op", op);
}

template <class M>
struct mma_parts;
template <class Atom, class Layout, class Permutation>
struct mma_parts<cute::TiledMMA<Atom, Layout, Permutation>> {
  using atom = Atom;
  using layout = Layout;
  using permutation = Permutation;
};

template <class C>
struct copy_parts;
template <class Atom, class Layout, class Tiler>
struct copy_parts<cute::TiledCopy<Atom, Layout, Tiler>> {
  using atom = Atom;
  using layout = Layout;
  using tiler = Tiler;
};

template <unsigned Has, class M>
void tiled_mma() {
  using Parts = mma_parts<M>;
  M mma;
  put("", "ThrLayoutVMNK", CUTECHECK_VALUE(mma.get_thr_layout_vmnk()));
  put("", "PermutationMNK", typename Parts::permutation{});
  put("", "AtomLayoutMNK", typename Parts::layout{});
  put("", "size", CUTECHECK_VALUE(cute::size(mma)));
  if constexpr (Has & TILE) {
    put("", "tile_MNK.0", CUTECHECK_VALUE(cute::tile_size<0>(mma)));
    put("", "tile_MNK.1", CUTECHECK_VALUE(cute::tile_size<1>(mma)));
    put("", "tile_MNK.2", CUTECHECK_VALUE(cute::tile_size<2>(mma)));
  }
  if constexpr (Has & TV_A) put("", "LayoutA_TV", CUTECHECK_VALUE(mma.get_layoutA_TV()));
  if constexpr (Has & TV_B) put("", "LayoutB_TV", CUTECHECK_VALUE(mma.get_layoutB_TV()));
  if constexpr (Has & TV_C) put("", "LayoutC_TV", CUTECHECK_VALUE(mma.get_layoutC_TV()));
}

template <class C>
void tiled_copy() {
  using Parts = copy_parts<C>;
  put("", "Tiler_MN", typename Parts::tiler{});
  put("", "TiledLayout_TV", typename Parts::layout{});
  put("", "size", CUTECHECK_VALUE(cute::size(typename Parts::layout{})));
  put("", "NumThr", CUTECHECK_VALUE(cute::size(C{})));
}

}  // namespace cutecheck_host
