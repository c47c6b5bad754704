#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

// O = P V: V is (keys, head) row-major, read through its transpose as operand B (head, keys)
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _16, _16>>;
using SmemAtom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using SmemV = decltype(tile_to_shape(SmemAtom{}, Shape<_64, _64>{}));
using SmemVt = decltype(composition(SmemV{}, make_layout(Shape<_64, _64>{}, GenRowMajor{})));
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using VAtom = Copy_Atom<SM75_U16x8_LDSM_T, half_t>;

__global__ void __launch_bounds__(128) weighted(half_t const* P, half_t const* V, float* O) {
  __shared__ alignas(128) half_t smem[cosize_v<SmemV>];
  Tensor gP = make_tensor(make_gmem_ptr(P), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gV = make_tensor(make_gmem_ptr(V), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gO = make_tensor(make_gmem_ptr(O), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor sV = make_tensor(make_smem_ptr(smem), SmemV{});
  Tensor sVt = make_tensor(make_smem_ptr(smem), SmemVt{});
  auto load = Load{}.get_slice(threadIdx.x);
  copy(Load{}, load.partition_S(gV), load.partition_D(sV));
  __syncthreads();
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rP = thr.partition_fragment_A(gP);
  Tensor rVt = thr.partition_fragment_B(sVt);
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  copy(thr.partition_A(gP), rP);
  auto s2r = make_tiled_copy_B(VAtom{}, mma);
  auto thr_s2r = s2r.get_slice(threadIdx.x);
  Tensor tVsVt = thr_s2r.partition_S(sVt);
  Tensor tVrVt = thr_s2r.retile_D(rVt);
  CUTE_UNROLL
  for (int k = 0; k < size<2>(rVt); ++k) {
    copy(s2r, tVsVt(_, _, k), tVrVt(_, _, k));
    gemm(mma, rP(_, _, k), rVt(_, _, k), acc);
  }
  copy(acc, thr.partition_C(gO));
}
