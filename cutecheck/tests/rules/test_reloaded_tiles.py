"""A tile that each pass of a loop copies again, where that of another tensor goes on (CUT218)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Tile = Layout<Shape<_64, _64>, Stride<_72, _1>>;
__global__ void __launch_bounds__(128) attend(half_t const* k, half_t const* v, float* out, int tokens, int others) {
  __shared__ alignas(128) half_t sk[cosize_v<Tile>], sv[cosize_v<Tile>];
  Tensor mK = make_tensor(make_gmem_ptr(k), make_shape(tokens, _64{}), make_stride(_64{}, _1{}));
  Tensor mV = make_tensor(make_gmem_ptr(v), make_shape(EXTENT, _64{}), make_stride(_64{}, _1{}));
  Tensor gK = local_tile(mK, Shape<_64, _64>{}, make_coord(_, 0));
  Tensor gV = local_tile(mV, Shape<_64, _64>{}, make_coord(_, 0));
  Tensor sK = make_tensor(make_smem_ptr(sk), Tile{}), sV = make_tensor(make_smem_ptr(sv), Tile{});
  auto load = Load{}.get_slice(threadIdx.x);
  float sum = 0;
  for (int t = 0; t < tokens / 64; ++t) {
    copy(Load{}, load.partition_S(gK(_, _, t)), load.partition_D(sK));
    FIRST copy(Load{}, load.partition_S(gV(_, _, WHICH)), load.partition_D(sV));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    sum += float(sK(threadIdx.x / 2, 0)) * float(sV(threadIdx.x / 2, 0));
    __syncthreads();
    AGAIN
  }
  out[threadIdx.x] = sum;
}
void run(half_t const* k, half_t const* v, float* out, int n, int others) {
  if (n % 64 == 0 && others % 64 == 0) attend<<<1, 128>>>(k, v, out, n, others);
}
"""
CASES = [
    ("tokens", "t", "", "", 0),
    ("tokens", "0", "", "", 1),
    ("tokens", "blockIdx.x", "", "", 0),  # the block's own
    ("tokens", "0", "if (t == 0)", "", 0),
    (
        "tokens",
        "0",
        "for (int i = 0; i < 4; ++i) copy(Load{}, load.partition_S(gV(_, _, 0))(_, i, _), "
        "load.partition_D(sV)(_, i, _)); if (t < 0)",
        "",
        1,
    ),
    ("others", "0", "", "", 0),  # of as many rows as it likes
    ("tokens", "0", "", "sV(threadIdx.x / 2, 0) = sK(threadIdx.x / 2, 1); __syncthreads();", 0),  # so it is needed anew
]


@pytest.mark.parametrize(("extent", "which", "first", "again", "many"), CASES)
def test_tiles_that_stay(tmp_path: Path, extent: str, which: str, first: str, again: str, many: int) -> None:
    text = KERNEL.replace("EXTENT", extent).replace("WHICH", which).replace("FIRST", first).replace("AGAIN", again)
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT218",)))
    assert not report.failures
    assert sum("copies the same tile" in f.message for f in report.findings) == many
