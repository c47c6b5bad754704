"""One operand by cp.async, the other by TMA, the result stored by TMA, tile after tile: one mistake each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts.replayed import Along, Place, Step, Thread
from cutecheck.facts.span import Span
from cutecheck.rules.derive.displaced import displaced
from cutecheck.rules.derive.tma_walks import not_walked

KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
constexpr int kStages = 3;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, Int<kStages>>{}));
using SmemB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, Int<kStages>>{}));
using SmemC = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _128>{}));
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
struct Storage {
  alignas(1024) half_t a[cosize_v<SmemA>];
  alignas(1024) half_t b[cosize_v<SmemB>];
  alignas(1024) half_t c[cosize_v<SmemC>];
  uint64_t full[kStages], empty[kStages];
};
template <class TmaB, class TmaC>
__global__ void __launch_bounds__(256) product(half_t const* A, CUTE_GRID_CONSTANT TmaB const tma_b,
                                               CUTE_GRID_CONSTANT TmaC const tma_c, int m, int n, int k) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.a), SmemA{}), sB = make_tensor(make_smem_ptr(s.b), SmemB{});
  Tensor sC = make_tensor(make_smem_ptr(s.c), SmemC{});
  int const group = threadIdx.x / 128, thread = threadIdx.x % 128;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      Full::init(&s.full[i], 129);
      Empty::init(&s.empty[i], 1);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  int const rows = m / 64, tiles = rows * (n / 128), steps = k / 64;
  int stage = 0, phase = 0;
  for (int at = blockIdx.x; at < tiles; at += gridDim.x) {
    int const row = at % rows, column = at / rows;
    if (group == 0) {
      Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
      Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(row, _));
      Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(n, k)), Shape<_128, _64>{}, make_coord(column, _));
      auto load = Load{}.get_slice(thread);
      auto slice = tma_b.get_slice(0);
      Tensor fromA = load.partition_S(gA), toA = load.partition_D(sA);
      Tensor fromB = slice.partition_S(gB), toB = slice.partition_D(sB);
      for (int i = 0; i < steps; ++i) {
        Empty::wait(&s.empty[stage], phase ^ 1);
        if (thread == 0) {
          Full::arrive_and_expect_tx(&s.full[stage], 128 * 64 * 2);
          copy(tma_b.with(s.full[stage]), fromB(_, _, _, i), toB(_, _, _, stage));
        }
        copy(Load{}, fromA(_, _, _, i), toA(_, _, _, stage));
        cutlass::arch::cpasync_barrier_arrive_noinc(&s.full[stage]);
        if (++stage == kStages) { stage = 0; phase ^= 1; }
      }
    } else {
      Mma mma;
      auto thr = mma.get_slice(thread);
      Tensor acc = partition_fragment_C(mma, Shape<_64, _128>{});
      Tensor rA = thr.make_fragment_A(thr.partition_A(sA)), rB = thr.make_fragment_B(thr.partition_B(sB));
      clear(acc);
      for (int i = 0; i < steps; ++i) {
        Full::wait(&s.full[stage], phase);
        cutlass::arch::fence_view_async_shared();
        warpgroup_arrive();
        gemm(mma, rA(_, _, _, stage), rB(_, _, _, stage), acc);
        warpgroup_commit_batch();
        warpgroup_wait<0>();
        if (thread == 0) { Empty::arrive(&s.empty[stage]); }
        if (++stage == kStages) { stage = 0; phase ^= 1; }
      }
      Tensor out = make_tensor_like<half_t>(acc);
      copy(acc, out);
      auto r2s = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
      auto mine = r2s.get_slice(thread);
      if (thread == 0) { tma_store_wait<0>(); }
      cutlass::arch::NamedBarrier::sync(128, 1);
      copy(r2s, mine.retile_S(out), mine.partition_D(sC));
      tma_store_fence();
      cutlass::arch::NamedBarrier::sync(128, 1);
      if (thread == 0) {
        Tensor mC = tma_c.get_tma_tensor(make_shape(m, n));
        Tensor gC = local_tile(mC, Shape<_64, _128>{}, make_coord(row, column));
        auto slice = tma_c.get_slice(0);
        copy(tma_c, slice.partition_S(sC), slice.partition_D(gC));
        tma_store_arrive();
      }
    }
  }
  if (threadIdx.x == 128) { tma_store_wait<0>(); }
}
void run(half_t* a, half_t* b, half_t* c, int m, int n, int k) {
  if (m % 64 || n % 128 || k % 64) return;
  auto gB = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  auto gC = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, _1{}));
  auto tma_b = make_tma_copy(SM90_TMA_LOAD{}, gB, SmemB{}(_, _, _0{}));
  auto tma_c = make_tma_copy(SM90_TMA_STORE{}, gC, SmemC{});
  auto kernel = product<decltype(tma_b), decltype(tma_c)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage));
  kernel<<<132, 256, sizeof(Storage)>>>(a, tma_b, tma_c, m, n, k);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "", ""),
        ("make_coord(row, column)", "make_coord(column, row)", "CUT219"),
        ("Shape<_128, _64>{}, make_coord(column, _)", "Shape<_128, _64>{}, make_coord(row, _)", "CUT219"),
        # the arrival does not wait for the thread's copies, and nothing else does
        ("cpasync_barrier_arrive_noinc(&s.full[stage])", "ClusterBarrier::arrive(&s.full[stage])", "CUT212"),
        ("gB, SmemB{}(_, _, _0{})", "gB, Layout<Shape<_128, _64>, Stride<_64, _1>>{}", "CUT803"),
    ],
    ids=["right", "stored elsewhere", "loaded elsewhere", "copies not waited for", "plain map"],
)
def test_mistake(old: str, new: str, code: str, tmp_path: Path) -> None:
    assert old in KERNEL
    (tmp_path / "a.cu").write_text(KERNEL.replace(old, new, 1) if old else KERNEL)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, ignore=("CUT1",)))
    assert not report.failures
    assert {f.code for f in report.findings} == ({code} if code else set())


@pytest.mark.parametrize(
    ("decided", "tiles", "found"),
    [
        (("k",), [0, 1, 2, 0, 1, 2, 0, 1], True),  # of the stage's number
        (("k",), [0, 1, 2, 3, 4, 5, 6, 7], False),
        (("k", "n"), [0, 1, 2, 0, 1, 2, 0, 1], False),  # how many passes there are need not be told by the mode
        (None, [0, 1, 2, 0, 1, 2, 0, 1], False),
    ],
)
def test_as_many_passes_as_a_mode_has_tiles(decided: tuple[str, ...] | None, tiles: list[int], found: bool) -> None:
    """The only operand that TMA brings: no other one's tiles tell what the passes go along."""
    smem = Place("b", AT, "smem", "b", 0, (0, 8192), (0, 8192))
    coord = Place("B", AT, "coord", "B", 0)
    walks = ((Along(0, 128, 768, "n"), Along(64 * t, 64, 512, "k")) for t in tiles)
    steps = tuple(Step("load", AT, "", "bar", 0, (replace(coord, walk=w), smem)) for w in walks)
    fault = not_walked((Thread(0, steps, True, 1, decided),))
    assert (fault is not None and fault.kind == "unwalked") == found


