"""Stages that are filled through one view of a buffer and read through another: V as it is loaded, and transposed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
using T = cutlass::half_t;
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Tile<_64, _16, _16>>;
using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Rows = decltype(tile_to_shape(Atom{}, Shape<_64, _128, _2>{}));
using Columns = decltype(composition(Rows{}, Layout<Shape<_128, _64, _2>, Stride<_64, _1, Int<8192>>>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, T>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) values(T const* v, float* out, int n) {
  __shared__ alignas(128) T buffer[cosize_v<Rows>];
  Tensor g = make_tensor(make_gmem_ptr(v), make_shape(_64{}, _128{}, n), make_stride(_128{}, _1{}, _8192{}));
  Tensor s = make_tensor(make_smem_ptr(buffer), Rows{});
  Tensor st = make_tensor(make_smem_ptr(buffer), Columns{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor lg = load.partition_S(g);
  Tensor ls = load.partition_D(s);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = make_tensor<T>(partition_shape_A(mma, Shape<_64, _64>{}));
  Tensor rB = thr.partition_fragment_B(st(_, _, 0));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _128>{});
  clear(acc);
  fill(rA, T(1));
  auto lb = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, T>{}, mma);
  auto tb = lb.get_slice(threadIdx.x);
  auto fetch = [&](int tile, int stage) {
    copy(Load{}, lg(_, _, _, tile), ls(_, _, _, stage));
    cp_async_fence();
  };
  fetch(0, 0);
  for (int t = 0; t < n; ++t) {
    cp_async_wait<0>();
    __syncthreads();
    if (t + 1 < n) fetch(t + 1, (t + 1) % 2);
    copy(lb, tb.partition_S(st)(_, _, _, t % 2), tb.retile_D(rB));
    gemm(mma, rA, rB, acc);
  }
  copy(acc, thr.partition_C(make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _128>, Stride<_128, _1>>{})));
}
void run(T const* v, float* out, int n) { values<<<1, 128>>>(v, out, n); }
"""
WRONG = {
    "no_barrier": ("    __syncthreads();\n", "", {"CUT212"}),
    "the_stage_that_is_filled": ("(_, _, _, t % 2)", "(_, _, _, (t + 1) % 2)", {"CUT212", "CUT213"}),
    "one_stage": ("fetch(t + 1, (t + 1) % 2);\n    copy(lb, tb.partition_S(st)(_, _, _, t % 2)",
                  "fetch(t + 1, 0);\n    copy(lb, tb.partition_S(st)(_, _, _, 0)", {"CUT212", "CUT213"}),
}  # fmt: skip


def _codes(tmp_path: Path, text: str) -> set[str]:
    (tmp_path / "values.cu").write_text(text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.errors
    return {f.code for f in report.findings}


def test_another_stage_is_filled_while_one_is_read(tmp_path: Path) -> None:
    assert not _codes(tmp_path, KERNEL)


@pytest.mark.parametrize("name", WRONG)
def test_mistakes(name: str, tmp_path: Path) -> None:
    old, new, codes = WRONG[name]
    assert KERNEL.count(old) == 1
    assert _codes(tmp_path, KERNEL.replace(old, new)) & codes
