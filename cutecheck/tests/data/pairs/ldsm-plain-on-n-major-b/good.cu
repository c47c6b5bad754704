#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

namespace gemm {
using namespace cute;

template <class Element, int kN, int kK>
struct OperandB {
  // N is contiguous: B is stored K x N row-major
  using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{}));
  using Smem = decltype(tile_to_shape(Atom{}, Shape<Int<kN>, Int<kK>>{}));
  using Read = Copy_Atom<SM75_U16x8_LDSM_T, Element>;
  struct Storage { alignas(128) Element data[cosize_v<Smem>]; };
};

template <class Traits, class Mma, class Fragment>
__device__ void read_b(typename Traits::Storage& storage, Mma const& mma, Fragment& frag, int tid) {
  auto sB = make_tensor(make_smem_ptr(storage.data), typename Traits::Smem{});
  auto tiled = make_tiled_copy_B(typename Traits::Read{}, mma);
  auto mine = tiled.get_thread_slice(tid);
  copy(tiled, mine.partition_S(sB), mine.retile_D(frag));
}

template <class Element>
__global__ void __launch_bounds__(128) load_operand(Element const* in) {
  using Traits = OperandB<Element, 64, 32>;
  __shared__ typename Traits::Storage storage;
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>> mma;
  auto sB = make_tensor(make_smem_ptr(storage.data), typename Traits::Smem{});
  auto frag = mma.get_thread_slice(threadIdx.x).partition_fragment_B(sB);
  read_b<Traits>(storage, mma, frag, threadIdx.x);
}
template __global__ void load_operand<half_t>(half_t const*);
}  // namespace gemm
