"""Stages that ``cp.async`` fills and single elements are read of: tensors of two modes, arrays without tensors.

What is right, and right by which thread owns what, is silent; each mistake is found by the rule that is named for it.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEAD = """#include <cute/tensor.hpp>
using namespace cute;
template <int N> __device__ void wait() { asm volatile("cp.async.wait_group %0;\\n" :: "n"(N) : "memory"); }
__device__ void commit() { asm volatile("cp.async.commit_group;\\n" ::: "memory"); }
__device__ void fetch(void* s, void const* g) {
  uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(s));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\\n" :: "r"(at), "l"(g) : "memory");
}
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{}, Layout<_128>{},
    Layout<_4>{}));
template <int R, class G> __device__ void rows(float (*to)[68], G const& g) {
#pragma unroll
  for (int i = 0; i < R; ++i) {
    int r = threadIdx.x / 16 + i * 8, c = threadIdx.x % 16 * 4;
    fetch(&to[r][c], &g(r, c));
  }
}
"""
COLUMNS = """
__global__ void __launch_bounds__(128) NAME(float const* x, float* y, int n) {
  __shared__ alignas(16) float buffer[512 * 3];
  Tensor s = make_tensor(make_smem_ptr(buffer), make_layout(make_shape(_512{}, _3{})));
  Tensor gX = make_tensor(make_gmem_ptr(x), make_shape(_512{}, n), make_stride(_1{}, _512{}));
  Tensor gY = make_tensor(make_gmem_ptr(y), make_shape(_512{}, n), make_stride(_1{}, _512{}));
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tg = thr.partition_S(gX), ts = thr.partition_D(s);
  for (int p = 0; p < 2; ++p) { copy(Load{}, tg(_, _, p), ts(_, _, p)); cp_async_fence(); }
  int read = 0, write = 2;
  for (int r = 0; r < n; ++r) {
    cp_async_wait<1>();
    __syncthreads();
    if (r + 2 < n) copy(Load{}, tg(_, _, r + 2), ts(_, _, write));
    cp_async_fence();
    for (int i = threadIdx.x; i < 512; i += 128) gY(i, r) = 2 * s(i, read);
    read = (read + 1) % 3;
    write = (write + 1) % 3;
  }
}
"""
OWN = COLUMNS.replace("    __syncthreads();\n", "").replace(
    "for (int i = threadIdx.x; i < 512; i += 128)", "for (int i = 4 * threadIdx.x; i < 4 * threadIdx.x + 4; ++i)"
)  # no thread reads what another one has copied
ARRAY = """
__global__ void __launch_bounds__(256) NAME(float const* x, float* y, int n) {
  __shared__ alignas(16) float s[2][1024];
  Tensor row = make_tensor(make_gmem_ptr(x), make_shape(n));
  int tid = threadIdx.x, stage = 0;
  auto load = [&](int st, int t) { fetch(&s[st][tid * 4], &row(t * 1024 + tid * 4)); commit(); };
  float sum = 0;
  load(0, 0);
  for (int t = 0; t < n / 1024; ++t) {
    if (t + 1 < n / 1024) load(stage ^ 1, t + 1);
    else commit();
    wait<1>();
    __syncthreads();
    for (int i = tid; i < 1024; i += 256) sum += s[stage][i];
    __syncthreads();
    stage ^= 1;
  }
  y[tid] = sum;
}
"""
HALF = """
__global__ void __launch_bounds__(128) NAME(float const* x, float* y, int n) {
  __shared__ alignas(16) float s[2][256];
  Tensor row = make_tensor(make_gmem_ptr(x), make_shape(n));
  int tid = threadIdx.x;
  float sum = 0;
  if (tid < 64) fetch(&s[0][tid * 4], &row(tid * 4));
  commit();
  for (int t = 0; t * 256 < n; ++t) {
    if (tid < 64 && (t + 1) * 256 < n) fetch(&s[(t + 1) % 2][tid * 4], &row((t + 1) * 256 + tid * 4));
    commit();
    wait<1>();
    __syncthreads();
    sum += s[t % 2][tid] + s[t % 2][tid + 128];
    __syncthreads();
  }
  y[tid] = sum;
}
"""
WARPS = """
__global__ void __launch_bounds__(128) NAME(float const* x, float* y, int n) {
  __shared__ alignas(16) float s[2][4][128];
  Tensor row = make_tensor(make_gmem_ptr(x), make_shape(n));
  int w = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  fetch(&s[0][w][lane * 4], &row(lane * 4));
  commit();
  for (int t = 0; t < n / 128; ++t) {
    if (t + 1 < n / 128) fetch(&s[(t + 1) & 1][w][lane * 4], &row((t + 1) * 128 + lane * 4));
    commit();
    wait<1>();
    __syncwarp();
    for (int i = lane; i < 128; i += 32) sum += s[t & 1][w][i];
    __syncwarp();
  }
  y[threadIdx.x] = sum;
}
"""
PIECES = """
__global__ void __launch_bounds__(128) NAME(float const* x, float* y, int n) {
  __shared__ alignas(16) float s[2][64][68];
  Tensor gX = local_tile(make_tensor(make_gmem_ptr(x), make_shape(64, n), make_stride(n, _1{})), Shape<_64, _64>{},
      make_coord(0, _));
  float sum = 0;
  rows<8>(s[0], gX(_, _, 0));
  commit();
  for (int k = 0; k < n / 64; ++k) {
    if (k + 1 < n / 64) { rows<8>(s[(k + 1) & 1], gX(_, _, k + 1)); commit(); wait<1>(); }
    else wait<0>();
    __syncthreads();
    for (int c = threadIdx.x / 64; c < 64; c += 2) sum += s[k & 1][threadIdx.x % 64][c];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}
"""
ZEROS = ARRAY.replace(
    "fetch(&s[st][tid * 4], &row(t * 1024 + tid * 4));",
    "if (row(t * 1024) > 0) fetch(&s[st][tid * 4], &row(t * 1024 + tid * 4)); else s[st][tid * 4] = 0;",
)
NEIGHBOUR = COLUMNS.replace("cp_async_wait<1>();", "cp_async_wait<0>();").replace("s(i, read)", "(s(i, read) + OTHER)")
RIGHT = {
    "columns": COLUMNS, "own": OWN, "array": ARRAY, "half": HALF, "warps": WARPS, "pieces": PIECES, "zeros": ZEROS,
    "neighbour": NEIGHBOUR.replace("OTHER", "s(i, (read + 1) % 3)"),
    "whole": ARRAY.replace("wait<1>", "wait<0>"),
    "one_barrier": COLUMNS.replace("write = (write + 1) % 3", "if (++write == 3) write = 0"),
    "dynamic": COLUMNS.replace("__shared__ alignas(16) float buffer[512 * 3]", "extern __shared__ float buffer[]"),
}  # fmt: skip
SYNC = "    __syncthreads();\n"
WRONG = {
    "no_barrier": (COLUMNS.replace(SYNC, ""), {"CUT212"}),
    "waits_too_little": (COLUMNS.replace("wait<1>", "wait<2>"), {"CUT213"}),
    "not_committed": (COLUMNS.replace("ts(_, _, write));\n    cp_async_fence();", "ts(_, _, write));"), {"CUT213"}),
    "wrong_stage": (COLUMNS.replace("s(i, read)", "s(i, write)"), {"CUT213"}),
    "same_stage": (COLUMNS.replace("ts(_, _, write)", "ts(_, _, read)"), {"CUT213"}),
    "read_stays": (COLUMNS.replace("    read = (read + 1) % 3;\n", ""), {"CUT213"}),
    "own_too_early": (OWN.replace("wait<1>", "wait<2>"), {"CUT213"}),
    "neighbour_too_far": (NEIGHBOUR.replace("OTHER", "s(i, (read + 2) % 3)"), {"CUT213"}),
    "array_waits_too_little": (ARRAY.replace("wait<1>", "wait<2>"), {"CUT213"}),
    "array_no_barrier": (ARRAY.replace(SYNC + "    for", "    for"), {"CUT212"}),
    "array_no_barrier_behind": (ARRAY.replace(SYNC + "    stage", "    stage"), {"CUT212"}),
    "array_wrong_stage": (ARRAY.replace("s[stage][i]", "s[stage ^ 1][i]"), {"CUT213"}),
    "half_no_barrier": (HALF.replace(SYNC + "    sum", "    sum"), {"CUT212"}),
    "half_waits_too_little": (HALF.replace("wait<1>", "wait<2>"), {"CUT213"}),
    "warps_wait_too_little": (WARPS.replace("wait<1>", "wait<2>"), {"CUT213"}),
    "pieces_no_barrier": (PIECES.replace(SYNC + "    for", "    for"), {"CUT212"}),
    "pieces_no_barrier_behind": (PIECES.replace(SYNC + "  }", "  }"), {"CUT212"}),
    "pieces_wait_too_little": (PIECES.replace("wait<1>", "wait<2>"), {"CUT213"}),
}


def _launches(names: Iterator[str] | list[str], texts: dict[str, str]) -> str:
    each = (
        f"  {n}<<<1, {256 if '(256)' in texts[n] else 128}, {6144 if 'extern' in texts[n] else 0}>>>(x, y, n);\n"
        for n in names
    )
    return "void run(float const* x, float* y, int n) {\n" + "".join(each) + "}\n"


@cache
def _found() -> dict[str, set[str]]:
    texts = {f"r_{n}": t for n, t in RIGHT.items()} | {f"w_{n}": t for n, (t, _) in WRONG.items()}
    with TemporaryDirectory() as folder:
        text = HEAD + "".join(t.replace("NAME", n) for n, t in texts.items()) + _launches(list(texts), texts)
        (Path(folder) / "kernels.cu").write_text(text)
        report = check(inputs([folder]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.errors
    found: dict[str, set[str]] = {}
    for f in report.findings:
        found.setdefault(f.enclosing.partition("<")[0], set()).add(f.code)
    return found


@pytest.mark.parametrize("name", RIGHT)
def test_right(name: str) -> None:
    assert f"r_{name}" not in _found()


@pytest.mark.parametrize("name", WRONG)
def test_wrong(name: str) -> None:
    assert WRONG[name][1] <= _found().get(f"w_{name}", set())


@pytest.mark.parametrize("name", ["half_no_barrier", "half_waits_too_little", "warps_wait_too_little"])
def test_wrong_of_integers(tmp_path: Path, name: str) -> None:
    """What is read of an integer in shared memory is a number; where it is is known all the same."""
    text, codes = WRONG[name]
    whole = (HEAD + text.replace("NAME", "kernel") + _launches(["kernel"], {"kernel": text})).replace("float", "int")
    (tmp_path / "kernels.cu").write_text(whole)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.errors
    assert codes <= {f.code for f in report.findings}
