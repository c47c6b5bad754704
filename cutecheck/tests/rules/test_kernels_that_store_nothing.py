"""Kernels whose store is left out, so that they store nothing at all: CUT222 at the parameter that is never written."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
#include <cute/algorithm/cooperative_copy.hpp>
using namespace cute;
__device__ float counts[64];
struct Params { float const* x; float* y; int n; };
struct Store { float* y; __device__ void operator()(int i, float v) const { y[i] = v; } };
template <class T> __device__ void put(T& t, int i, float v) { t(i) = v; }
template <class T> __device__ void put_tile(T&& t, float v) {
  copy(make_tensor(&v, Layout<_1>{}), local_tile(t, Shape<_1>{}, make_coord(0)));
}
__device__ void raw(float* y, int i, float v) { y[i] = v; }
__device__ void count(int i) { counts[i] += 1; }
void elsewhere(float const*);
"""
KERNEL = """
__global__ void NAME(float const* x, float* y, int n) {
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(n), make_stride(_1{}));
  Tensor gY = make_tensor(make_gmem_ptr(y), make_shape(n), make_stride(_1{}));
  Tensor tX = local_partition(gX, Layout<_128>{}, threadIdx.x);
  Tensor tY = local_partition(gY, Layout<_128>{}, threadIdx.x);
  int t = threadIdx.x;
  BODY
}
"""
RIGHT = (
    "tY(0) = tX(0);",
    "for (int i = 0; i < size(tX); ++i) tY[i] = 2 * tX[i];",
    "gY(t) += gX(t);",
    "++gY(t); if (gX(0) > 1) return;",
    "gY.data()[t] = gX(t);",
    "*(gY.data() + t) = gX(t);",
    "auto& e = gY(t); e = gX(t);",
    "y[t] = gX(t);",
    "float* row = y + 4; row[t] = gX(t);",
    "reinterpret_cast<float4*>(y)[t] = reinterpret_cast<float4 const*>(x)[t]; if (gX(0) > size(gY)) return;",
    "atomicAdd(&gY(t), gX(t));",
    "atomicAdd(y + t, gX(t));",
    "__stcg(&gY(t), gX(t));",
    "put(gY, t, gX(t));",
    "put_tile(tY, gX(t));",
    "raw(y, t, gX(t));",
    "Store{y}(t, gX(t));",
    "auto st = [&](int i, float v) { gY(i) = v; }; st(t, gX(t));",
    "for_each(make_seq<4>{}, [&](auto i) { gY(i) = gX(i); });",
    "axpby(2.f, tX, 0.f, tY);",
    "transform(tX, tY, [](float v) { return 2 * v; });",
    "fill(tY, gX(0));",
    "clear(tY); if (gX(0) > 1) return;",
    "copy(tX, tY);",
    "copy_if([&](auto i) { return i < 3; }, tX, tY);",
    "cooperative_copy<128, 32>(t, local_tile(gX, Shape<_256>{}, 0), local_tile(gY, Shape<_256>{}, 0));",
    "Tensor v = recast<float2>(gY); v(t) = make_float2(gX(t), 1);",
    'asm volatile("st.global.f32 [%0], %1;" :: "l"(&gY(t)), "f"(gX(t)));',
    "counts[t % 64] = gX(t); if (size(tY) > 3) return;",
    "count(t % 64); if (gX(t) > size(tY)) return;",
    "if (thread0()) { print_tensor(gX); print(gY.layout()); }",
    'if (thread0()) printf("%f", gX(0));',
    "elsewhere(gX.data()); not_declared(gY);",
    "if (gX(t) > 1e30f) gY(t) = 1;",
)
WRONG = (
    "Tensor r = make_tensor<float>(Shape<_4>{}); copy(local_tile(gX, Shape<_4>{}, t), r); r(0) *= r(1);",
    "float sum = 0; for (int i = 0; i < size(tX); ++i) sum += tX(i);",
    "__shared__ float part[4]; float m = gX(t); if (t % 32 == 0) part[t / 32] = m; __syncthreads(); m += part[0];",
    "float v = gX(t); if (v > 0) v = 1; auto st = [&](float u) { return 2 * u; }; v = st(v);",
    "Tensor r = make_tensor<float>(Shape<_4>{}); clear(r); for (int i = 0; i < 4; ++i) r(i) += gX(i);",
)
MORE = """
template <bool W> __global__ void chosen(float const* x, float* y, int n) {
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(n)), gY = make_tensor(make_gmem_ptr(y), make_shape(n));
  float v = gX(threadIdx.x);
  if constexpr (W) { gY(threadIdx.x) = v; }
}
__global__ void of_struct(Params p) {
  Tensor gX = make_tensor(make_gmem_ptr(p.x), make_shape(p.n)), gY = make_tensor(make_gmem_ptr(p.y), make_shape(p.n));
  p.y[threadIdx.x] = gX(threadIdx.x);
}
template <class S, class D> __global__ void tiles(S s, D d) {
  Tensor r = make_tensor<float>(Shape<_4>{});
  copy(s(_, threadIdx.x), r);
  for (int i = 0; i < 4; ++i) d(i, threadIdx.x) = r(i);
}
template <class S> __global__ void in_place(S s) { s(0, threadIdx.x) = 2 * s(1, threadIdx.x); }
template <class S, class D> __global__ void forgotten(S s, D d) {
  Tensor r = make_tensor<float>(Shape<_4>{});
  Tensor to = d(_, threadIdx.x);
  copy(s(_, threadIdx.x), r);
  for (int i = 0; i < 4; ++i) r(i) *= 2;
}
"""
LAUNCHES = """
  chosen<true><<<1, 128>>>(x, y, n);
  chosen<false><<<1, 128>>>(x, y, n);
  of_struct<<<1, 128>>>(Params{x, y, n});
  auto s = make_tensor(make_gmem_ptr(x), make_shape(_4{}, n));
  auto d = make_tensor(make_gmem_ptr(y), make_shape(_4{}, n));
  tiles<<<1, 128>>>(s, d);
  in_place<<<1, 128>>>(d);
  forgotten<<<1, 128>>>(s, d);
"""


