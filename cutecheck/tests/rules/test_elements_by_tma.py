"""TMA stores what threads have stored by single elements, in loops that nothing says the end of."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <class SL, class Store>
__global__ void fill_by_hand(CUTE_GRID_CONSTANT Store const store, SL sl, int m, int n) {
  __shared__ alignas(128) float tile[cosize_v<SL>];
  Tensor sT = make_tensor(make_smem_ptr(tile), sl);
  Tensor gO = local_tile(store.get_tma_tensor(make_shape(m, n)), shape(sl), make_coord(blockIdx.x, blockIdx.y));
  BODY
  if (threadIdx.x == 0) {
    auto st = store.get_slice(0);
    copy(store, st.partition_S(sT), st.partition_D(gO));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
void go(float* y, int m, int n) {
  auto sl = make_layout(make_shape(_64{}, _32{}), LayoutRight{});
  auto st = make_tma_copy(SM90_TMA_STORE{}, make_tensor(make_gmem_ptr(y), make_shape(m, n), make_stride(n, _1{})), sl);
  fill_by_hand<<<dim3(m / 64, n / 32), 128>>>(st, sl, m, n);
}
"""
LOOP = "for (int i = threadIdx.x; i < size(sT); i += blockDim.x) sT(i) = 1.f;"
CASES = [
    (f"{LOOP} tma_store_fence(); __syncthreads();", []),
    (f"{LOOP} __syncthreads();", ["CUT216"]),
    (f"{LOOP} tma_store_fence();", ["CUT212"]),
    ("if (threadIdx.x < 32) sT(threadIdx.x) = 1.f; tma_store_fence();", []),  # one warp, which stores it by itself
    ("for (int i = 0; i < 64; ++i) sT(i) = 1.f; tma_store_fence();", []),  # all threads the same
]


@pytest.mark.parametrize(("body", "codes"), CASES)
def test_stores_of_elements(tmp_path: Path, body: str, codes: list[str]) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_90a",), select=("CUT212", "CUT216")))
    assert not report.failures
    assert [f.code for f in report.findings] == codes
