#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <int HeadDim>
struct Attn {
  static constexpr int kDim = HeadDim;
  using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32BF16BF16F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _16, _16>>;
};

template <class Cfg>
__global__ void __launch_bounds__(128) scores(bfloat16_t const* q, bfloat16_t const* k, float* s) {
  typename Cfg::Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  auto operand = [](auto* p) { return make_tensor(make_gmem_ptr(p), make_layout(make_shape(_64{}, Int<Cfg::kDim>{}), LayoutRight{})); };
  Tensor rQ = mine.partition_fragment_A(operand(q));
  Tensor rK = mine.partition_fragment_B(operand(k));
  copy(AutoVectorizingCopy{}, mine.partition_A(operand(q)), rQ);
  copy(AutoVectorizingCopy{}, mine.partition_B(operand(k)), rK);
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  gemm(mma, rQ, rK, acc);
  s[threadIdx.x] = acc(0);
}
void run(bfloat16_t const* q, bfloat16_t const* k, float* s) { scores<Attn<48>><<<1, 128>>>(q, k, s); }
