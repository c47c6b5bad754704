"""Tiles that warps store and WGMMAs read as their first operand: other warpgroups' rows, too, where these share it."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """#include <cute/tensor.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using TileA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<ROWS, _64>{}));
using TileB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _2>{}));
using First = decltype(make_tiled_mma(GMMA::ss_op_selector<half_t, half_t, float, Shape<_128, _64, _64>>(),
    Layout<Shape<_2, _1, _1>>{}));
using Second = decltype(make_tiled_mma(GMMA::ss_op_selector<half_t, half_t, float, Shape<ROWS, COLUMNS, _64>>(),
    Layout<Shape<GROUPS>>{}));
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_32, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using MoveHalf = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
template <class Tma>
__global__ void __launch_bounds__(384)
multiply(Tma const __grid_constant__ tma, half_t const* a, float* out, int tiles) {
  __shared__ alignas(1024) half_t memory_a[cosize_v<TileA>];
  __shared__ alignas(1024) half_t memory_b[cosize_v<TileB>];
  __shared__ uint64_t full[2], empty[2];
  Tensor sA = make_tensor(make_smem_ptr(memory_a), TileA{});
  Tensor sB = make_tensor(make_smem_ptr(memory_b), TileB{});
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { Full::init(&full[i], 1); Empty::init(&empty[i], 256); }
  }
  __syncthreads();
  int stage = 0, phase = 0;
  if (threadIdx.x >= 256) {
    if (threadIdx.x == 256) {
      Tensor gB = local_tile(tma.get_tma_tensor(make_shape(128, 64 * tiles)), Shape<_128, _64>{}, make_coord(0, _));
      auto cta = tma.get_slice(0);
      for (int i = 0; i < tiles; ++i) {
        Empty::wait(&empty[stage], phase ^ 1);
        Full::arrive_and_expect_tx(&full[stage], 16384);
        copy(tma.with(full[stage]), cta.partition_S(gB)(_, _, _, i), cta.partition_D(sB)(_, _, _, stage));
        if (++stage == 2) { stage = 0; phase ^= 1; }
      }
    }
  } else {
    int const tid = threadIdx.x;
    Second mma;
    auto thr = mma.get_slice(tid);
    Tensor rA = thr.partition_fragment_A(sA);
    Tensor rB = thr.partition_fragment_B(sB);
    Tensor acc = partition_fragment_C(mma, Shape<ROWS, _128>{});
    mma.accumulate_ = GMMA::ScaleOut::Zero;
    for (int i = 0; i < tiles; ++i) {
      Tensor gA = make_tensor(make_gmem_ptr(a + i * 4096), Shape<ROWS, _64>{}, Stride<_64, _1>{});
      STORE
      cutlass::arch::fence_view_async_shared();
      MEET
      Full::wait(&full[stage], phase);
      warpgroup_fence_operand(acc);
      warpgroup_arrive();
      for (int k = 0; k < size<2>(rA); ++k) {
        gemm(mma, rA(_, _, k), rB(_, _, k, stage), acc);
        mma.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      warpgroup_fence_operand(acc);
      Empty::arrive(&empty[stage]);
      if (++stage == 2) { stage = 0; phase ^= 1; }
      AFTER
    }
    Tensor gOut = make_tensor(make_gmem_ptr(out), Shape<ROWS, _128>{}, Stride<_128, _1>{});
    copy(acc, thr.partition_C(gOut));
  }
}
void go(half_t const* b, half_t const* a, float* out, int n) {
  Tensor gB = make_tensor(make_gmem_ptr(b), make_layout(make_shape(128, 64 * n), LayoutRight{}));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gB, TileB{}(_, _, _0{}));
  multiply<decltype(tma)><<<1, 384>>>(tma, a, out, n);
}
"""
BOTH = "auto move = Move{}.get_slice(tid); copy(Move{}, move.partition_S(gA), move.partition_D(sA));"
ONE = (
    "if (tid < 128) { auto move = MoveHalf{}.get_slice(tid); "
    "copy(MoveHalf{}, move.partition_S(gA), move.partition_D(sA)); }"
)
OWN = (  # the rows of a warp's own
    "auto store = make_tiled_copy_C(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, First{}); "
    "auto part = store.get_slice(tid); copy(store, part.partition_S(gA), part.partition_D(sA));"
)
MEET = "cutlass::arch::NamedBarrier::sync(256, 1);"
AFTER = "cutlass::arch::NamedBarrier::sync(256, 2);"
HANDED = "if (tid < 128) cutlass::arch::NamedBarrier::arrive(256, 1); else cutlass::arch::NamedBarrier::sync(256, 1);"
EACH = "if (tid < 128) cutlass::arch::NamedBarrier::sync(128, 1); else cutlass::arch::NamedBarrier::sync(128, 3);"
SHARED = {"ROWS": "_64", "COLUMNS": "_64", "GROUPS": "_1, _2, _1"}
APART = {"ROWS": "_128", "COLUMNS": "_128", "GROUPS": "_2, _1, _1"}


def _found(folder: Path, words: dict[str, str]) -> set[tuple[str, str]]:
    text = KERNEL
    for word, meant in words.items():
        text = text.replace(word, meant)
    (folder / "kernel.cu").write_text(text)
    settings = Settings(arch=("sm_90a",), select=("CUT212", "CUT217"), cache=False, compile_commands="none")
    report = check(inputs([str(folder)]), settings)
    lines = text.splitlines()
    return {(f.code, lines[f.span.line - 1].strip()[:12]) for f in report.findings}


@pytest.mark.parametrize(
    ("tile", "store", "meet", "after"),
    [
        (SHARED, BOTH, MEET, AFTER),
        (SHARED, ONE, MEET, AFTER),
        (SHARED, ONE, EACH.replace("sync(128, 1)", "sync(128, 4)") + HANDED, AFTER),
        (APART, OWN, "__syncwarp();", "__syncwarp();"),
        (APART, OWN, EACH, ""),
    ],
    ids=["met", "of_one", "handed", "own_rows", "own_group"],
)
def test_what_is_ordered(tmp_path: Path, tile: dict[str, str], store: str, meet: str, after: str) -> None:
    assert not _found(tmp_path, {"STORE": store, "MEET": meet, "AFTER": after, **tile})


@pytest.mark.parametrize(
    ("store", "meet", "after"),
    [(BOTH, "", AFTER), (BOTH, EACH, AFTER), (ONE, EACH, AFTER), (BOTH, MEET, "")],
    ids=["not_met", "met_apart", "of_one_not_met", "overwritten"],
)
def test_another_warpgroup_reads_what_it_does_not_know_of(tmp_path: Path, store: str, meet: str, after: str) -> None:
    found = _found(tmp_path, {"STORE": store, "MEET": meet, "AFTER": after, **SHARED})
    assert found & {("CUT212", "gemm(mma, rA"), ("CUT212", store[:12])}
