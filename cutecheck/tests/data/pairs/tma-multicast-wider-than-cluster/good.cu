#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

using Elem = half_t;
using ClusterShape = Shape<_2, _1, _1>;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Elem>{}, Shape<_128, _64>{}));
auto make_load(Elem const* A, int m) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, Int<512>{}), make_stride(Int<512>{}, _1{}));
  return make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, Int<2>{});
}
template <class Tma>
__global__ void __launch_bounds__(128) kernel(CUTE_GRID_CONSTANT Tma const tma) {
  extern __shared__ alignas(1024) Elem smem[];
  __shared__ alignas(8) uint64_t bar;
  Tensor mA = tma.get_tma_tensor(make_shape(Int<4096>{}, Int<512>{}));
  Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x / 2, 0));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto cta = tma.get_slice(block_rank_in_cluster());
  cluster_sync();
  copy(tma.with(bar, uint16_t(3)), cta.partition_S(gA), cta.partition_D(sA));
}
void run(Elem const* A, cudaStream_t stream) {
  auto tma = make_load(A, 4096);
  dim3 cluster(size<0>(ClusterShape{}), 1, 1);
  cutlass::ClusterLaunchParams params = {dim3(32), dim3(128), cluster, 128 * 64 * 2, stream};
  cutlass::launch_kernel_on_cluster(params, (void const*)&kernel<decltype(tma)>, tma);
}
