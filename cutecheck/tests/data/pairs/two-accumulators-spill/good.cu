#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

constexpr int kWarpgroups = 2;
using MmaQK = decltype(make_tiled_mma(SM90_64x256x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<Int<kWarpgroups>, _1, _1>>{}));
using MmaPV = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::MN>{}, Layout<Shape<Int<kWarpgroups>, _1, _1>>{}));
__global__ void __launch_bounds__(kWarpgroups * 128, 1) attention(float* out) {
  MmaQK qk;
  MmaPV pv;
  Tensor s = partition_fragment_C(qk, Shape<_128, _256>{});
  Tensor o = partition_fragment_C(pv, Shape<_128, _64>{});
  clear(s);
  clear(o);
  copy(s, qk.get_slice(threadIdx.x).partition_C(make_tensor(make_gmem_ptr(out), Shape<_128, _256>{}, LayoutRight{})));
  copy(o, pv.get_slice(threadIdx.x).partition_C(make_tensor(make_gmem_ptr(out + 128 * 256), Shape<_128, _64>{}, LayoutRight{})));
}
