"""Barriers that one or the other branch of a condition initialises, for other numbers of arrivals."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
struct Shared { alignas(128) half_t a[1024]; uint64_t full[1]; uint64_t done; };
template <class Tma> __global__ void load(CUTE_GRID_CONSTANT Tma const tma, float* out, int peers) {
  extern __shared__ char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  bool lane_predicate = elect_one_sync();
  int warp = threadIdx.x / 32;
  if (warp == 0 && lane_predicate) cutlass::arch::ClusterTransactionBarrier::init(&s.full[0], 1);
  if (warp == 1) {
    BRANCHES
  }
  __syncthreads();
  Tensor mA = tma.get_tma_tensor(make_shape(_32{}, _32{}));
  Tensor sA = make_tensor(make_smem_ptr(s.a), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    cutlass::arch::ClusterTransactionBarrier::arrive_and_expect_tx(&s.full[0], 2048);
    copy(tma.with(s.full[0]), cta.partition_S(mA), cta.partition_D(sA));
  }
  cutlass::arch::ClusterTransactionBarrier::wait(&s.full[0], 0);
  out[threadIdx.x] = float(sA(threadIdx.x % 32, 0));
}
void run(half_t const* A, float* out, int peers) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gA, Layout<Shape<_32, _32>, Stride<_32, _1>>{});
  load<<<1, 128, sizeof(Shared)>>>(tma, out, peers);
}
"""
INIT = "cutlass::arch::ClusterBarrier::init(&s.done, %s);"
FIRST = f"if (peers > 1 && lane_predicate) {INIT % 64} "


@pytest.mark.parametrize(
    ("second", "twice"),
    [("else if (lane_predicate) ", False), ("else { if (lane_predicate) ", False), ("if (lane_predicate) ", True)],
)
def test_one_of_two_branches(second: str, twice: bool, tmp_path: Path) -> None:
    branches = FIRST + second + INIT % 32 + (" }" if "{" in second else "")
    (tmp_path / "load.cu").write_text(PREAMBLE + KERNEL.replace("BRANCHES", branches))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT217",)))
    assert not report.failures
    assert [f.message for f in report.findings if "initialised twice" in f.message] == [
        f.message for f in report.findings
    ]
    assert bool(report.findings) == twice
