"""Registers that WGMMAs read as A, and that are filled anew (CUT215)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>{}));
template <class Tma>
__global__ void __launch_bounds__(128) square(CUTE_GRID_CONSTANT Tma const tma, float* out, int m, int k) {
  __shared__ alignas(1024) half_t smem[cosize_v<Smem>];
  __shared__ alignas(8) uint64_t full[1];
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(m, k)), Shape<_64, _64>{}, make_coord(blockIdx.x, _));
  auto cta = tma.get_slice(0);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(sA);
  Tensor rB = thr.make_fragment_B(thr.partition_B(sA));
  Tensor acc = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(acc);
  auto s2r = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto from = s2r.get_slice(threadIdx.x);
  Tensor tAsA = from.partition_S(sA);
  Tensor tArA = from.retile_D(rA);
  if (threadIdx.x == 0) Full::init(&full[0], 1);
  __syncthreads();
  int phase = 0;
  for (int t = 0; t < size<2>(gA); ++t) {
    if (threadIdx.x == 0) {
      Full::arrive_and_expect_tx(&full[0], 8192);
      copy(tma.with(full[0]), cta.partition_S(gA(_, _, t)), cta.partition_D(sA));
    }
    Full::wait(&full[0], phase);
    phase ^= 1;
    copy(s2r, tAsA(_, _, 0), tArA(_, _, 0));
    for (int i = 0; i < 4; ++i) {
      warpgroup_arrive();
      gemm(mma, rA(_, _, i % SLOTS), rB(_, _, i), acc);
      warpgroup_commit_batch();
      WAIT
      if (i < 3) copy(s2r, tAsA(_, _, i + 1), tArA(_, _, (i + 1) % SLOTS));
    }
    warpgroup_wait<0>();
    __syncthreads();
  }
  out[blockIdx.x * 128 + threadIdx.x] = acc(0);
}
void run(half_t const* A, float* out, int m, int k) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  square<<<m / 64, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}), out, m, k);
}
"""


@pytest.mark.parametrize(
    ("slots", "wait", "found"),
    [
        (2, "warpgroup_wait<1>();", False),
        (2, "warpgroup_wait<2>();", True),
        (2, "", True),
        (1, "warpgroup_wait<0>();", False),
        (1, "warpgroup_wait<1>();", True),
        (4, "", False),
    ],
)
def test_registers_of_a_filled_while_they_are_read(tmp_path: Path, slots: int, wait: str, found: bool) -> None:
    text = KERNEL.replace("SLOTS", str(slots)).replace("WAIT", wait)
    (tmp_path / "square.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",)))
    assert not report.failures
    assert [f.code for f in report.findings] == ["CUT215"] * found
    assert all("may still run" in f.message and "as A" in f.message for f in report.findings)


ONE_PATH = """
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>{}));
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
__global__ void __launch_bounds__(128) product(half_t const* in, half_t const* bs, float* out, int tiles) {
  __shared__ alignas(1024) half_t b[cosize_v<Smem>];
  auto g2s = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                             Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{});
  auto cp = g2s.get_slice(threadIdx.x);
  Tensor sB = make_tensor(make_smem_ptr(b), Smem{});
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gA = make_tensor(make_gmem_ptr(in), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(bs), make_shape(_64{}, _64{}, tiles), make_stride(_64{}, _1{}, _4096{}));
  Tensor tA = thr.partition_A(gA);
  Tensor rA = thr.partition_fragment_A(gA);
  Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
  Tensor g = thr.partition_C(make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{}));
  Tensor acc = thr.make_fragment_C(g);
  clear(acc);
  constexpr int K = size<2>(rA);
  Mma mma;
  for (int t = 0; t < tiles; ++t) {
    __syncthreads();
    copy(g2s, cp.partition_S(gB(_, _, t)), cp.partition_D(sB));
    cp_async_fence(); cp_async_wait<0>();
    cutlass::arch::fence_view_async_shared();
    __syncthreads();
    copy(tA(_, _, 0), rA(_, _, 0));
    for (int k = 0; k < K; ++k) {
      warpgroup_arrive();
      gemm(mma, rA(_, _, k % SLOTS), rB(_, _, k), acc);
      warpgroup_commit_batch();
      WAIT
      if (k < K - 1) copy(tA(_, _, k + 1), rA(_, _, (k + 1) % SLOTS));
    }
    LAST
  }
  copy(acc, g);
}
void run(half_t const* in, half_t const* b, float* out, int n) { product<<<1, 128>>>(in, b, out, n); }
"""
WAIT_FOR_ALL = "warpgroup_wait<0>();"


@pytest.mark.parametrize(
    ("slots", "wait", "last", "found"),
    [
        (2, "warpgroup_wait<1>();", "warpgroup_wait<0>(); if (t == 0) copy(acc, g);", []),
        (2, "warpgroup_wait<2>();", WAIT_FOR_ALL, ["as A"]),
        (4, "", "if (t == 0) copy(acc, g); warpgroup_wait<0>();", ["may still run"]),
    ],
)
def test_where_all_threads_go_one_way(tmp_path: Path, slots: int, wait: str, last: str, found: list[str]) -> None:
    """Without barriers in memory: what a loop multiplies comes by cp.async."""
    text = ONE_PATH.replace("SLOTS", str(slots)).replace("WAIT", wait).replace("LAST", last)
    (tmp_path / "product.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT2",)))
    assert not report.failures
    assert [f.code for f in report.findings] == ["CUT215"] * len(found)
    assert all(said in f.message for said, f in zip(found, report.findings, strict=True))
