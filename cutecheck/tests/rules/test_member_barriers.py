"""A barrier that is one number, a member of an object in shared memory: what it is told to expect (CUT805)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
struct Part { alignas(1024) half_t data[cosize_v<Smem>]; uint64_t full; };
struct Storage { Part first; Part second; uint64_t own; };
template <class Tma>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma, int n) {
  extern __shared__ __align__(1024) uint8_t raw[];
  auto& s = *reinterpret_cast<Storage*>(raw);
  Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  auto load = [&](Part& part, uint64_t& bar) {
    Tensor sA = make_tensor(make_smem_ptr(part.data), Smem{});
    copy(tma.with(bar), cta.partition_S(gA), cta.partition_D(sA));
  };
  if (threadIdx.x == 0) {
    initialize_barrier(s.first.full, 1);
    initialize_barrier(s.BAR, 1);
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    load(s.first, s.first.full);
    set_barrier_transaction_bytes(s.first.full, FIRST);
    set_barrier_transaction_bytes(s.BAR, SECOND);
    load(s.second, s.BAR);
  }
  wait_barrier(s.first.full, 0);
  wait_barrier(s.BAR, 0);
}
void run(half_t const* A, int n) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
  auto* kernel = &fill<decltype(tma)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<4, 128, sizeof(Storage)>>>(tma, n);
}
"""


@pytest.mark.parametrize("bar", ["second.full", "own"])
@pytest.mark.parametrize(
    ("first", "second", "wrong"), [(16384, 16384, 0), (8192, 16384, 1), (16384, 8192, 1), (8192, 8192, 2)]
)
def test_bytes_of_barriers_that_are_members(tmp_path: Path, bar: str, first: int, second: int, wrong: int) -> None:
    text = KERNEL.replace("BAR", bar).replace("FIRST", str(first)).replace("SECOND", str(second))
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_90a",)))
    assert not report.failures
    assert [f.code for f in report.findings if f.severity == "error"] == ["CUT805"] * wrong
