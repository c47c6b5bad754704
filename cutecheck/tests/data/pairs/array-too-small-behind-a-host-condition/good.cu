#include <cute/tensor.hpp>
using namespace cute;

template <int kDim>
struct Storage {
  using Smem = Layout<Shape<_64, Int<kDim>>, Stride<Int<kDim + 8>, _1>>;
  alignas(128) half_t k[cosize_v<Smem>];
  alignas(128) half_t v[cosize_v<Smem>];
};

template <int kDim>
__global__ void __launch_bounds__(128) load_kv(half_t const* K, half_t const* V, int tiles) {
  extern __shared__ char smem_raw[];
  auto& smem = *reinterpret_cast<Storage<kDim>*>(smem_raw);
  using Smem = typename Storage<kDim>::Smem;
  auto tile = Shape<_64, Int<kDim>>{};
  Tensor gK = local_tile(make_tensor(make_gmem_ptr(K), make_shape(Int<2048>{}, Int<kDim>{}), LayoutRight{}), tile, make_coord(_, 0));
  Tensor gV = local_tile(make_tensor(make_gmem_ptr(V), make_shape(Int<2048>{}, Int<kDim>{}), LayoutRight{}), tile, make_coord(_, 0));
  auto load = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
                              Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto thr = load.get_slice(threadIdx.x);
  Tensor sK = make_tensor(make_smem_ptr(smem.k), Smem{});
  Tensor sV = make_tensor(make_smem_ptr(smem.v), Smem{});
  for (int t = 0; t < tiles; ++t) {
    copy(load, thr.partition_S(gK)(_, _, _, t), thr.partition_D(sK));
    if (t > 0) {
      copy(load, thr.partition_S(gV)(_, _, _, t), thr.partition_D(sV));
    }
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
  }
}

void run(half_t const* K, half_t const* V, int tiles, int dim) {
  if (dim == 64) {
    load_kv<64><<<1, 128, sizeof(Storage<64>)>>>(K, V, tiles);
  } else if (dim == 128) {
    load_kv<128><<<1, 128, sizeof(Storage<128>)>>>(K, V, tiles);
  }
}
