"""Single elements of shared memory in C++ kernels: what a thread reads that threads of other warps store, CUT212.

``@`` stands before each barrier that is left out to make a mistake of a right kernel, one at a time.
"""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
namespace cg = cooperative_groups;
struct Storage { float red[8]; float max[8]; };
template <int N> struct Sums { float v[N]; };
__device__ void meet() { __syncthreads(); }
extern __device__ void elsewhere();
"""
USES = """
  Tensor g = make_tensor(make_gmem_ptr(in), make_shape(n));
  Tensor r_ = make_tensor<float>(Shape<_4>{}); copy(g, r_);"""
KERNELS = {
    "warp_sums": """
  __shared__ float red[8];
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float x = in[threadIdx.x];
  for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffff, x, o);
  if (lane == 0) red[warp] = x;
  @__syncthreads();
  float y = lane < 8 ? red[lane] : 0.f;
  out[threadIdx.x] = y;
""",
    "ranks": """
  auto block = cg::this_thread_block();
  auto lanes = cg::tiled_partition<32>(block);
  __shared__ float red[8];
  float x = in[block.thread_rank()];
  if (lanes.thread_rank() == 0) red[lanes.meta_group_rank()] = x;
  @block.sync();
  float y = lanes.thread_rank() < 8 ? red[lanes.thread_rank()] : 0.f;
  out[block.thread_rank()] = y;
""",
    "total": """
  __shared__ float total;
  float x = in[threadIdx.x];
  if (threadIdx.x == 0) total = x;
  @__syncthreads();
  out[threadIdx.x] = total;
""",
    "array1": """
  __shared__ float total[1];
  float x = in[threadIdx.x];
  if (threadIdx.x == 0) total[0] = x;
  @__syncthreads();
  out[threadIdx.x] = total[0];
""",
    "tree": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  @__syncthreads();
  if (t < 128) s[t] += s[t + 128];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    volatile float* v = s;
    v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8];
  }
  if (t == 0) out[0] = s[0];
""",
    "own_element": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  s[t] = s[t] * 2.f;
  out[t] = s[t];
""",
    "own_warp": """
  __shared__ float s[8][33];
  int w = threadIdx.x / 32, l = threadIdx.x % 32;
  s[w][l] = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = s[w][31 - l];
""",
    "tensor": """
  __shared__ float m[256];
  Tensor s = make_tensor(make_smem_ptr(m), Layout<Shape<_16, _16>, Stride<_16, _1>>{});
  int r = threadIdx.x / 16, c = threadIdx.x % 16;
  s(r, c) = in[threadIdx.x];
  @__syncthreads();
  out[threadIdx.x] = s(c, r);
""",
    "member": """
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) s.red[warp] = in[threadIdx.x];
  if (lane == 0) s.max[warp] = in[threadIdx.x];
  @__syncthreads();
  out[threadIdx.x] = s.red[lane % 8] + s.max[(lane + 1) % 8];
""",
    "dynamic": """
  extern __shared__ float s[];
  float* sums = s;
  float* maxima = s + 8;
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (lane == 0) { sums[warp] = in[threadIdx.x]; maxima[warp] = 2 * in[threadIdx.x]; }
  @__syncthreads();
  float a = 0, b = 0;
  for (int i = 0; i < 8; ++i) { a += sums[i]; b = max(b, maxima[i]); }
  out[threadIdx.x] = a + b;
""",
    "helper": """
__device__ float block_helper(float x, float* s) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int o = 16; o > 0; o /= 2) x += __shfl_xor_sync(0xffffffff, x, o);
  if (lane == 0) s[warp] = x;
  @__syncthreads();
  float y = 0;
  for (int i = 0; i < 8; ++i) y += s[i];
  __syncthreads();
  return y;
}
|
  __shared__ float s[8];
  float x = block_helper(in[threadIdx.x], s);
  float y = block_helper(in[threadIdx.x] - x, s);
  out[threadIdx.x] = y;
