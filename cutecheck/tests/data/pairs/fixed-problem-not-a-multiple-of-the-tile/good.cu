#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kN = 1024;
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_128>{}, Layout<_4>{}));
__global__ void __launch_bounds__(128) scale(float const* in, float* out) {
  Tensor mI = make_tensor(make_gmem_ptr(in), Int<kN>{});
  Tensor mO = make_tensor(make_gmem_ptr(out), Int<kN>{});
  Tensor gI = local_tile(mI, Shape<_512>{}, make_coord(blockIdx.x));
  Tensor gO = local_tile(mO, Shape<_512>{}, make_coord(blockIdx.x));
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tI = thr.partition_S(gI);
  Tensor tO = thr.partition_D(gO);
  Tensor r = make_fragment_like(tI);
  copy(load, tI, r);
  copy(load, r, tO);
}
void run(float const* in, float* out) { scale<<<ceil_div(kN, 512), 128>>>(in, out); }
