"""Kernels whose threads are told by barriers in shared memory what is filled: right ones, and with one mistake each."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Span
from cutecheck.facts.replayed import Place, Step
from cutecheck.rules.derive.accumulators import Accumulators
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


OF_HEADS = {  # heads of a group are rows of a block, and what the last of them sees says how many tiles there are
    "half_t* out, int tiles)": "half_t* out, int rows, int keys, int group)",
    "out, tiles);": "out, rows, keys, group);",
    "Shape<_512, _64>{}": "make_shape(keys, _64{})",
    "Layout<Shape<_512, _64>, Stride<_64, _1>>{}": "make_shape(keys, _64{}), make_stride(_64{}, _1{})",
    "  auto cta = tma": """
  int const last = (min((int(blockIdx.x) + 1) * 128, rows * group) - 1) / group;
  int const tiles = min(ceil_div(keys, 128), ceil_div(last + 1 + keys - rows, 128));
  auto cta = tma""",
    "i < 2; ++i) {\n      Full::arrive": "i < 2 && i < tiles; ++i) {\n      Full::arrive",
}


@pytest.mark.parametrize("name", ["right", "phase_flips_late"])
def test_tiles_that_a_quotient_of_heads_says(name: str, tmp_path: Path) -> None:
    old, new, codes = MISTAKES[name]
    text = KERNEL
    for was, is_ in OF_HEADS.items():
        assert was in text
        text = text.replace(was, is_)
    (tmp_path / "sum.cu").write_text(PREAMBLE + text.replace(old, new))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4", "CUT217")))
    assert not report.failures
    assert {f.code for f in report.findings} == codes


FILLS = "    for (int i = 0; i < 2; ++i) {\n      Full::arrive"
BY_SWITCH = {
    "cases": "  switch (threadIdx.x) { default: break; case 128: return; case 0:\n",
    "an enumeration": "  enum class Role { load, other };\n"
    "  switch (threadIdx.x ? Role::other : Role::load) { case Role::load: {\n",
}


@pytest.mark.parametrize("way", BY_SWITCH)
@pytest.mark.parametrize("name", ["right", "full_of_another_phase", "phase_flips_late"])
def test_a_role_that_a_switch_tells(name: str, way: str, tmp_path: Path) -> None:
    old, new, codes = MISTAKES[name]
    text = KERNEL.replace("  if (threadIdx.x == 0) {\n" + FILLS, BY_SWITCH[way] + FILLS).replace(old, new)
    if way != "cases":
        text = text.replace("  int stage = 0", "    break; case Role::other: break; }\n  int stage = 0")
    (tmp_path / "sum.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4", "CUT217")))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found


STORED = """
using SmemA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using SmemC = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _128>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
    Layout<Shape<_2, _1, _1>>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using cutlass::arch::NamedBarrier;
