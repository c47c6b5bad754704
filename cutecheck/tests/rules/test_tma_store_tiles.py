"""Where TMA stores the tile that a block loads: a block index that says which is loaded says where it goes (CUT219)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/cluster_launch.hpp>
using namespace cute;
using Bar = cutlass::arch::ClusterTransactionBarrier;
using Tile = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
template <class In, class Out>
__global__ void __launch_bounds__(128) through(__grid_constant__ In const in, __grid_constant__ Out const out, int m) {
  __shared__ alignas(1024) half_t tile[cosize_v<Tile>];
  __shared__ uint64_t full;
  Tensor s = make_tensor(make_smem_ptr(tile), Tile{});
  Tensor g = local_tile(in.get_tma_tensor(make_shape(m, _64{})), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor o = local_tile(out.get_tma_tensor(make_shape(m, _64{})), Shape<_128, _64>{}, make_coord(STORED, 0));
  auto [from, into] = tma_partition(in, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(s), group_modes<0, 2>(g));
  auto [to, of] = tma_partition(out, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(s), group_modes<0, 2>(o));
  if (threadIdx.x == 0) Bar::init(&full, 1);
  cutlass::arch::fence_barrier_init();
  __syncthreads();
  if (threadIdx.x == 0) {
    Bar::arrive_and_expect_tx(&full, sizeof(tile));
    copy(in.with(full), from, into);
  }
  Bar::wait(&full, 0);
  if (WHO) {
    copy(out, of, to);
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
void run(half_t* a, half_t* b, int m) {
  auto shape = make_shape(m, _64{});
  auto from = make_tensor(make_gmem_ptr(a), shape, make_stride(_64{}, _1{}));
  auto to = make_tensor(make_gmem_ptr(b), shape, make_stride(_64{}, _1{}));
  auto in = make_tma_copy(SM90_TMA_LOAD{}, from, Tile{});
  auto out = make_tma_copy(SM90_TMA_STORE{}, to, Tile{});
  through<<<ceil_div(m, 128), 128>>>(in, out, m);
}
"""


@pytest.mark.parametrize(
    ("stored", "who", "codes"),
    [
        ("blockIdx.x", "threadIdx.x == 0", []),
        ("int(blockIdx.x)", "threadIdx.x == 0", []),
        ("0", "threadIdx.x == 0", ["CUT219"]),
        ("0", "threadIdx.x == 0 && blockIdx.x == 0", []),  # the first block alone stores
    ],
)
def test_a_tile_goes_where_the_block_is(stored: str, who: str, codes: list[str], tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text(KERNEL.replace("STORED", stored).replace("WHO", who))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not report.failures
    assert [f.code for f in report.findings] == codes
