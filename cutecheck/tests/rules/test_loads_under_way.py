"""TMA loads that nothing waits for before the kernel ends (CUT217)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _2>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
template <class Tma>
__global__ void __launch_bounds__(128) rows(CUTE_GRID_CONSTANT Tma const tma, half_t* out, int m, int k) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(m, k)), Shape<_128, _64>{}, make_coord(blockIdx.x, _));
  auto cta = tma.get_slice(0);
  int tiles = size<2>(gA);
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      Full::init(&full[i], 1);
      Empty::init(&empty[i], 128);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) {
      Full::arrive_and_expect_tx(&full[i], 16384);
      copy(tma.with(full[i]), cta.partition_S(gA(_, _, i)), cta.partition_D(sA(_, _, i)));
    }
  }
  int stage = 0, phase = 0;
  Tensor sum = make_tensor<half_t>(Shape<_64>{});
  clear(sum);
  for (int i = 0; i < tiles; ++i) {
    Full::wait(&full[stage], phase);
    Tensor r = make_tensor<half_t>(Shape<_64>{});
    copy(sA(threadIdx.x, _, stage), r);
    axpby(1, r, 1, sum);
    Empty::arrive(&empty[stage]);
    if (threadIdx.x == 0 && i + 2 < tiles) {
      Empty::wait(&empty[stage], phase);
      Full::arrive_and_expect_tx(&full[stage], 16384);
      copy(tma.with(full[stage]), cta.partition_S(gA(_, _, i + 2)), cta.partition_D(sA(_, _, stage)));
    }
    stage = stage ^ 1;
    if (stage == 0) phase ^= 1;
  }
  out[blockIdx.x * 128 + threadIdx.x] = sum(0);
}
void run(half_t const* A, half_t* out, int m, int k) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  rows<<<m / 128, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}(_, _, 0)), out, m, k);
}
"""
LOAD = "  copy(tma.with(full[stage])"
REST = """
  Full::wait(&full[stage], phase);
  Full::wait(&full[stage ^ 1], stage == 0 ? phase : phase ^ 1);
  out[blockIdx.x"""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ([], 0),
        ([(" && i + 2 < tiles", "")], 1),
        ([(" && i + 2 < tiles", " && i + 1 < tiles")], 1),
        ([(" && i + 2 < tiles", ""), ("\n  out[blockIdx.x", REST)], 0),
    ],
)
def test_loads_that_nothing_waits_for(tmp_path: Path, changes: list[tuple[str, str]], found: int) -> None:
    text = KERNEL
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "rows.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",)))
    assert not report.failures
    assert [f.code for f in report.findings] == ["CUT217"] * found
    assert all("nothing waits for it before the kernel ends" in f.message for f in report.findings)
