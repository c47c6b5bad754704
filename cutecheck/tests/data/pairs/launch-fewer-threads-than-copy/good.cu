#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class Elem_, int kTileM_, int kTileK_, int kWarps_>
struct Traits {
  using Elem = Elem_;
  static constexpr int kTileM = kTileM_, kTileK = kTileK_, kThreads = kWarps_ * 32;
  static constexpr int kVec = sizeof(cute::uint128_t) / sizeof(Elem);
  static constexpr int kThreadsK = kTileK / kVec;
  using Smem = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}),
                                      Shape<Int<kTileM>, Int<kTileK>>{}));
  using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<cute::uint128_t>, Elem>{},
      Layout<Shape<Int<kThreads / kThreadsK>, Int<kThreadsK>>, Stride<Int<kThreadsK>, _1>>{},
      Layout<Shape<_1, Int<kVec>>>{}));
};

template <class T>
__global__ void load_tile(typename T::Elem const* A, typename T::Elem* out) {
  extern __shared__ __align__(128) char raw[];
  using Elem = typename T::Elem;
  Tensor gA = make_tensor(make_gmem_ptr(A), Shape<Int<T::kTileM>, Int<T::kTileK>>{}, Stride<Int<T::kTileK>, _1>{});
  Tensor sA = make_tensor(make_smem_ptr(reinterpret_cast<Elem*>(raw)), typename T::Smem{});
  typename T::Load load;
  auto thr = load.get_thread_slice(threadIdx.x);
  copy(load, thr.partition_S(gA), thr.partition_D(sA));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  out[threadIdx.x] = sA(threadIdx.x % T::kTileM, 0);
}

void run(half_t const* A, half_t* out, cudaStream_t stream) {
  using T = Traits<half_t, 128, 64, 8>;
  auto kernel = load_tile<T>;
  kernel<<<1, 256, 128 * 64 * sizeof(half_t), stream>>>(A, out);
}
