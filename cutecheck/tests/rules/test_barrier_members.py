"""Barriers of CUTLASS's classes that are members of shared memory, with and without the header that declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

HEADER = """#pragma once
namespace cutlass { namespace arch {
struct ClusterBarrier {
  using ValueType = uint64_t;
  ValueType barrier_;
  __device__ void init(uint32_t n) const { ClusterBarrier::init(&this->barrier_, n); }
  __device__ void wait(uint32_t phase) const { ClusterBarrier::wait(&this->barrier_, phase); }
  static __device__ void init(ValueType const* p, uint32_t n);
  static __device__ void wait(ValueType const* p, uint32_t phase);
};
struct ClusterTransactionBarrier : public ClusterBarrier {
  __device__ void arrive_and_expect_tx(uint32_t n) const;
};
}}
"""
KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using SmemQ = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using SmemK = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
using Bar = cutlass::arch::ClusterTransactionBarrier;
struct Plan {
  array_aligned<half_t, cosize_v<SmemQ>, 1024> q;
  array_aligned<half_t, cosize_v<SmemK>, 1024> k[2];
  Bar bq, bk[2];
};
template <class Tma, class G, class S>
__device__ void load(Tma const& tma, G g, S s, Bar& bar) {
  auto cta = tma.get_slice(_0{});
  copy(tma.with(reinterpret_cast<typename Bar::ValueType&>(bar)), cta.partition_S(g), cta.partition_D(s));
}
template <class TQ, class TK>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT TQ const tq, CUTE_GRID_CONSTANT TK const tk,
                                            half_t* out, int tiles) {
  extern __shared__ char buf[];
  Plan& plan = *reinterpret_cast<Plan*>(buf);
  Tensor gq = local_tile(tq.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gk = local_tile(tk.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(_, 0));
  Tensor sq = make_tensor(make_smem_ptr(plan.q.data()), SmemQ{});
  Tensor k0 = make_tensor(make_smem_ptr(plan.k[0].data()), SmemK{});
  Tensor k1 = make_tensor(make_smem_ptr(plan.k[1].data()), SmemK{});
  bool phase = 0;
  if (threadIdx.x == 0) {
    plan.bq.init(1);
    for (int i = 0; i < 2; ++i) plan.bk[i].init(1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    load(tq, gq, sq, plan.bq);
    plan.bq.arrive_and_expect_tx(128 * 64 * sizeof(half_t));
  }
  Tensor r = make_tensor<half_t>(Shape<_64>{});
  plan.bq.wait(0);
  copy(sq(threadIdx.x, _), r);
  for (int i = 0; i < tiles; ++i) {
    if (threadIdx.x == 0) {
      load(tk, gk(_, _, 2 * i), k0, plan.bk[0]);
      plan.bk[0].arrive_and_expect_tx(64 * 64 * sizeof(half_t));
      load(tk, gk(_, _, 2 * i + 1), k1, plan.bk[1]);
      plan.bk[1].arrive_and_expect_tx(64 * 64 * sizeof(half_t));
    }
    plan.bk[0].wait(phase ? 1 : 0);
    plan.bk[1].wait(phase ? 1 : 0);
    phase ^= 1;
    copy(k0(threadIdx.x % 64, _), r);
    copy(k1(threadIdx.x % 64, _), r);
    __syncthreads();
  }
  out[threadIdx.x] = r(0);
}
void run(half_t const* A, half_t* out, int n) {
  Tensor g = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  auto q = make_tma_copy(SM90_TMA_LOAD{}, g, SmemQ{});
  auto k = make_tma_copy(SM90_TMA_LOAD{}, g, SmemK{});
  fill<<<4, 128, sizeof(Plan)>>>(q, k, out, n);
}
"""
FIRST_BYTES = "plan.bk[0].arrive_and_expect_tx(64 * 64 * sizeof(half_t));"


@pytest.mark.parametrize("header", [False, True], ids=["alone", "header"])
@pytest.mark.parametrize(
    ("text", "instead", "expected", "also"),
    [
        ("", "", "", set()),  # each is told after its load, each of other bytes
        ("expect_tx(128 * 64", "expect_tx(64 * 64", "CUT805 8192 bytes, the TMA copies before it bring 16384", set()),
        (FIRST_BYTES, FIRST_BYTES.replace("64 * 64", "64"), "CUT805 128 bytes, the TMA copies before", set()),
        ("plan.bq.wait(0);", "", "CUT217 nothing ever waits for them", {"CUT213"}),
        (FIRST_BYTES, "", "CUT217 nothing ever arrives at barrier 0 of", {"CUT805"}),
        ("phase ^= 1;", "", "CUT217 waits for phase 0", {"CUT213"}),
    ],
)
def test_members(text: str, instead: str, expected: str, also: set[str], header: bool, tmp_path: Path) -> None:
    if header:
        (tmp_path / "cutlass" / "arch").mkdir(parents=True)
        (tmp_path / "cutlass" / "arch" / "barrier.h").write_text(HEADER)
    (tmp_path / "kernel.cu").write_text(KERNEL.replace(text, instead) if text else KERNEL)
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), include=(str(tmp_path),)))
    assert not made.failures and not made.errors
    code, _, said = expected.partition(" ")
    found = [(f.code, f.message) for f in made.findings if f.code not in also]
    assert [c for c, _ in found] == ([code] if code else []), found
    assert all(said in m for _, m in found), found
