"""Single elements of shared memory that are stored again, or read in the next pass of a loop, CUT212."""

from pathlib import Path

import pytest

from cutecheck.tests.rules.left_out import found_in, right, wrong

HEAD = """
#include <cooperative_groups.h>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
__device__ float warp_sum(float x) {
  for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffff, x, o);
  return x;
}
"""
TOTAL = """
  auto total_of = [&](float x, float* red) {
    x = warp_sum(x);
    if (l == 0) red[w] = x;
    __syncthreads();
    return warp_sum(l < 8 ? red[l] : 0.f);
  };"""
KERNELS = {
    "two_tiles": """
  __shared__ float s[256];
  s[t] = in[t];
  __syncthreads();
  float x = s[255 - t];
  @__syncthreads();
  s[t] = in[t + 256];
  __syncthreads();
  out[t] = x + s[255 - t];
""",
    "shift": """
  __shared__ float s[257];
  s[t] = in[t];
  if (t == 0) s[256] = 0;
  @__syncthreads();
  float v = s[t + 1];
  @__syncthreads();
  s[t] = v;
  out[t] = s[t];
""",
    "loop_of_all": """
  __shared__ float s[1024];
  for (int c = 0; c < n; ++c) {
    for (int i = t; i < 1024; i += 256) s[i] = in[i + c];
    @__syncthreads();
    float x = s[(t / 32 * 3 % 8) * 32 + t % 32];
    __syncthreads();
    out[t + c] = x;
  }
""",
    "passes": """
  __shared__ float s[256];
  for (int i = 0; i < n; ++i) {
    s[t] = in[t + i];
    @__syncthreads();
    out[t + i] = s[255 - t];
    @__syncthreads();
  }
""",
    "at_the_top": """
  __shared__ float s[256];
  for (int i = 0; i < n; ++i) {
    @__syncthreads();
    s[t] = in[t + i];
    __syncthreads();
    out[t + i] = s[255 - t];
  }
""",
    "from_the_second_on": """
  __shared__ float s[256];
  for (int i = 0; i < n; ++i) {
    if (i > 0) __syncthreads();
    s[t] = in[t + i];
    __syncthreads();
    out[t + i] = s[255 - t];
  }
""",
    "one_pass": """
  __shared__ float s[256];
  while (true) {
    s[t] = in[t];
    __syncthreads();
    out[t] = s[255 - t];
    break;
  }
""",
    "in_turn": """
  __shared__ float s[2][256];
  for (int i = 0; i < n; ++i) {
    s[i % 2][t] = in[t + i];
    @__syncthreads();
    out[t + i] = s[i % 2][255 - t];
  }
""",
    "ahead": """
  __shared__ float s[2][256];
  s[0][t] = in[t];
  __syncthreads();
  for (int i = 0; i < 8; ++i) {
    s[(i + 1) % 2][t] = in[t + i + 1];
    out[t + i] = s[i % 2][255 - t];
    ~__syncthreads();
  }
""",
    "unrolled": """
  __shared__ float s[2][256];
  for_each(make_int_sequence<4>{}, [&](auto i) {
    s[i % 2][t] = in[i * 256 + t];
    @__syncthreads();
    out[i * 256 + t] = s[i % 2][255 - t];
  });
""",
    "pointers": """
  __shared__ float a[256], b[256];
  float* now = a; float* next = b;
  now[t] = in[t];
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    next[t] = now[255 - t] + 1;
    ~__syncthreads();
    float* x = now; now = next; next = x;
  }
  out[t] = now[t];
""",
    "of_each_warp": """
  __shared__ float s[8][32];
  for (int i = w; i < n; i += 8) {
    s[w][l] = in[i * 32 + l];
    __syncwarp();
    out[i] += s[w][31 - l];
    __syncwarp();
  }
""",
    "flag": """
  __shared__ int more;
  for (int i = 0; ; ++i) {
    if (t == 0) more = 0;
    ~__syncthreads();
    if (in[t + i] > 0) more = 1;
    ~__syncthreads();
    int go = more;
    @__syncthreads();
    if (!go) break;
  }
""",
    "sums": TOTAL
    + """
  __shared__ float red[8];
  float a = total_of(in[t], red);
  @__syncthreads();
  out[t] = total_of(in[t] - a, red);
""",
    "sums_in_turn": TOTAL
    + """
  __shared__ float red[2][8];
  float a = total_of(in[t], red[0]);
  out[t] = total_of(in[t] - a, red[1]);
""",
    "sums_in_a_loop": TOTAL
    + """
  __shared__ float red[8];
  float a = in[t];
  for (int i = 0; i < n; ++i) {
    a += total_of(a, red);
    @__syncthreads();
  }
  out[t] = a;
""",
    "block": """
  __shared__ float s[256];
  auto block = cooperative_groups::this_thread_block();
  for (int i = 0; i < n; ++i) {
    s[t] = in[t + i];
    @block.sync();
    out[t] += s[255 - t];
    @block.sync();
  }
""",
    "any": """
  __shared__ float s[256];
  for (int i = 0; i < n; ++i) {
    s[t] = in[t + i];
    __syncthreads();
    float v = s[255 - t];
    if (!__syncthreads_or(v > 0)) break;
  }
""",
    "roles": """
  __shared__ float s[128];
  if (w < 4) {
    for (int i = 0; i < n; ++i) {
      cutlass::arch::NamedBarrier::sync(256, 2);
      s[t] = in[t + i];
      cutlass::arch::NamedBarrier::arrive(256, 1);
    }
  } else {
    cutlass::arch::NamedBarrier::arrive(256, 2);
    for (int i = 0; i < n; ++i) {
      cutlass::arch::NamedBarrier::sync(256, 1);
      out[t] += s[t - 128];
      if (i + 1 < n) cutlass::arch::NamedBarrier::arrive(256, 2);
    }
  }
""",
    "spins": """
  __shared__ float s[256]; __shared__ volatile int full;
  if (t == 0) full = 0;
  __syncthreads();
  for (int i = 0; i < n; ++i) {
    if (w == 0) {
      s[l] = in[l + i];
      __syncwarp();
      if (l == 0) full = i + 1;
    }
    while (full <= i) {}
    out[t] += s[31 - l];
    __syncthreads();
  }
""",
    "left_out": """
  __shared__ float s[256];
  for (int i = 0; i < n; ++i) {
    if (in[i] < 0) { __syncthreads(); continue; }
    s[t] = in[t + i];
    __syncthreads();
    out[t + i] = s[255 - t];
    ~__syncthreads();
  }
""",
    "rotated": """
  __shared__ float s[256];
  s[t] = in[t];
  ~__syncthreads();
  for (int i = 0; i < n; ++i) {
    float v = s[(t + 1) % 256];
    @__syncthreads();
    s[t] = v * 2;
    @__syncthreads();
  }
  out[t] = s[t];
""",
    "strides": """
  __shared__ float s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = in[i];
  ~__syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) out[i] = s[1023 - i];
""",
    "strides_of_its_own": """
  __shared__ float s[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) s[i] = in[i];
  for (int i = threadIdx.x; i < 1024; i += 256) out[i] = s[i] * 2;
""",
    "strides_in_a_loop": """
  __shared__ float s[1024];
  for (int j = 0; j < n; ++j) {
    for (int i = threadIdx.x; i < 1024; i += 256) s[i] = in[i + j];
    ~__syncthreads();
    out[threadIdx.x + j] = s[4 * threadIdx.x];
    ~__syncthreads();
  }
""",
    "strides_that_end_early": """
  __shared__ float s[512];
  float* a = s; float* b = s + 100;
  b[t] = in[t];
  __syncthreads();
  for (int i = t; i < 100; i += blockDim.x) a[i] = in[i];
  out[t] = b[t];
""",
    "strides_and_the_rest": """
  __shared__ float s[2048];
  for (int i = t; i < 1000; i += 256) s[i] = in[i];
  if (t < 24) s[1000 + t] = 0;
  if (t < 24) out[t] = s[1000 + t];
""",
    "strides_that_overlap": """
  __shared__ float s[512];
  for (int i = threadIdx.x; i < 512; i += 32) s[i] = in[i];
  __syncwarp();
  out[threadIdx.x] = s[threadIdx.x + 32];
""",
    "strides_of_one_pass": """
  __shared__ float s[256];
  for (int i = threadIdx.x; i < 256; i += 256) s[i] = in[i];
  @__syncthreads();
  out[t] = s[t / 2];
""",
    "strides_of_some_threads": """
  __shared__ float s[256];
  s[t] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 32; i += 256) s[i] = in[i];
  if (t < 64) out[t] = s[t + 64];
  out[t + 256] = s[t];
""",
    "strides_of_a_first_thread": """
  __shared__ float s[256];
  for (int i = threadIdx.x; i < n; i += 256) s[i] = in[i];
  @__syncthreads();
  out[t] = s[l];
""",
    "all_by_each_warp": """
  __shared__ float s[64];
  for (int i = threadIdx.x % 32; i < 64; i += 32) s[i] = in[i];
  __syncwarp();
  out[threadIdx.x] = s[63 - threadIdx.x % 32];
""",
}


