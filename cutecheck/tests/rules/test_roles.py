"""Kernels whose threads are told by barriers in shared memory what is filled: right ones, and with one mistake each."""

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
__global__ void __launch_bounds__(128) sum(CUTE_GRID_CONSTANT Tma const tma, half_t* out, int tiles) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[2], empty[2];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(_, 0));
  auto cta = tma.get_slice(0);
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
  for (int i = 0; i < tiles; ++i) {
    Full::wait(&full[stage], phase);
    Tensor r = make_tensor<half_t>(Shape<_64>{});
    copy(sA(threadIdx.x, _, stage), r);
    out[threadIdx.x] = r(0);
    Empty::arrive(&empty[stage]);
    if (threadIdx.x == 0 && i + 2 < tiles) {
      Empty::wait(&empty[stage], phase);
      Full::arrive_and_expect_tx(&full[stage], 16384);
      copy(tma.with(full[stage]), cta.partition_S(gA(_, _, i + 2)), cta.partition_D(sA(_, _, stage)));
    }
    stage = stage ^ 1;
    if (stage == 0) phase ^= 1;
  }
}
void run(half_t const* A, half_t* out, int tiles) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  sum<<<4, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}(_, _, 0)), out, tiles);
}
"""
MISTAKES = {
    "right": ("", "", set()),
    "full_of_another_phase": ("wait(&full[stage], phase)", "wait(&full[stage], phase ^ 1)", {"CUT213"}),
    "full_of_another_stage": ("wait(&full[stage], phase)", "wait(&full[stage ^ 1], phase)", {"CUT213"}),
    "empty_of_another_phase": ("wait(&empty[stage], phase)", "wait(&empty[stage], phase ^ 1)", {"CUT212"}),
    "released_too_early": (
        "    Full::wait(&full[stage], phase);\n",
        "    Full::wait(&full[stage], phase);\n    Empty::arrive(&empty[stage]);\n",
        {"CUT212"},
    ),
    "phase_flips_late": ("if (stage == 0) phase", "if (stage == 1) phase", {"CUT213"}),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, tmp_path: Path) -> None:
    old, new, codes = MISTAKES[name]
    text = KERNEL.replace(old, new)
    if name == "released_too_early":
        text = text.replace("    out[threadIdx.x] = r(0);\n    Empty::arrive(&empty[stage]);\n", "")
    (tmp_path / "sum.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4", "CUT217")))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found
