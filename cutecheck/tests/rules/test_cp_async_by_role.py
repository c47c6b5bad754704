"""A warpgroup that fills stages by cp.async, and one that multiplies them: who says what is over (CUT212).

With CUTLASS's own pipelines: what is known of them by their names alone does not judge the stages by role.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.exec.headers import NoHeaders, find_headers

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/pipeline/pipeline.hpp>
using namespace cute;
constexpr int kStages = 3;
using Tile = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, Int<kStages>>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Pipe = cutlass::PipelineAsync<kStages>;
struct Storage {
  alignas(1024) half_t a[cosize_v<Tile>], b[cosize_v<Tile>];
  typename Pipe::SharedStorage pipe;
};
__global__ void __launch_bounds__(256) product(half_t const* A, half_t const* B, float* C, int k) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), Tile{}), sB = make_tensor(make_smem_ptr(s.b), Tile{});
  int const group = threadIdx.x / 128, thread = threadIdx.x % 128;
  typename Pipe::Params params;
  params.role = group == 0 ? Pipe::ThreadCategory::Producer : Pipe::ThreadCategory::Consumer;
  params.producer_arv_count = 128;
  params.consumer_arv_count = 128;
  Pipe pipe(s.pipe, params);
  __syncthreads();
  auto whole = make_layout(make_shape(_64{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), whole), Shape<_64, _64>{}, make_coord(0, _));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), whole), Shape<_64, _64>{}, make_coord(0, _));
  int const tiles = size<2>(gA);
  if (group == 0) {
    auto load = Load{}.get_slice(thread);
    Tensor fromA = load.partition_S(gA), toA = load.partition_D(sA);
    Tensor fromB = load.partition_S(gB), toB = load.partition_D(sB);
    auto write = cutlass::make_producer_start_state<Pipe>();
    auto ready = write;
    for (int i = 0; i < tiles; ++i) {
      pipe.producer_acquire(write);
      copy(Load{}, fromA(_, _, _, i), toA(_, _, _, write.index()));
      copy(Load{}, fromB(_, _, _, i), toB(_, _, _, write.index()));
      cp_async_fence();
      ++write;
      if (i > 0) {
        cp_async_wait<1>();
        cutlass::arch::fence_view_async_shared();
        pipe.producer_commit(ready);
        ++ready;
      }
    }
    cp_async_wait<0>();
    cutlass::arch::fence_view_async_shared();
    pipe.producer_commit(ready);
    pipe.producer_tail(write);
  } else {
    Mma mma;
    auto thr = mma.get_slice(thread);
    Tensor tCgC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
    Tensor acc = thr.make_fragment_C(tCgC);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA)), rB = thr.make_fragment_B(thr.partition_B(sB));
    clear(acc);
    cutlass::PipelineState<kStages> read;
    for (int i = 0; i < tiles; ++i) {
      pipe.consumer_wait(read);
      warpgroup_arrive();
      gemm(mma, rA(_, _, _, read.index()), rB(_, _, _, read.index()), acc);
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      pipe.consumer_release(read);
      ++read;
    }
    copy(acc, tCgC);
  }
}
void run(half_t* a, half_t* b, float* c, int k) {
  cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  product<<<1, 256, sizeof(Storage)>>>(a, b, c, k);
}
"""
RELEASE = "      warpgroup_wait<0>();\n      pipe.consumer_release(read);\n"


VARIANTS = {
    "right": ("", "", False),
    "waits_for_all": ("cp_async_wait<1>", "cp_async_wait<0>", False),  # for more than it tells of
    "waits_for_too_few": ("cp_async_wait<1>", "cp_async_wait<2>", True),
    "products_still_run": ("warpgroup_wait<0>", "warpgroup_wait<1>", True),  # the stage is given back while it is read
    "given_back_before_the_wait": (RELEASE, "      pipe.consumer_release(read);\n      warpgroup_wait<0>();\n", True),
}


def test_who_waits_for_what(tmp_path: Path) -> None:
    """All in one run, which reads CUTLASS's pipelines once."""
    found_headers = find_headers()
    if isinstance(found_headers, NoHeaders):
        pytest.skip(str(found_headers))
    for name, (old, new, _) in VARIANTS.items():
        assert old in KERNEL
        (tmp_path / f"{name}.cu").write_text(KERNEL.replace(old, new, 1) if old else KERNEL)
    settings = Settings(arch=("sm_90a",), cache=False, include=(found_headers.cutlass,), jobs=1)
    report = check(inputs([str(tmp_path)]), settings)
    assert not report.failures
    for name, (_, _, found) in VARIANTS.items():
        codes = {f.code for f in report.findings if f.span.path == f"{name}.cu"}
        assert ("CUT212" in codes) == found, name
        assert found or not codes, name
