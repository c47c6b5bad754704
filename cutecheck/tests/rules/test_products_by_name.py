"""Kernels that only text instantiates, with CuTe's WGMMAs and their descriptors by name, and barriers in a header."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

BARRIER = """#pragma once
#include <cutlass/arch/barrier.h>
struct Pair {
  cutlass::arch::ClusterTransactionBarrier full;
  cutlass::arch::ClusterBarrier empty;
  __device__ void init(uint32_t count) { full.init(1); empty.init(count); }
};
"""
KERNEL = """
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/arch/mma_sm90_desc.hpp>
#include <cute/arch/mma_sm90_gmma.hpp>
#include "pair.cuh"
using Op = cute::SM90::GMMA::MMA_64x8x16_F32BF16BF16_SS<cute::SM90::GMMA::Major::K, cute::SM90::GMMA::Major::K>;
template <typename Mma, size_t... I>
__device__ void fma(uint64_t a, uint64_t b, float (&d)[sizeof...(I)], bool adds, cute::index_sequence<I...>) {
  Mma::fma(a, b, d[I]..., adds ? cute::SM90::GMMA::ScaleOut::One : cute::SM90::GMMA::ScaleOut::Zero);
}
__device__ cute::GmmaDescriptor descriptor(void* tile) {
  cute::GmmaDescriptor desc;
  desc.bitfield.start_address_ = static_cast<uint32_t>(__cvta_generic_to_shared(tile)) >> 4;
  desc.bitfield.stride_byte_offset_ = 64;
  return desc;
}
template <uint32_t kStages>
__global__ void __launch_bounds__(160) multiply(const __grid_constant__ cute::TmaDescriptor map, int depth) {
  int const tiles = depth / 64;
  extern __shared__ __align__(1024) uint8_t smem[];
  uint16_t *a[kStages], *b[kStages];
  for (uint32_t s = 0; s < kStages; ++s) {
    a[s] = reinterpret_cast<uint16_t*>(smem + s * 8192);
    b[s] = reinterpret_cast<uint16_t*>(smem + kStages * 8192 + s * 1024);
  }
  auto* pairs = reinterpret_cast<Pair*>(smem + kStages * 9216);
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) pairs[s].init(COUNT);
    cutlass::arch::fence_barrier_init();
  }
  __syncthreads();
  uint32_t stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128) {
      for (int k = 0; k < tiles; ++k) {
        pairs[stage].empty.wait(phase ^ 1);
        auto* full = reinterpret_cast<uint64_t*>(&pairs[stage].full);
        pairs[stage].full.arrive_and_expect_tx(9216);
        cute::SM90_TMA_LOAD_2D::copy(&map, full, 0, a[stage], k * 64, 0);
        cute::SM90_TMA_LOAD_2D::copy(&map, full, 0, b[stage], k * 64, 64);
        stage = stage + 1 == kStages ? 0 : stage + 1;
        phase ^= stage == 0;
      }
    }
  } else {
    float sum[4];
    for (int k = 0; k < tiles; ++k) {
      pairs[stage].full.wait(phase);
      auto first = descriptor(a[stage]), second = descriptor(b[stage]);
      cute::warpgroup_arrive();
      for (int i = 0; i < 4; ++i) {
        fma<Op>(first, second, sum, k > 0 || i > 0, cute::make_index_sequence<4>{});
        first.reg32_[0] += 2;
        second.reg32_[0] += 2;
      }
      cute::warpgroup_commit_batch();
      DONE
      stage = stage + 1 == kStages ? 0 : stage + 1;
      phase ^= stage == 0;
    }
  }
}
"""
RELEASE = "if (threadIdx.x % 32 == 0) pairs[stage].empty.arrive();"
DONE = f"cute::warpgroup_wait<0>();\n      {RELEASE}"


OWN = """
union GmmaDescriptor {
  __host__ __device__ constexpr GmmaDescriptor() noexcept : desc_(0) {}
  __host__ __device__ constexpr operator uint64_t() const noexcept { return desc_; }
  uint64_t desc_;
  uint32_t reg32_[2];
  struct {
    uint16_t start_address_ : 14, : 2;
    uint16_t leading_byte_offset_ : 14, : 2;
    uint16_t stride_byte_offset_ : 14, : 2;
    uint8_t : 1, base_offset_ : 3, : 4;
    uint8_t : 6, layout_type_ : 2;
  } bitfield;
};
namespace cutlass::arch {
class NamedBarrier {
  uint32_t const num_threads_, id_;
 public:
  __device__ NamedBarrier(uint32_t threads, uint32_t id = 0) : num_threads_(threads), id_(id + 8) {}
  __device__ void sync() const { asm volatile("bar.sync %0, %1;" : : "r"(id_), "r"(num_threads_) : "memory"); }
};
}
"""
NAMED = {  # a union of the program's own, and a barrier of the hardware that is an object
    "__device__ cute::GmmaDescriptor descriptor": OWN + "__device__ GmmaDescriptor descriptor",
    "cute::GmmaDescriptor desc;": "GmmaDescriptor desc;",
    "float sum[4];": "cutlass::arch::NamedBarrier(128).sync();\n    float sum[4];",
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, {}),
        ({"COUNT": "8"}, {"CUT217": "pair.cuh"}),
        ({DONE: f"{RELEASE}\n      cute::warpgroup_wait<0>();"}, {"CUT212": "k.cuh"}),
        ({"second = descriptor(b[stage])": "second = descriptor(b[0])"}, {"CUT212": "k.cuh", "CUT213": "k.cuh"}),
        ({"full.wait(phase)": "full.wait(phase ^ 1)"}, {"CUT213": "k.cuh"}),
        (NAMED, {}),
        (
            NAMED | {"second = descriptor(b[stage])": "second = descriptor(b[0])"},
            {"CUT212": "k.cuh", "CUT213": "k.cuh"},
        ),
        (NAMED | {"full.wait(phase)": "full.wait(phase ^ 1)"}, {"CUT213": "k.cuh"}),
        (NAMED | {"NamedBarrier(128)": "NamedBarrier(160)"}, {"CUT217": "k.cuh"}),
    ],
    ids=[
        "right",
        "miscounted",
        "released early",
        "of the first stage",
        "of the other phase",
        "own union and barrier object",
        "of the first stage, own",
        "of the other phase, own",
        "object for more threads",
    ],
)
def test_what_no_file_instantiates(changes: dict[str, str], said: dict[str, str], tmp_path: Path) -> None:
    text = KERNEL.replace("DONE", DONE)
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "k.cuh").write_text(text.replace("COUNT", "4"))
    (tmp_path / "pair.cuh").write_text(BARRIER)
    settings = Settings(cache=False, arch=("sm_90a",), instantiate=("multiply<3>",))
    made = check(inputs([str(tmp_path)]), settings)
    assert not made.failures and not made.errors
    assert {f.code: f.span.path.rpartition("/")[2] for f in made.findings} == said