""",
    "sync_wrapper": """
  __shared__ float s[256], r[256];
  int t = threadIdx.x;
  s[t] = in[t];
  meet();
  float x = s[255 - t];
  r[t] = x;
  @meet();
  out[t] = r[255 - t];
""",
    "unknown_function": """
  __shared__ float s[256], r[256];
  int t = threadIdx.x;
  elsewhere();
  s[t] = in[t];
  elsewhere();
  out[t] = s[255 - t];
""",
    "named": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  @cutlass::arch::NamedBarrier::sync(256, 1);
  out[t] = s[255 - t];
""",
    "asm": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  @asm volatile("bar.sync 0;" ::: "memory");
  out[t] = s[255 - t];
""",
    "coop": """
  __shared__ float s[256];
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x;
  s[t] = in[t];
  @block.sync();
  out[t] = s[255 - t];
""",
    "coop2": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  @cg::sync(cg::this_thread_block());
  out[t] = s[255 - t];
""",
    "loop": """
  __shared__ float s[256];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    s[t] = in[i * 256 + t];
    @__syncthreads();
    out[i * 256 + t] = s[255 - t];
    __syncthreads();
  }
""",
    "else": """
  __shared__ float s[256];
  int t = threadIdx.x;
  if (n > 3) { s[t] = in[t]; __syncthreads(); } else { s[t] = 0; __syncthreads(); }
  out[t] = s[255 - t];
""",
    "one_warp_only": """
  __shared__ float s[256];
  int t = threadIdx.x;
  if (t < 32) { s[t] = in[t]; __syncwarp(); out[t] = s[31 - t]; }
""",
    "leader": """
  __shared__ float s[256];
  int t = threadIdx.x;
  int leader = __shfl_sync(0xffffffff, int(in[t]), 0);
  if (t / 32 == leader) { s[t] = in[t]; s[t ^ 1] = 2; out[t] = s[255 - t]; }
""",
    "volatile_flag": """
  __shared__ bool last;
  __threadfence();
  if (threadIdx.x == 0) { int c = atomicAdd(reinterpret_cast<int*>(out), 1); last = c == gridDim.x - 1; }
  @__syncthreads();
  if (last) out[threadIdx.x] = in[threadIdx.x];
""",
    "address": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  float* p = &s[255 - t];
  unsigned a = __cvta_generic_to_shared(&s[0]);
  out[t] = float(a);
""",
    "atomic": """
  __shared__ int hist[32];
  int t = threadIdx.x;
  if (t < 32) hist[t] = 0;
  @__syncthreads();
  atomicAdd(&hist[int(in[t]) % 32], 1);
  __syncthreads();
  if (t < 32) out[t] = hist[31 - t];
""",
    "sum_after": """
  __shared__ float lse[16][9];
  int t = threadIdx.x;
  for (int l = 0; l < 1; ++l) { int row = l * 16 + t / 8, col = t % 8; if (row < 16) lse[row][col] = in[t]; }
  @__syncthreads();
  float v[1];
  for (int l = 0; l < 1; ++l) {
    int row = l * 16 + t % 16, col = t / 16;
    v[l] = (row < 16 && col < 8) ? lse[row][col] : 0.f;
  }
  for (int l = 0; l < 1; ++l) {
    int row = l * 16 + t % 16, col = t / 16;
    if (row < n && col < 8) lse[row][col] = v[l] * 2;
  }
  @__syncthreads();
  float x = 0;
  for (int i = 0; i < n; ++i) x += lse[i][t / 16];
  out[t] = x;
""",
    "half": """
  __shared__ half r[16][17];
  int t = threadIdx.x;
  r[t / 16][t % 16] = in[t];
  @__syncthreads();
  out[t] = __half2float(r[t % 16][t / 16]);
""",
    "early_return": """
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  if (n == 0) { __syncthreads(); out[t] = s[255 - t]; return; }
  @__syncthreads();
  out[t] = s[255 - t];
""",
    "two_arrays": """
  __shared__ Sums<256> a;
  __shared__ Sums<256> b;
  int t = threadIdx.x;
  a.v[t] = in[t];
  @__syncthreads();
  b.v[t] = a.v[255 - t];
  @__syncthreads();
  out[t] = b.v[255 - t];