struct Storage {
  union {
    struct { alignas(1024) half_t b[cosize_v<SmemA>]; alignas(1024) half_t a[cosize_v<SmemA>]; } in;
    alignas(1024) half_t c[cosize_v<SmemC>];
  };
  alignas(8) uint64_t full;
};
template <class TmaA, class TmaC>
__global__ void __launch_bounds__(256) multiply(CUTE_GRID_CONSTANT TmaA const tma_a,
    CUTE_GRID_CONSTANT TmaA const tma_b, CUTE_GRID_CONSTANT TmaC const tma_c, int m, int k) {
  extern __shared__ char raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.in.a), SmemA{});
  Tensor sB = make_tensor(make_smem_ptr(s.in.b), SmemA{});
  Tensor sC = make_tensor(make_smem_ptr(s.c), SmemC{});
  Tensor gA = local_tile(tma_a.get_tma_tensor(make_shape(m, k)), Shape<_128, _64>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(tma_b.get_tma_tensor(make_shape(m, k)), Shape<_128, _64>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(tma_c.get_tma_tensor(make_shape(m, m, 2)), Shape<_128, _128>{},
      make_coord(blockIdx.x, blockIdx.y, _));
  auto [tAgA, tAsA] = tma_partition(tma_a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  auto [tBgB, tBsB] = tma_partition(tma_b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  auto [tCgC, tCsC] = tma_partition(tma_c, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sC), group_modes<0, 2>(gC));
  if (threadIdx.x == 0) Full::init(&s.full, 1);
  __syncthreads();
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
  Tensor rB = thr.make_fragment_B(thr.partition_B(sB));
  Tensor acc = partition_fragment_C(mma, Shape<_128, _128>{});
  mma.accumulate_ = GMMA::ScaleOut::Zero;
  int phase = 0;
  for (int t = 0; t < size<1>(tAgA); ++t) {
    NamedBarrier::sync(256, 1);
    if (threadIdx.x == 0) {
      Full::arrive_and_expect_tx(&s.full, 32768);
      copy(tma_a.with(s.full), tAgA(_, t), tAsA);
      copy(tma_b.with(s.full), tBgB(_, t), tBsB);
    }
    Full::wait(&s.full, phase);
    phase ^= 1;
    warpgroup_arrive();
    for (int i = 0; i < size<2>(rA); ++i) {
      gemm(mma, rA(_, _, i), rB(_, _, i), acc);
      mma.accumulate_ = GMMA::ScaleOut::One;
    }
    warpgroup_commit_batch();
    warpgroup_wait<0>();
  }
  NamedBarrier::sync(256, 2);
  Tensor rC = make_fragment_like<half_t>(acc);
  for (int i = 0; i < size(acc); ++i) rC(i) = half_t(acc(i));
  auto r2s = make_tiled_copy_C(Copy_Atom<SM90_U32x4_STSM_N, half_t>{}, mma);
  auto t2s = r2s.get_slice(threadIdx.x);
  for (int j = 0; j < 2; ++j) {
    copy(r2s, t2s.retile_S(rC), t2s.partition_D(sC));
    tma_store_fence();
    NamedBarrier::sync(256, 3);
    if (threadIdx.x == 0) {
      copy(tma_c, tCsC, tCgC(_, j));
      tma_store_arrive();
      tma_store_wait<0>();
    }
    NamedBarrier::sync(256, 4);
  }
}
void run(half_t const* A, half_t const* B, half_t* C, int m, int k) {
  auto rows = make_stride(k, _1{});
  auto a = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(A), make_shape(m, k), rows), SmemA{});
  auto b = make_tma_copy(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(B), make_shape(m, k), rows), SmemA{});
  auto c = make_tma_copy(SM90_TMA_STORE{},
      make_tensor(make_gmem_ptr(C), make_shape(m, m, 2), make_stride(m, _1{}, m * m)), SmemC{});
  multiply<<<dim3(m / 128, m / 128), 256, sizeof(Storage)>>>(a, b, c, m, k);
}
"""
RESERVED = """
namespace cutlass::arch { enum class ReservedNamedBarriers { EpilogueBarrier = 1, FirstUserBarrier }; }
"""
_PRODUCT = "      gemm(mma, rA(_, _, i), rB(_, _, i), acc);\n"
_ADDS = "      mma.accumulate_ = GMMA::ScaleOut::One;\n"
UNORDERED = {
    "right": ("", "", set()),
    "reserved_numbers_beside": (
        "    NamedBarrier::sync(256, 1);\n",
        "    NamedBarrier::sync(256, 1);\n"
        "    NamedBarrier::arrive(512, cutlass::arch::ReservedNamedBarriers::EpilogueBarrier);\n",
        set(),
    ),
    "a_warp_arrives_and_waits": (
        "    NamedBarrier::sync(256, 3);\n",
        "    NamedBarrier::arrive(288, 3);\n    if (threadIdx.x / 32 == 0) NamedBarrier::sync(288, 3);\n",
        set(),
    ),
    "a_warp_arrives_and_waits_for_more": (
        "    NamedBarrier::sync(256, 3);\n",
        "    NamedBarrier::arrive(320, 3);\n    if (threadIdx.x / 32 == 0) NamedBarrier::sync(320, 3);\n",
        {"CUT217"},
    ),
    "C_over_B": ("  NamedBarrier::sync(256, 2);\n", "", {"CUT212"}),
    "half_of_the_threads": ("sync(256, 3)", "sync(128, 3)", {"CUT217"}),
    "more_threads_than_come": ("sync(256, 2)", "sync(384, 2)", {"CUT217"}),
    "store_not_waited_for": ("      tma_store_wait<0>();\n", "", {"CUT216"}),
    "store_of_the_last_pass_not_waited_for": ("tma_store_wait<0>()", "tma_store_wait<1>()", {"CUT216"}),
    "not_held_back_after_the_store": ("    NamedBarrier::sync(256, 4);\n", "", {"CUT216"}),
    "not_set": ("  mma.accumulate_ = GMMA::ScaleOut::Zero;\n", "", {"CUT220"}),
    "never_added": ("      mma.accumulate_ = GMMA::ScaleOut::One;\n", "", {"CUT220"}),
    "added_in_a_lambda": (_PRODUCT + _ADDS, "      [&] { " + (_PRODUCT + _ADDS).strip() + " }();\n", set()),
    "never_added_in_a_lambda": (_PRODUCT + _ADDS, "      [&] { " + _PRODUCT.strip() + " }();\n", {"CUT220"}),
    "added_by_a_chain": (
        "      mma.accumulate_ = GMMA::ScaleOut::One;\n",
        "      Mma other;\n      mma.accumulate_ = other.accumulate_ = GMMA::ScaleOut::One;\n"
        "      other.accumulate_ = mma.accumulate_ = GMMA::ScaleOut::One;\n",
        set(),
    ),
    "added_by_a_reference": (
        "      mma.accumulate_ = GMMA::ScaleOut::One;\n",
        "      auto& scale = mma.accumulate_;\n      scale = GMMA::ScaleOut::One;\n",
        set(),
    ),
    "added_as_another": (
        "      mma.accumulate_ = GMMA::ScaleOut::One;\n",
        "      Mma other;\n      other.accumulate_ = GMMA::ScaleOut::One;\n      mma = other;\n",
        set(),
    ),
    "another_is_added": (
        "      mma.accumulate_ = GMMA::ScaleOut::One;\n",
        "      Mma other, third;\n      other.accumulate_ = third.accumulate_ = GMMA::ScaleOut::One;\n",
        {"CUT220"},
    ),
    "set_in_each_pass": (
        "    warpgroup_arrive();\n",
        "    warpgroup_arrive();\n    mma.accumulate_ = GMMA::ScaleOut::Zero;\n",
        {"CUT220"},
    ),
    "used_while_it_runs": ("wait<0>();\n  }\n  Named", "wait<1>();\n  }\n  Named", {"CUT215"}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNORDERED)
def test_what_threads_of_a_block_do_to_one_another(name: str, tmp_path: Path) -> None:
    old, new, codes = UNORDERED[name]
    assert not old or STORED.count(old) == 1
    (tmp_path / "multiply.cu").write_text(RESERVED + PREAMBLE + STORED.replace(old, new))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4")))
    assert not report.failures
    found = {f.code for f in report.findings}
    assert codes <= found
    assert codes or not found


HALVES = """
#pragma once
#include <cute/tensor.hpp>
template <class T> __device__ auto halves(T const& in) {
  auto out = cute::make_fragment_like<cute::half_t>(in);
  for (int i = 0; i < cute::size(in); ++i) out(i) = cute::half_t(in(i));
  return out;
}
template <class T> __device__ void hold(T& t) {
  for (int i = 0; i < cute::size(t); ++i) asm volatile("" : "+f"(t(i)) :: "memory");
}
"""
DONE = "    warpgroup_wait<0>();\n  }"


@pytest.mark.parametrize(
    ("steps", "codes"),
    [
        (f"    auto seen = halves(acc);\n{DONE}", {"CUT215"}),
        (f"    hold(acc);\n{DONE}", set()),
        (DONE.replace("  }", "    auto seen = halves(acc);\n  }"), set()),
    ],
)
def test_a_header_without_copies_that_uses_accumulators(tmp_path: Path, steps: str, codes: set[str]) -> None:
    (tmp_path / "halves.cuh").write_text(HALVES)
    text = STORED.replace(DONE, steps)
    assert STORED.count(DONE) == 1
    (tmp_path / "multiply.cu").write_text('#include "halves.cuh"\n' + RESERVED + PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), ignore=("CUT1", "CUT4")))
    assert not report.failures
    assert {(f.code, f.span.path) for f in report.findings} == {(code, "halves.cuh") for code in codes}


@pytest.mark.parametrize(
    ("adds", "stored", "waited", "kinds"),
    [
        (False, False, False, ["replaced"]),
        (False, False, True, []),
        (True, False, False, ["unset"]),
        (True, True, False, []),
    ],
)
def test_tensor_memory_that_other_threads_may_use(adds: bool, stored: bool, waited: bool, kinds: list[str]) -> None:
    """What one thread sums up in tensor memory others may have read when it has waited for them, or set."""
    span = Span("umma.cu", 1, 1, 1, 2)
    a, b, c = (Place(name, span, space, name, 0) for name, space in (("a", "smem"), ("b", "smem"), ("c", "tmem")))
    product = Step("gemm", span, "", "umma", None, (a, b, c), True, False, None, adds)
    sums = Accumulators(stored)
    found = [kind for kind, *_ in sums.does(product)]
    if waited:
        sums.waited()
    assert found + [kind for kind, *_ in sums.does(product)] == kinds


# Shared memory rounded up, two warpgroups that give stages back by one arrival of each, at the block of the cluster
# that the lane's number says; the threads' tail differs.
CLUSTERED = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _3>{}));
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
struct Storage { alignas(1024) half_t a[cosize_v<Smem>]; Full full[3]; Empty empty[3]; };
template <class Tma>
__global__ void __launch_bounds__(384) total(CUTE_GRID_CONSTANT Tma const tma, float* out, int tiles) {
  extern __shared__ char raw[];
  auto& smem = *reinterpret_cast<Storage*>((reinterpret_cast<uintptr_t>(raw) + 1023) & ~uintptr_t(1023));
  Tensor sA = make_tensor(make_smem_ptr(smem.a), Smem{});
  if (threadIdx.x == 0) {
    for (int i = 0; i < 3; ++i) {
      smem.full[i].init(1);
      smem.empty[i].init(2);
    }
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x >= 256) {
    if (threadIdx.x == 256) {
      Tensor gA = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_128, _64>{}, make_coord(_, 0));
      auto cta = tma.get_slice(0);
      for (int i = 0; i < tiles; ++i) {
        smem.empty[i % 3].wait((i / 3 & 1) ^ 1);
        smem.full[i % 3].arrive_and_expect_tx(16384);
        copy(tma.with(reinterpret_cast<uint64_t&>(smem.full[i % 3])), cta.partition_S(gA(_, _, i)),
             cta.partition_D(sA(_, _, i % 3)));
      }
    }
  } else {
    using Op = SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>;
    auto mma = make_tiled_mma(Op{}, Layout<Shape<_2, _1, _1>>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rA = thr.make_fragment_A(thr.partition_A(sA));
    Tensor rB = thr.make_fragment_B(thr.partition_B(local_tile(sA, Shape<_64, _64>{}, make_coord(0, 0))));
    Tensor acc = partition_fragment_C(mma, Shape<_128, _64>{});
    clear(acc);
    for (int i = 0; i < tiles; ++i) {
      smem.full[i % 3].wait(i / 3 & 1);
      warpgroup_arrive();
      gemm(mma, rA(_, _, _, i % 3), rB(_, _, _, i % 3), acc);
      warpgroup_commit_batch();
      warpgroup_wait<0>();
      if (threadIdx.x % 128 < 1) smem.empty[i % 3].arrive(uint32_t(threadIdx.x % 128));
    }
    if (threadIdx.x == 0) out[1] = 0;
    out[threadIdx.x] = acc(0);
  }
}
void run(half_t const* A, float* out, int tiles) {
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{}(_, _, 0));
  auto* kernel = total<decltype(tma)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Storage) + 1024);
  kernel<<<4, 384, sizeof(Storage) + 1024>>>(tma, out, tiles);
}
"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", set()),
        ("smem.full[i % 3].wait(i / 3 & 1);", "", {"CUT212", "CUT213", "CUT217"}),
        ("smem.full[i % 3].wait(i / 3 & 1);", "smem.full[i % 3].wait(i / 3 & 1 ^ 1);", {"CUT212", "CUT213"}),
        ("smem.empty[i % 3].wait((i / 3 & 1) ^ 1);", "", {"CUT217"}),
    ],
)
def test_barriers_behind_a_rounded_address_and_one_arrival_of_each_warpgroup(
    tmp_path: Path, old: str, new: str, codes: set[str]
) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + CLUSTERED.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",)))
    found = {f.code for f in report.findings}
    assert found & {"CUT212", "CUT213", "CUT217"} == codes