AT = Span("a.cu", 1, 1, 1, 2)


def _place(name: str, space: str, *walk: tuple[int, int, str]) -> Place:
    return Place(name, AT, space, name, 0, walk=tuple(Along(s, span, 768, e) for s, span, e in walk) or None)


def _thread(*stored: tuple[int, int, str], square: bool = False, product: str = "wgmma") -> Thread:
    rows = "n" if square else "m"
    steps = [
        Step("load", AT, "", "bar", 0, (_place("A", "coord", (128, 128, rows), (0, 64, "k")), _place("a", "smem"))),
        Step("load", AT, "", "bar", 0, (_place("B", "coord", (512, 128, "n"), (0, 64, "k")), _place("b", "smem"))),
        Step("load", AT, "", "bar", 0, (_place("C", "coord", (0, 64, rows), (0, 64, "n")), _place("c", "smem"))),
        Step("gemm", AT, "", product, None, (_place("a", "smem"), _place("b", "smem"), _place("acc", "rmem"))),
        Step("drain", AT, "", "tma", None, (_place("d", "smem"), _place("D", "coord", *stored))),
    ]
    return Thread(0, tuple(steps), True)


@pytest.mark.parametrize(
    ("stored", "past"),
    [
        (((128, 64, "m"), (512, 64, "n")), None),
        (((192, 64, "m"), (576, 64, "n")), None),  # parts of the tile
        (((64, 64, "m"), (512, 64, "n")), (64, 768)),
        (((512, 64, "m"), (512, 64, "n")), (512, 768)),
        (((128, 64, "m"), (0, 64, "n")), (0, 768)),  # what is added to the result is loaded there, and is no operand
        (((0, 64, "other"), (512, 64, "n")), None),
        (((0, 64, "128"), (512, 64, "n")), None),  # of a number that is known others are extents, too
    ],
)
def test_stores_where_nothing_was_loaded(
    stored: tuple[tuple[int, int, str], ...], past: tuple[int, int] | None
) -> None:
    fault = displaced((_thread(*stored),))
    assert (None if fault is None else fault.place.past) == past


def test_another_block_of_a_pair_may_load_the_other_half() -> None:
    stored = (64, 64, "m"), (512, 64, "n")
    assert displaced((_thread(*stored, product="umma"),)) is None
    assert displaced((_thread(*stored, product="wgmma"),)) is not None


def test_modes_of_one_name_are_not_told_apart() -> None:
    assert displaced((_thread((512, 64, "n"), (0, 64, "n"), square=True),)) is None
