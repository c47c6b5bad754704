"""Single elements of shared memory that copies of other warps have brought, or read afterwards, CUT212."""

from pathlib import Path

import pytest

from cutecheck.tests.rules.left_out import found_in, right, wrong

HEAD = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Tile = Layout<Shape<_32, _32>, Stride<Int<33>, _1>>;
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
using Async = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<float>, float>{},
    Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _1>>{}));
struct Shared { array_aligned<float, cosize_v<Tile>> a; array_aligned<float, 32> scale; };
"""
TILE = """
  __shared__ float m[32 * 33];
  Tensor s = make_tensor(make_smem_ptr(m), Tile{});"""
KERNELS = {
    "read": """
  copy(Rows{}, c.partition_S(g), c.partition_D(s));
  @__syncthreads();
  for (int i = 0; i < 4; ++i) out[t + i * 256] = s(l, w + 8 * i);
""",
    "read_by_index": """
  copy(Rows{}, c.partition_S(g), c.partition_D(s));
  @__syncthreads();
  out[t] = m[l * 33 + w];
""",
    "read_own": """
  copy(Rows{}, c.partition_S(g), c.partition_D(s));
  for (int i = 0; i < 4; ++i) out[t + i * 256] = s(w + 8 * i, l);
""",
    "read_own_warp": """
  copy(Rows{}, c.partition_S(g), c.partition_D(s));
  __syncwarp();
  for (int i = 0; i < 4; ++i) out[t + i * 256] = s(w + 8 * i, 31 - l);
""",
    "store": """
  for (int i = 0; i < 4; ++i) s(l, w + 8 * i) = in[t + i * 256];
  @__syncthreads();
  copy(Rows{}, c.partition_S(s), c.partition_D(o));
""",
    "store_own": """
  for (int i = 0; i < 4; ++i) s(w + 8 * i, l) = in[t + i * 256];
  copy(Rows{}, c.partition_S(s), c.partition_D(o));
""",
    "asynchronous": """
  auto a = Async{}.get_slice(t);
  copy(Async{}, a.partition_S(g), a.partition_D(s));
  cp_async_fence();
  cp_async_wait<0>();
  @__syncthreads();
  out[t] = s(l, w);
""",
    "member": """
  extern __shared__ char raw[];
  Shared& shared = *reinterpret_cast<Shared*>(raw);
  Tensor a = make_tensor(make_smem_ptr(shared.a.data()), Tile{});
  Tensor scale = make_tensor(make_smem_ptr(shared.scale.data()), Layout<_32>{});
  copy(Rows{}, c.partition_S(g), c.partition_D(a));
  if (t < 32) scale(t) = in[t];
  @__syncthreads();
  Tensor r = make_tensor<float>(Shape<_1, _4, _1>{});
  copy(Rows{}, c.partition_S(a), r);
  out[t] = r(0) * scale(w);
""",
    "other_half": """
  __shared__ float two[2 * 32 * 33];
  Tensor first = make_tensor(make_smem_ptr(two), Tile{});
  Tensor second = make_tensor(make_smem_ptr(two + 32 * 33), Tile{});
  copy(Rows{}, c.partition_S(g), c.partition_D(first));
  second(l, w) = in[t];
  first(w, l) = 1;
  @__syncthreads();
  out[t] = second(w, l) + first(l, w);
  copy(Rows{}, c.partition_S(second), c.partition_D(o));
""",
    "passes": """
  for (int i = 0; i < n; ++i) {
    copy(Rows{}, c.partition_S(g), c.partition_D(s));
    @__syncthreads();
    out[t + i] = s(l, w);
    @__syncthreads();
  }
""",
    "passes_of_stores": """
  for (int i = 0; i < n; ++i) {
    s(l, w) = in[t + i];
    @__syncthreads();
    copy(Rows{}, c.partition_S(s), c.partition_D(o));
    @__syncthreads();
  }
""",
    "scaled": """
  for (int i = 0; i < n; ++i) {
    copy(Rows{}, c.partition_S(g), c.partition_D(s));
    @__syncthreads();
    float x = s(l, w);
    @__syncthreads();
    s(w, l) = x;
    @__syncthreads();
    out[t + i] = s(l, w);
    @__syncthreads();
  }
""",
    "some_copy": """
  if (w < 4) {
    copy(Rows{}, c.partition_S(g), c.partition_D(s));
    cutlass::arch::NamedBarrier::arrive(256, 1);
  } else {
    cutlass::arch::NamedBarrier::sync(256, 1);
    out[t] = s(l, w);
  }
""",
    "half_block": """
  auto half = Rows{}.get_slice(t % 128);
  if (t < 128) copy(Rows{}, half.partition_S(g), half.partition_D(s));
  __syncthreads();
  if (t < 128) out[t] = s(w, l);
""",
}


def kernel(name: str, body: str) -> str:
    return (
        f"__global__ void __launch_bounds__(256) k_{name}(float const* in, float* out, int n) {{\n"
        f"  int t = threadIdx.x, w = t / 32, l = t % 32;{TILE}\n"
        "  Tensor g = make_tensor(make_gmem_ptr(in), Layout<Shape<_32, _32>, Stride<_32, _1>>{});\n"
        "  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_32, _32>, Stride<_32, _1>>{});\n"
        f"  auto c = Rows{{}}.get_slice(t);{body}}}\n"
        f"void run_{name}(float const* a, float* b, int n) {{ k_{name}<<<n, 256, 8192>>>(a, b, n); }}\n"
    )


def texts(kernels: dict[str, str]) -> dict[str, str]:
    return {name: kernel(name, body) for name, body in kernels.items()}


def test_right_kernels(tmp_path: Path) -> None:
    assert found_in(tmp_path, HEAD, texts(right(KERNELS)), "CUT212") == []


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_barrier_left_out(tmp_path: Path, at: int) -> None:
    kernels = wrong(KERNELS, at)
    assert found_in(tmp_path, HEAD, texts(kernels), "CUT212") == sorted(kernels)