def kernel(name: str, body: str) -> str:
    uses = "Tensor g = make_tensor(make_gmem_ptr(in), make_shape(n)); Tensor r = make_tensor<float>(Shape<_4>{});"
    return (
        f"__global__ void __launch_bounds__(256) k_{name}(float const* in, float* out, int n) {{\n"
        f"  int t = threadIdx.x, w = t / 32, l = t % 32;\n  {uses} copy(g, r);{body}}}\n"
        f"void run_{name}(float const* a, float* b, int n) {{ k_{name}<<<n, 256>>>(a, b, n); }}\n"
    )


def texts(kernels: dict[str, str]) -> dict[str, str]:
    return {name: kernel(name, body) for name, body in kernels.items()}


def test_right_kernels(tmp_path: Path) -> None:
    assert found_in(tmp_path, HEAD, texts(right(KERNELS)), "CUT212") == []


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_barrier_left_out(tmp_path: Path, at: int) -> None:
    kernels = wrong(KERNELS, at)
    assert found_in(tmp_path, HEAD, texts(kernels), "CUT212") == sorted(kernels)


TWO_DIMENSIONS = {
    "product": """
  __shared__ float a[16][16], b[16][16];
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    a[y][x] = in[i * 256 + y * 16 + x];
    b[y][x] = in[i * 512 + y * 16 + x];
    @__syncthreads();
    for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
    @__syncthreads();
  }
  out[y * 16 + x] = sum;
""",
    "transposed": """
  __shared__ float s[16][17];
  s[y][x] = in[y * 16 + x];
  @__syncthreads();
  out[y * 16 + x] = s[x][y];
""",
    "rows": """
  __shared__ float s[16][17];
  s[y][x] = in[y * 16 + x];
  __syncwarp();
  out[y * 16 + x] = s[y][15 - x];
""",
    "rows_of_one_warp": """
  __shared__ float s[16][17];
  s[y][x] = in[y * 16 + x];
  __syncwarp();
  out[y * 16 + x] = s[y ^ 1][15 - x];
""",
    "one_row": """
  __shared__ float s[16];
  if (y == 0) s[x] = in[x];
  @__syncthreads();
  out[y * 16 + x] = s[x];
""",
    "one_thread": """
  __shared__ float s;
  if (x == 0 && y == 0) s = in[0];
  @__syncthreads();
  out[y * 16 + x] = s;
""",
    "first_of_each_row": """
  __shared__ float s[16];
  if (x == 0) s[y] = in[y];
  __syncwarp();
  out[y * 16 + x] = s[y];
""",
    "by_number": """
  __shared__ float s[256];
  int t = threadIdx.y * blockDim.x + threadIdx.x;
  s[t] = in[t];
  @__syncthreads();
  out[t] = s[255 - t];
""",
}


def of_rows(kernels: dict[str, str]) -> dict[str, str]:
    """Of blocks of 16 by 16 threads."""
    own, line = "int t = threadIdx.x, w = t / 32, l = t % 32;", "int x = threadIdx.x, y = threadIdx.y;"
    return {n: k.replace(own, line).replace("<<<n, 256>>>", "<<<n, dim3(16, 16)>>>") for n, k in texts(kernels).items()}


def test_right_kernels_of_two_dimensions(tmp_path: Path) -> None:
    assert found_in(tmp_path, HEAD, of_rows(right(TWO_DIMENSIONS)), "CUT212") == []


@pytest.mark.parametrize("at", [1, 2])
def test_a_barrier_left_out_in_two_dimensions(tmp_path: Path, at: int) -> None:
    kernels = wrong(TWO_DIMENSIONS, at)
    assert found_in(tmp_path, HEAD, of_rows(kernels), "CUT212") == sorted(kernels)
