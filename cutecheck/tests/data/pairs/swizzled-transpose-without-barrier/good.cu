#include <cute/tensor.hpp>

using namespace cute;

// out[n, m] = in[m, n] through a swizzled tile of shared memory, 32-bit elements; m and n are multiples of 64.
template <class T, class SmemLayout, class ThrIn, class ThrOut>
__global__ static void __launch_bounds__(256)
transpose_kernel(T const* in, T* out, int m, int n, SmemLayout, ThrIn, ThrOut) {
  __shared__ __align__(16) T smem[cosize_v<SmemLayout>];

  Tensor mI = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  Tensor mO = make_tensor(make_gmem_ptr(out), make_shape(n, m), make_stride(m, _1{}));
  Tensor gI = local_tile(mI, Shape<_64, _64>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor gO = local_tile(mO, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));

  Tensor sI = make_tensor(make_smem_ptr(smem), SmemLayout{});
  auto transposed = Layout<Shape<_64, _64>, Stride<_64, _1>>{};
  Tensor sO = make_tensor(make_smem_ptr(smem), composition(SmemLayout{}, transposed));

  Tensor tIgI = local_partition(gI, ThrIn{}, threadIdx.x);
  Tensor tIsI = local_partition(sI, ThrIn{}, threadIdx.x);
  Tensor tOsO = local_partition(sO, ThrOut{}, threadIdx.x);
  Tensor tOgO = local_partition(gO, ThrOut{}, threadIdx.x);

  copy(tIgI, tIsI);
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();
  copy(tOsO, tOgO);
}

void transpose(float const* in, float* out, int m, int n, cudaStream_t stream) {
  auto smem_layout = composition(Swizzle<5, 0, 6>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto thr_in = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  auto thr_out = Layout<Shape<_4, _64>, Stride<_64, _1>>{};
  dim3 grid(n / 64, m / 64);
  transpose_kernel<<<grid, 256, 0, stream>>>(in, out, m, n, smem_layout, thr_in, thr_out);
}
