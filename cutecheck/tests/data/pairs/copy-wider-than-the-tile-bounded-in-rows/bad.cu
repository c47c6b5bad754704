#include <cute/tensor.hpp>
using namespace cute;

// rows past the end of A are zero, k is a multiple of the tile's columns
template <int kTileK>
__global__ void __launch_bounds__(128) load_rows(half_t const* A, int m, int k) {
  // cutecheck: assume k % 64 == 0
  using Smem = Layout<Shape<_64, Int<kTileK>>, Stride<Int<kTileK + 8>, _1>>;
  using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>{},
                                        Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  __shared__ alignas(128) half_t smem[2 * cosize_v<Smem>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, Int<kTileK>>{}, make_coord(blockIdx.x, _));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAgA = thr.partition_S(gA);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tAcA = thr.partition_S(make_identity_tensor(Shape<_64, Int<kTileK>>{}));
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)), Stride<_1, _0>{});
  for (int i = 0; i < size<0>(pred); ++i) {
    pred(i, 0) = get<0>(tAcA(0, i, 0)) < m - int(blockIdx.x) * 64;
  }
  int const tiles = size<2>(gA);
  for (int t = 0; t < tiles; ++t) {
    copy_if(load, pred, tAgA(_, _, _, t), tAsA);
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
  }
}

void run(half_t const* A, int m, int k) { load_rows<32><<<(m + 63) / 64, 128>>>(A, m, k); }
