#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class Stride_>
__global__ void __launch_bounds__(128) load_b(half_t const* B, int ldb) {
  // cutecheck: assume ldb % 8 == 0
  __shared__ alignas(128) half_t smem[64 * 64];
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_64{}, _64{}), Stride_{ _1{}, ldb });
  Tensor sB = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(threadIdx.x);
  copy(load, thr.partition_S(mB), thr.partition_D(sB));
}
void run(half_t const* B, int ldb) { load_b<Stride<_1, int>><<<1, 128>>>(B, ldb); }
