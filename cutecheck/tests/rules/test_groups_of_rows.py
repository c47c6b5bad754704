"""Persistent kernels whose tiles have as many passes as there are rows between two offsets in memory."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, extract_facts, inputs

KERNEL = """#include <cute/tensor.hpp>
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90_desc.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
using Full = cutlass::arch::ClusterTransactionBarrier;
using Empty = cutlass::arch::ClusterBarrier;
using Tiles = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64, _2>{}));
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Args { int const* offsets; half_t* out; TmaDescriptor* maps; int groups, columns; };
struct Storage {
  alignas(1024) half_t x[cosize_v<Tiles>];
  alignas(128) TmaDescriptor map;
  Full full[2];
  Empty empty[2];
};
template <class Tma>
__global__ void __launch_bounds__(256) rows(Args const args, Tma const __grid_constant__ tma) {
  extern __shared__ __align__(1024) char raw[];
  auto& st = *reinterpret_cast<Storage*>(raw);
  Tensor sX = make_tensor(make_smem_ptr(st.x), Tiles{});
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) { st.full[i].init(1); st.empty[i].init(128); }
  }
  __syncthreads();
  int const along = args.columns / 64, total = along * args.groups;
  int stage = 0, phase = 0;
  if (threadIdx.x >= 128) {
    if (threadIdx.x < 160) {
      auto* map = args.maps + blockIdx.x;
      Tensor from = make_tensor(tma.get_tma_descriptor(), Int<1>{}, Int<1>{});
      Tensor to = make_tensor(make_smem_ptr(&st.map), Int<1>{}, Int<1>{});
      if (threadIdx.x == 128) copy(recast<uint128_t>(from), recast<uint128_t>(to));
      __syncwarp();
      Tensor gX = local_tile(tma.get_tma_tensor(make_shape(4096, args.columns)), Shape<_64, _64>{}, make_coord(_, _));
      auto cta = tma.get_slice(0);
      for (int i = blockIdx.x; i < total; i += gridDim.x) {
        int const first = args.offsets[i / along], count = args.offsets[i / along + 1] - first;
        if (threadIdx.x == 128) tma_descriptor_replace_addr_in_shared_mem(st.map, args.out + first * args.columns);
        __syncwarp();
        tma_descriptor_cp_fence_release(map, st.map);
        tma_descriptor_fence_acquire(map);
        for (int k = 0; k < (count + 63) / 64; ++k) {
          if (threadIdx.x == 128) {
            st.empty[stage].wait(phase ^ 1);
            st.full[stage].arrive_and_expect_tx(8192);
            auto& bar = reinterpret_cast<uint64_t&>(st.full[stage]);
            copy(tma.with(map, bar), cta.partition_S(gX)(_, _, _, k, i % along), cta.partition_D(sX)(_, _, _, stage));
          }
          if (++stage == 2) { stage = 0; phase ^= 1; }
        }
        __syncwarp();
      }
    }
  } else {
    auto thr = Move{}.get_slice(threadIdx.x);
    for (int i = blockIdx.x; i < total; i += gridDim.x) {
      int const first = args.offsets[i / along], count = args.offsets[i / along + 1] - first;
      for (int k = 0; k < (count + 63) / 64; ++k) {
        st.full[stage].wait(phase);
        Tensor gX = make_tensor(make_gmem_ptr(args.out + (first + k * 64) * 64), Shape<_64, _64>{}, Stride<_64, _1>{});
        copy(Move{}, thr.partition_S(sX(_, _, READ)), thr.partition_D(gX));
        RELEASE
        ADVANCE
      }
      BETWEEN
    }
  }
}
void go(half_t const* x, Args args) {
  Tensor gX = make_tensor(make_gmem_ptr(x), make_layout(make_shape(4096, args.columns), LayoutRight{}));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gX, Tiles{}(_, _, _0{}));
  cudaFuncSetAttribute(rows<decltype(tma)>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(sizeof(Storage)));
  rows<decltype(tma)><<<132, 256, sizeof(Storage)>>>(args, tma);
}
"""
RIGHT = {
    "READ": "stage", "RELEASE": "st.empty[stage].arrive();", "BETWEEN": "",
    "ADVANCE": "if (++stage == 2) { stage = 0; phase ^= 1; }",
}  # fmt: skip


def _kernel(folder: Path, words: dict[str, str]) -> Path:
    text = KERNEL
    for word, meant in words.items():
        text = text.replace(word, meant)
    (folder / "kernel.cu").write_text(text)
    return folder / "kernel.cu"


@pytest.mark.parametrize(
    ("mistake", "expected"),
    [
        ({}, set()),
        ({"RELEASE": ""}, {"CUT217"}),
        ({"RELEASE": "if (k > 0) st.empty[stage].arrive();"}, {"CUT217"}),
        ({"READ": "stage ^ 1"}, {"CUT213"}),
        ({"ADVANCE": "stage ^= 1;"}, {"CUT213"}),
        ({"BETWEEN": "stage = phase = 0;"}, {"CUT217"}),
    ],
    ids=["right", "not_released", "not_all_released", "other_stage", "one_phase", "begun_again"],
)
def test_steps_of_tiles_of_some_passes(tmp_path: Path, mistake: dict[str, str], expected: set[str]) -> None:
    _kernel(tmp_path, RIGHT | mistake)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, compile_commands="none"))
    found = {f.code for f in report.findings if f.severity != "note" and f.code not in ("CUT218", "CUT802")}
    assert expected <= found if expected else not found


def test_a_tensor_of_a_tensor_map(tmp_path: Path) -> None:
    facts = extract_facts([_kernel(tmp_path, RIGHT)], Settings(arch=("sm_90a",), cache=False, compile_commands="none"))
    first = min(facts.events, key=lambda e: e.span.line)
    assert [(str(t.layout), t.dtype and t.dtype.name) for t in first.operands] == [("_8:_1", "uint128_t")] * 2
