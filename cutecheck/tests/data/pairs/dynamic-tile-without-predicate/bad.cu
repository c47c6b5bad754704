#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<_128>{}, Layout<_1>{}));
__global__ void __launch_bounds__(128) add(float const* a, float* c, int n) {
  Tensor mA = make_tensor(make_gmem_ptr(a), n);
  Tensor mC = make_tensor(make_gmem_ptr(c), n);
  Tensor gA = local_tile(mA, Shape<_128>{}, make_coord(blockIdx.x));
  Tensor gC = local_tile(mC, Shape<_128>{}, make_coord(blockIdx.x));
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tA = thr.partition_S(gA);
  Tensor tC = thr.partition_D(gC);
  Tensor r = make_fragment_like(tA);
  copy(load, tA, r);
  copy(load, r, tC);
}
void run(float const* a, float* c) { int n = 1000; add<<<(n + 127) / 128, 128>>>(a, c, n); }
