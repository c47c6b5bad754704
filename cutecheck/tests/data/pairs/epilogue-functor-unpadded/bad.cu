#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class T, int M, int N>
struct StoreTile {
  static constexpr int kPad = 0;
  using Rows = Layout<Shape<Int<M>, Int<N>>, Stride<Int<N + kPad>, _1>>;
  template <class Acc, class Mma, class Out>
  CUTE_DEVICE void operator()(Acc const& acc, Mma const& mma, T* smem, Out gC, int tid) const {
    Tensor sC = make_tensor(make_smem_ptr(smem), Rows{});
    Tensor cast = make_fragment_like<T>(acc);
    for (int i = 0; i < size(acc); ++i) cast(i) = T(acc(i));
    auto r2s = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, T>{}, mma);
    auto thr = r2s.get_slice(tid);
    copy(r2s, thr.retile_S(cast), thr.partition_D(sC));
    __syncthreads();
    auto s2g = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
    auto out = s2g.get_slice(tid);
    copy(s2g, out.partition_S(sC), out.partition_D(gC));
  }
};

__global__ void __launch_bounds__(128) tile(half_t const* A, half_t const* B, half_t* C, int k) {
  __shared__ alignas(128) half_t smem[64 * 72];
  TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>> mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_64{}, _16{}, k), make_stride(_16{}, _1{}, 1024)));
  Tensor gB = make_tensor(make_gmem_ptr(B), make_layout(make_shape(_64{}, _16{}, k), make_stride(_16{}, _1{}, 1024)));
  Tensor acc = thr.partition_fragment_C(gC);
  clear(acc);
  for (int i = 0; i < k; ++i) {
    Tensor a = make_tensor_like<half_t>(thr.partition_A(gA(_, _, i)));
    Tensor b = make_tensor_like<half_t>(thr.partition_B(gB(_, _, i)));
    copy(AutoVectorizingCopy{}, thr.partition_A(gA(_, _, i)), a);
    copy(AutoVectorizingCopy{}, thr.partition_B(gB(_, _, i)), b);
    gemm(mma, a, b, acc);
  }
  StoreTile<half_t, 64, 64>{}(acc, mma, smem, gC, threadIdx.x);
}
void run(half_t const* a, half_t const* b, half_t* c, int k) { tile<<<1, 128>>>(a, b, c, k); }
