#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

struct Readers {
  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _1, _1>>, Tile<_32, _16, _16>>;
  using Atom = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;
  decltype(make_tiled_copy_A(Atom{}, Mma{})) a;
  decltype(make_tiled_copy_B(Atom{}, Mma{})) b;
};

__global__ void __launch_bounds__(64) both(half_t* out) {
  using Smem = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}), Shape<_64, _64>{}));
  __shared__ alignas(128) half_t bufA[cosize_v<Smem>], bufB[cosize_v<Smem>];
  Tensor sA = make_tensor(make_smem_ptr(bufA), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(bufB), Smem{});
  Readers readers;
  Readers::Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(sA);
  Tensor rB = thr.partition_fragment_B(sB);
  auto slice_a = readers.a.get_slice(threadIdx.x);
  auto slice_b = readers.b.get_slice(threadIdx.x);
  copy(readers.a, slice_a.partition_S(sA), slice_a.retile_D(rA));
  copy(readers.b, slice_b.partition_S(sB), slice_b.retile_D(rB));
  out[threadIdx.x] = rA(0) + rB(0);
}
