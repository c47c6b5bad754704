"""Operations of TMA that a kernel calls by themselves, in a ring whose barriers are in a header without CuTe."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

BARRIERS = """
#pragma once
#include <cstdint>
namespace own {
template <int N> struct State {
  uint32_t count = 0;
  __device__ int slot() const { return count % N; }
  __device__ uint32_t parity() const { return count / N & 1; }
};
template <int N> struct Ring {
  uint64_t full[N], empty[N];
  __device__ void init(int consumers) {
    for (int i = 0; i < N; ++i) {
      cutlass::arch::ClusterTransactionBarrier::init(&full[i], 1);
      cutlass::arch::ClusterBarrier::init(&empty[i], consumers);
    }
  }
  __device__ void wait_full(State<N> const& s) {
    cutlass::arch::ClusterTransactionBarrier::wait(&full[s.slot()], s.parity());
  }
  __device__ void wait_empty(State<N> const& s) {
    cutlass::arch::ClusterBarrier::wait(&empty[s.slot()], s.parity() ^ 1);
  }
  __device__ void expect(State<N> const& s, uint32_t n) {
    cutlass::arch::ClusterTransactionBarrier::arrive_and_expect_tx(&full[s.slot()], n);
  }
  __device__ void release(State<N> const& s) { cutlass::arch::ClusterBarrier::arrive(&empty[s.slot()]); }
};
}
"""
KERNEL = """
#include "ring.h"
using Tiles = Layout<Shape<_32, _64, _3>, Stride<_64, _1, _2048>>;
using One = Layout<Shape<_32, _64>, Stride<_64, _1>>;
using Read = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_8, _16>,
    Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
struct Shared { alignas(128) float data[3 * 2048]; alignas(128) float out[2048]; own::Ring<3> ring; };
__global__ void __launch_bounds__(160)
    ring(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap to, int rows) {
  int const tiles = rows / 64;
  extern __shared__ char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) s.ring.init(128);
  __syncthreads();
  own::State<3> at;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int t = 0; t < tiles; ++t, ++at.count) {
        s.ring.wait_empty(at);
        s.ring.expect(at, 8192);
        uint64_t* bar = &s.ring.full[at.slot()];
        if (t % 2) SM90_TMA_LOAD_2D::copy(&in, bar, uint64_t(0), s.data + at.slot() * 2048, 0, t * 32);
        else SM90_TMA_LOAD_2D::copy(&in, bar, uint64_t(1), s.data + at.slot() * 2048, 0, t * 32);
      }
    }
    return;
  }
  auto thr = Read{}.get_slice(threadIdx.x);
  Tensor ts = thr.partition_S(make_tensor(make_smem_ptr(s.data), Tiles{}));
  Tensor to_s = thr.partition_D(make_tensor(make_smem_ptr(s.out), One{}));
  Tensor r = make_fragment_like(ts(_, _, _, 0));
  for (int t = 0; t < tiles; ++t, ++at.count) {
    s.ring.wait_full(at);
    copy(Read{}, ts(_, _, _, at.slot()), r);
    s.ring.release(at);
    if (threadIdx.x == 0) tma_store_wait<0>();
    cutlass::arch::NamedBarrier::sync(128, 1);
    copy(Read{}, r, to_s);
    tma_store_fence();
    cutlass::arch::NamedBarrier::sync(128, 1);
    if (threadIdx.x == 0) {
      SM90_TMA_STORE_2D::copy(&to, s.out, 0, t * 32);
      tma_store_arrive();
    }
  }
  if (threadIdx.x == 0) tma_store_wait<0>();
}
void run(CUtensorMap in, CUtensorMap to, int rows) { ring<<<8, 160, sizeof(Shared)>>>(in, to, rows); }
"""
READS = "    copy(Read{}, ts(_, _, _, at.slot()), r);\n"
RELEASE = "    s.ring.release(at);\n"
MISTAKES = {
    "right": ("", "", ""),
    "full_not_waited_for": ("    s.ring.wait_full(at);\n", "", "CUT213"),
    "empty_not_waited_for": ("        s.ring.wait_empty(at);\n", "", "CUT213"),
    "phase": ("s.parity() ^ 1", "s.parity()", "CUT217"),
    "too_many_counted": ("s.ring.init(128)", "s.ring.init(160)", "CUT217"),
    "not_released": (RELEASE, "", "CUT217"),
    "released_before_it_is_read": (READS + RELEASE, RELEASE + READS, "CUT212"),
    "store_not_waited_for": ("    if (threadIdx.x == 0) tma_store_wait<0>();\n    cutlass", "    cutlass", "CUT216"),
    "stored_too_soon": (
        "    tma_store_fence();\n    cutlass::arch::NamedBarrier::sync(128, 1);\n",
        "    tma_store_fence();\n",
        "CUT216",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_operations_that_are_called_by_themselves(tmp_path: Path, name: str) -> None:
    old, new, code = MISTAKES[name]
    header, kernel = BARRIERS.replace(old, new, 1), KERNEL.replace(old, new, 1)
    assert not old or (header, kernel) != (BARRIERS, KERNEL)
    (tmp_path / "ring.h").write_text(header)
    (tmp_path / "k.cu").write_text(PREAMBLE + kernel)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not report.failures and not report.errors
    found = {f.code for f in report.findings if f.code.startswith("CUT2")}
    assert code in found if code else not found
