#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(128) gather(half_t const* in) {
  __shared__ alignas(128) half_t tile[64 * 64];
  auto const lane = threadIdx.x % 32;
  auto rows = make_layout(make_shape(_64{}, _64{}), make_stride(_64{}, _1{}));
  auto g = make_tensor(make_gmem_ptr(in), rows);
  auto s = make_tensor(make_smem_ptr(tile), rows);
  auto cp = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{}, make_layout(make_shape(_16{}, _8{}), make_stride(_8{}, _1{})), make_layout(make_shape(_1{}, _8{})));
  auto thr = cp.get_slice(lane);
  copy(cp, thr.partition_S(g), thr.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
}
