#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

// C = A B^T; A is M x K and B is N x K, both row-major, C is M x N row-major. Rows and columns may end inside a tile.
template <class T>
struct Config {
  static constexpr int kM = 128, kN = 128, kK = 64, kStages = 3;
  using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{},
      Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _16>{}));
  static constexpr int kThreads = size(Mma{});
  using SmemAtom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using SmemA = decltype(tile_to_shape(SmemAtom{}, Shape<Int<kM>, Int<kK>, Int<kStages>>{}));
  using SmemB = decltype(tile_to_shape(SmemAtom{}, Shape<Int<kN>, Int<kK>, Int<kStages>>{}));
  using SmemCAtom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using SmemC = decltype(tile_to_shape(SmemCAtom{}, Shape<Int<kM>, Int<kN>>{}));
  using G2S = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, T>{},
      Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  using S2RAtom = Copy_Atom<SM75_U32x4_LDSM_N, T>;
  using R2SAtom = Copy_Atom<UniversalCopy<uint32_t>, T>;
  using S2G = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, T>{},
      Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _8>>{}));
  static constexpr int kSmem = (cosize_v<SmemA> + cosize_v<SmemB>) * sizeof(T);
};

template <class Cfg, class T>
__global__ void __launch_bounds__(Cfg::kThreads) gemm_kernel(T const* A, T const* B, T* C, int M, int N, int K, int lda, int ldb, int ldc) {
  extern __shared__ __align__(128) char storage[];
  T* smem = reinterpret_cast<T*>(storage);
  int tid = threadIdx.x;

  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(M, K), make_stride(lda, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(N, K), make_stride(ldb, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(M, N), make_stride(ldc, _1{}));
  Tensor gA = local_tile(mA, Shape<Int<Cfg::kM>, Int<Cfg::kK>>{}, make_coord(blockIdx.y, _));
  Tensor gB = local_tile(mB, Shape<Int<Cfg::kN>, Int<Cfg::kK>>{}, make_coord(blockIdx.x, _));
  Tensor gC = local_tile(mC, Shape<Int<Cfg::kM>, Int<Cfg::kN>>{}, make_coord(blockIdx.y, blockIdx.x));

  Tensor sA = make_tensor(make_smem_ptr(smem), typename Cfg::SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(smem + cosize_v<typename Cfg::SmemA>), typename Cfg::SmemB{});

  typename Cfg::G2S g2s;
  auto thr_g2s = g2s.get_slice(tid);
  Tensor tAgA = thr_g2s.partition_S(gA);
  Tensor tAsA = thr_g2s.partition_D(sA);
  Tensor tBgB = thr_g2s.partition_S(gB);
  Tensor tBsB = thr_g2s.partition_D(sB);

  Tensor cA = local_tile(make_identity_tensor(make_shape(M, K)), Shape<Int<Cfg::kM>, Int<Cfg::kK>>{}, make_coord(blockIdx.y, _));
  Tensor cB = local_tile(make_identity_tensor(make_shape(N, K)), Shape<Int<Cfg::kN>, Int<Cfg::kK>>{}, make_coord(blockIdx.x, _));
  Tensor tAcA = thr_g2s.partition_S(cA);
  Tensor tBcB = thr_g2s.partition_S(cB);
  Tensor tApA = make_tensor<bool>(make_shape(size<1>(tAgA), size<2>(tAgA)), make_stride(_1{}, _0{}));
  Tensor tBpB = make_tensor<bool>(make_shape(size<1>(tBgB), size<2>(tBgB)), make_stride(_1{}, _0{}));
  CUTE_UNROLL
  for (int m = 0; m < size<0>(tApA); ++m) {
    tApA(m, 0) = get<0>(tAcA(0, m, 0, 0)) < M;
  }
  CUTE_UNROLL
  for (int n = 0; n < size<0>(tBpB); ++n) {
    tBpB(n, 0) = get<0>(tBcB(0, n, 0, 0)) < N;
  }

  int k_tiles = size<2>(gA);
  int k_next = 0;
  CUTE_UNROLL
  for (int stage = 0; stage < Cfg::kStages - 1; ++stage) {
    copy_if(g2s, tApA, tAgA(_, _, _, k_next), tAsA(_, _, _, stage));
    copy_if(g2s, tBpB, tBgB(_, _, _, k_next), tBsB(_, _, _, stage));
    cp_async_fence();
    if (k_next + 1 < k_tiles) ++k_next;
  }

  typename Cfg::Mma mma;
  auto thr_mma = mma.get_slice(tid);
  Tensor tCrA = thr_mma.partition_fragment_A(sA(_, _, 0));
  Tensor tCrB = thr_mma.partition_fragment_B(sB(_, _, 0));
  Tensor acc = partition_fragment_C(mma, Shape<Int<Cfg::kM>, Int<Cfg::kN>>{});
  clear(acc);

  auto s2r_a = make_tiled_copy_A(typename Cfg::S2RAtom{}, mma);
  auto thr_s2r_a = s2r_a.get_slice(tid);
  Tensor tXsA = thr_s2r_a.partition_S(sA);
  Tensor tXrA = thr_s2r_a.retile_D(tCrA);
  auto s2r_b = make_tiled_copy_B(typename Cfg::S2RAtom{}, mma);
  auto thr_s2r_b = s2r_b.get_slice(tid);
  Tensor tXsB = thr_s2r_b.partition_S(sB);
  Tensor tXrB = thr_s2r_b.retile_D(tCrB);

  int read = 0;
  int write = Cfg::kStages - 1;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    cp_async_wait<Cfg::kStages - 2>();
    __syncthreads();
    copy_if(g2s, tApA, tAgA(_, _, _, k_next), tAsA(_, _, _, write));
    copy_if(g2s, tBpB, tBgB(_, _, _, k_next), tBsB(_, _, _, write));
    cp_async_fence();
    if (k_next + 1 < k_tiles) ++k_next;
    CUTE_UNROLL
    for (int k = 0; k < size<2>(tCrA); ++k) {
      copy(s2r_a, tXsA(_, _, k, read), tXrA(_, _, k));
      copy(s2r_b, tXsB(_, _, k, read), tXrB(_, _, k));
      gemm(mma, tCrA(_, _, k), tCrB(_, _, k), acc);
    }
    write = read;
    read = (read + 1 == Cfg::kStages) ? 0 : read + 1;
  }

  cp_async_wait<0>();
  __syncthreads();
  Tensor sC = make_tensor(make_smem_ptr(smem), typename Cfg::SmemC{});
  Tensor out = make_fragment_like<T>(acc);
  CUTE_UNROLL
  for (int i = 0; i < size(acc); ++i) {
    out(i) = static_cast<T>(acc(i));
  }
  auto r2s = make_tiled_copy_C(typename Cfg::R2SAtom{}, mma);
  auto thr_r2s = r2s.get_slice(tid);
  copy(r2s, thr_r2s.retile_S(out), thr_r2s.partition_D(sC));
  __syncthreads();

  typename Cfg::S2G s2g;
  auto thr_s2g = s2g.get_slice(tid);
  Tensor tDsC = thr_s2g.partition_S(sC);
  Tensor tDgC = thr_s2g.partition_D(gC);
  Tensor cC = local_tile(make_identity_tensor(make_shape(M, N)), Shape<Int<Cfg::kM>, Int<Cfg::kN>>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor tDcC = thr_s2g.partition_D(cC);
  Tensor regs = make_fragment_like(tDsC);
  copy(s2g, tDsC, regs);
  CUTE_UNROLL
  for (int m = 0; m < size<1>(tDgC); ++m) {
    CUTE_UNROLL
    for (int n = 0; n < size<2>(tDgC); ++n) {
      if (get<0>(tDcC(0, m, n)) < M && get<1>(tDcC(0, m, n)) < N) {
        copy(s2g, regs(_, m, n), tDgC(_, m, n));
      }
    }
  }
}

void gemm_host(half_t const* A, half_t const* B, half_t* C, int M, int N, int K, int lda, int ldb, int ldc) {
  using Cfg = Config<half_t>;
  assert(K % Cfg::kK == 0 && lda % 8 == 0 && ldb % 8 == 0 && ldc % 8 == 0 && N % 8 == 0);
  auto kernel = gemm_kernel<Cfg, half_t>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Cfg::kSmem);
  dim3 grid(ceil_div(N, Cfg::kN), ceil_div(M, Cfg::kM));
  kernel<<<grid, Cfg::kThreads, Cfg::kSmem>>>(A, B, C, M, N, K, lda, ldb, ldc);
}
