#include <cute/tensor.hpp>
using namespace cute;

using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
using Smem = Layout<Shape<_32, _32>, Stride<_32, _1>>;

// rows past the end of A and B are not loaded, columns past that of C neither; k is a multiple of 32
__global__ void __launch_bounds__(128) load_tiles(float const* A, float const* B, float const* C, float const* D, int m, int n, int k) {
  // cutecheck: assume k % 32 == 0
  // cutecheck: assume n % 4 == 0
  __shared__ alignas(128) float smem[4 * 32 * 32];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor mD = make_tensor(make_gmem_ptr(D), make_shape(n, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_32, _32>{}, make_coord(blockIdx.y, 0));
  Tensor gB = local_tile(mB, Shape<_32, _32>{}, make_coord(blockIdx.x, 0));
  Tensor gC = local_tile(mC, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor gD = local_tile(mD, Shape<_32, _32>{}, make_coord(blockIdx.y, 0));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor sB = make_tensor(make_smem_ptr(smem + 32 * 32), Smem{});
  Tensor sC = make_tensor(make_smem_ptr(smem + 2 * 32 * 32), Smem{});
  Tensor sD = make_tensor(make_smem_ptr(smem + 3 * 32 * 32), Smem{});
  int const m_left = m - blockIdx.y * 32;
  int const n_left = n - blockIdx.x * 32;

  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tBsB = thr.partition_D(sB);
  Tensor tCsC = thr.partition_D(sC);
  Tensor tDsD = thr.partition_D(sD);
  Tensor tXcX = thr.partition_S(make_identity_tensor(Shape<_32, _32>{}));
  Tensor pA = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)), Stride<_1, _0>{});
  Tensor pB = make_tensor<bool>(make_shape(size<1>(tBsB), size<2>(tBsB)), Stride<_1, _0>{});
  Tensor pC = make_tensor<bool>(make_shape(size<1>(tCsC), size<2>(tCsC)));
  Tensor pD = make_tensor<bool>(make_shape(size<1>(tDsD), size<2>(tDsD)), Stride<_1, _0>{});
  for (int i = 0; i < size<0>(pA); ++i) {
    pA(i, 0) = get<0>(tXcX(0, i, 0)) < m_left;
    pB(i, 0) = get<0>(tXcX(0, i, 0)) < m_left;
    pD(i, 0) = get<0>(tXcX(0, i, 0)) < n_left;
    for (int j = 0; j < size<1>(pC); ++j) {
      pC(i, j) = elem_less(tXcX(0, i, j), make_coord(n_left, m_left));
    }
  }
  copy_if(load, pA, thr.partition_S(gA), tAsA);
  copy_if(load, pB, thr.partition_S(gB), tBsB);
  copy_if(load, pC, thr.partition_S(gC), tCsC);
  copy_if(load, pD, thr.partition_S(gD), tDsD);
}