HOSTS = {
    "pointers": "void run(float const* x, float* y, int n) {\n%s}\n",
    "vectors": "void run(int n) {\n  thrust::host_vector<float> h(n);\n  thrust::device_vector<float> vx = h, vy(n);\n"
    "  float const* x = thrust::raw_pointer_cast(vx.data());\n  float* y = thrust::raw_pointer_cast(vy.data());\n%s}\n",
    "members": "struct Run { static float* out; float* data() const { return out; }\n"
    "  void go(std::vector<float*> const& b, int n) {\n  float const* x = b[0]; float* y = data();\n%s} };\n"
    "void run(std::vector<float*> b, int n) { Run{}.go(b, n); }\n",
}


@cache
def _found(host: str = "pointers") -> dict[str, str]:
    bodies = {f"r{i}": b for i, b in enumerate(RIGHT)} | {f"w{i}": b for i, b in enumerate(WRONG)}
    text = HEAD + "".join(KERNEL.replace("NAME", n).replace("BODY", b) for n, b in bodies.items()) + MORE
    runs = "".join(f"  {n}<<<1, 128>>>(x, y, n);\n" for n in bodies) + LAUNCHES
    with TemporaryDirectory() as folder:
        (Path(folder) / "k.cu").write_text(text + HOSTS[host] % runs)
        report = check(inputs([folder]), Settings(arch=("sm_80",), select=("CUT222",)))
    assert not report.failures
    return {f.enclosing.partition("<")[0]: f.message.split("`")[1] for f in report.findings}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_something_may_be_stored(number: int, host: str) -> None:
    assert f"r{number}" not in _found(host)


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_nothing_is_stored(number: int) -> None:
    assert _found().get(f"w{number}") == "y"


@pytest.mark.parametrize("host", HOSTS)
def test_tensors_structs_and_flags(host: str) -> None:
    assert {n: p for n, p in _found(host).items() if not n[1:].isdigit()} == {"forgotten": "d"}
