#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kStages = 3;
template <int N> CUTE_DEVICE void wait_and_sync() { cp_async_wait<N>(); __syncthreads(); }

__global__ void __launch_bounds__(128) sum(float const* in, float* out, int n) {
  __shared__ alignas(16) float smem[kStages * 512];
  auto per_stage = Layout<Shape<_8, _64, Int<kStages>>, Stride<_64, _1, _512>>{};
  Tensor s = make_tensor(make_smem_ptr(smem), per_stage);
  Tensor g = make_tensor(make_gmem_ptr(in), make_layout(make_shape(_8{}, _64{}, n), make_stride(_64{}, _1{}, 512)));
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto read = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto l = load.get_slice(threadIdx.x);
  auto r = read.get_slice(threadIdx.x);
  Tensor from = l.partition_S(g), to = l.partition_D(s), mine = r.partition_S(s);
  Tensor acc = make_fragment_like(mine(_, _, _, 0)), now = make_fragment_like(acc);
  clear(acc);
  auto add = [&](int stage) {
    copy(read, mine(_, _, _, stage), now);
    for (int i = 0; i < size(acc); ++i) acc(i) += now(i);
  };
  for (int t = 0; t < kStages - 1; ++t) { copy(load, from(_, _, _, t), to(_, _, _, t)); cp_async_fence(); }
  int t = 0;
  for (; t < n - (kStages - 1); ++t) {
    wait_and_sync<kStages - 2>();
    add(t % kStages);
    __syncthreads();
    copy(load, from(_, _, _, t + kStages - 1), to(_, _, _, (t + kStages - 1) % kStages));
    cp_async_fence();
  }
  for (int left = 0; left < kStages - 1; ++left, ++t) {
    wait_and_sync<kStages - 2>();
    add(t % kStages);
  }
  copy(read, acc, r.partition_D(make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{})));
}
