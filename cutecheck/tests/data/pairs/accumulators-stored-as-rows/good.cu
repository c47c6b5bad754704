#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class Mma, class Out>
CUTE_DEVICE void store(Mma const& mma, Out out, int tid) {
  auto thr = mma.get_slice(tid);
  auto acc = thr.partition_fragment_C(out);
  clear(acc);
  auto rows = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint64_t>, float>{}, mma);
  auto mine = rows.get_slice(tid);
  copy(rows, mine.retile_S(acc), mine.partition_D(out));
}

__global__ void __launch_bounds__(128) zero(float* C, int ldc) {
  // cutecheck: assume ldc % 32 == 0
  Tensor gC = make_tensor(make_gmem_ptr(C), make_layout(Shape<_64, _64>{}, make_stride(ldc, _1{})));
  store(TiledMMA<MMA_Atom<SM80_16x8x8_F32TF32TF32F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _8>>{}, gC, threadIdx.x);
}
