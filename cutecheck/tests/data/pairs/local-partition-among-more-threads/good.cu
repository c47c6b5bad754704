#include <cute/tensor.hpp>
using namespace cute;

// rows of 64 floats are turned over in shared memory
template <class Threads>
__global__ void turn(float const* in, float* out, Threads threads) {
  __shared__ float smem[16 * 68];
  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_16, _64>, Stride<_64, _1>>{});
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_16, _64>, Stride<Int<68>, _1>>{});
  copy(local_partition(g, threads, threadIdx.x), local_partition(s, threads, threadIdx.x));
  __syncthreads();
  auto rows = Layout<Shape<_4, _32>, Stride<_32, _1>>{};
  Tensor own = local_partition(s, rows, threadIdx.x);
  copy(own, local_partition(o, rows, threadIdx.x));
}

void run(float const* in, float* out) {
  auto threads = Layout<Shape<_4, _32>, Stride<_32, _1>>{};
  turn<<<1, 128>>>(in, out, threads);
}