""",
    "chosen": """
  __shared__ float s[32];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  if (w == 0) s[l] = in[t];
  float y = w == 0 ? s[l] : 0.f;
  y += w != 0 ? 0.f : s[l];
  if (w == 0 && s[l] > 0) y += 1;
  out[t] = y;
""",
    "some_go_on": """
  __shared__ float s[32];
  int t = threadIdx.x, w = t / 32, l = t % 32;
  for (int i = 0; i < n; ++i) {
    if (w == 0) s[l] = in[t + i];
    if (w != 0) continue;
    out[t + i] = s[l];
  }
  switch (w) {
    case 0: out[t] = s[l]; break;
    default: out[t] = 0;
  }
  float z = 0;
  while (w == 0 && z < 1) z += s[l];
  for (int i = 0; i < (w == 0 ? 4 : 0); ++i) out[t] += s[l];
""",
    "swizzled": """
  __shared__ alignas(16) float s[256];
  Tensor t = make_tensor(make_smem_ptr(s), composition(Swizzle<2, 2, 2>{}, Layout<Shape<_16, _16>, Stride<_16, _1>>{}));
  int const row = threadIdx.x / 16, column = threadIdx.x % 16;
  t(row, column) = in[threadIdx.x];
  @__syncthreads();
  out[threadIdx.x] = t(column, row);
""",
    "swizzled_warps": """
  __shared__ alignas(16) float s[256];
  Tensor t = make_tensor(make_smem_ptr(s), composition(Swizzle<2, 2, 2>{}, Layout<Shape<_16, _16>, Stride<_16, _1>>{}));
  int const row = threadIdx.x / 16, column = threadIdx.x % 16;
  t(row, column) = in[threadIdx.x];
  __syncwarp();
  out[threadIdx.x] = t(row ^ 1, column);
""",
    "slices_of_warps": """
  __shared__ float s[256];
  int t = threadIdx.x;
  float* mine = s + (t / 32) * 32;
  mine[t % 32] = in[t];
  out[t] = mine[(t + 5) % 32];
""",
}
NARROW = {"sum_after"}
# what is at the index is not known; a way to the end has the barrier; within a pass of the loop all is one warp's
NOT_FOUND = {("atomic", 1), ("early_return", 1), ("sum_after", 2)}


def kernel(name: str, body: str) -> str:
    before, _, rest = body.rpartition("|\n")
    threads = 128 if name in NARROW else 256
    return (
        f"{before}__global__ void __launch_bounds__({threads})\n"
        f"k_{name}(float const* in, float* out, int n) {{{USES}{rest}}}\n"
        f"void run_{name}(float const* a, float* b, int n) {{ k_{name}<<<n, {threads}, 4096>>>(a, b, n); }}\n"
    )


def found(folder: Path, kernels: list[str]) -> list[str]:
    (folder / "k.cu").write_text(HEAD + "\n".join(kernels))
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",)))
    assert not report.failures
    assert not report.errors
    assert {f.code for f in report.findings} <= {"CUT212"}
    return sorted({f.enclosing.partition("_")[2] for f in report.findings})


def test_right_kernels(tmp_path: Path) -> None:
    assert found(tmp_path, [kernel(n, body.replace("@", "")) for n, body in KERNELS.items()]) == []


def without(body: str, at: int) -> str:
    """Without the statement behind the mark of this number."""
    parts = body.split("@")
    parts[at] = parts[at].partition(";\n")[2]
    return "".join(parts)


@pytest.mark.parametrize("at", [1, 2])
def test_a_barrier_left_out(tmp_path: Path, at: int) -> None:
    wrong = {n: body for n, body in KERNELS.items() if body.count("@") >= at}
    expected = sorted(n for n in wrong if (n, at) not in NOT_FOUND)
    assert found(tmp_path, [kernel(n, without(body, at)) for n, body in wrong.items()]) == expected
