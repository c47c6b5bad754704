"""Collectives and kernels of CUTLASS's that were edited in its tree, and are named: what examples make of them runs.

The tree has what such a kernel is made of: a scheduler, a kernel that goes through its tiles, and the collective.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.rules.test_schedulers import DATA, TILES

COLLECTIVE, KERNEL, DEVICE = (
    "include/cutlass/gemm/collective/own_mma.hpp",
    "include/cutlass/gemm/kernel/own_gemm.hpp",
    "include/cutlass/device_kernel.h",
)
FILES = {
    "include/cute/tensor.hpp": "#pragma once\n",
    "include/cutlass/gemm/kernel/tiles.hpp": TILES,
    DEVICE: """#pragma once
namespace cutlass {
template <class Operator>
__global__ void __launch_bounds__(Operator::kThreads, 1)
device_kernel(CUTLASS_GRID_CONSTANT typename Operator::Params const params) {
  extern __shared__ __align__(1024) char smem[];
  Operator op;
  op(params, smem);
}
}
""",
    COLLECTIVE: """#pragma once
#include <cute/tensor.hpp>
#include <cutlass/pipeline/sm90_pipeline.hpp>
namespace cutlass::gemm::collective {
using namespace cute;
template <int Stages>
struct OwnMma {
  using Pipe = cutlass::PipelineTmaAsync<Stages>;
  using State = cutlass::PipelineState<Stages>;
  using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, Int<Stages>>{}));
  using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                      Layout<Shape<_2, _1, _1>>{}));
  using Tma = decltype(make_tma_atom(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr((half_t const*)nullptr),
      make_shape(0, 0), make_stride(0, _1{})), Smem{}(_, _, 0), Shape<_128, _64>{}));
  struct Storage { alignas(1024) half_t a[cosize_v<Smem>]; alignas(1024) half_t b[cosize_v<Smem>]; };
  struct Params { Tma a; Tma b; int m; int n; int k; };
  __device__ void load(Params const& params, Pipe pipe, State state, int m, int n, int k_tiles, Storage& st) {
    Tensor sA = make_tensor(make_smem_ptr(st.a), Smem{}), sB = make_tensor(make_smem_ptr(st.b), Smem{});
    Tensor mA = params.a.get_tma_tensor(make_shape(params.m, params.k));
    Tensor mB = params.b.get_tma_tensor(make_shape(params.n, params.k));
    Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(m, _));
    Tensor gB = local_tile(mB, Shape<_128, _64>{}, make_coord(n, _));
    auto [tAgA, tAsA] = tma_partition(params.a, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sA), group_modes<0, 2>(gA));
    auto [tBgB, tBsB] = tma_partition(params.b, Int<0>{}, Layout<_1>{}, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
    for (int k = 0; k < k_tiles; ++k) {
      pipe.producer_acquire(state);
      auto* barrier = pipe.producer_get_barrier(state);
      copy(params.a.with(*barrier), tAgA(_, k), tAsA(_, state.index()));
      copy(params.b.with(*barrier), tBgB(_, k), tBsB(_, state.index()));
      ++state;
    }
  }
  template <class Accumulators>
  __device__ void mma(Pipe pipe, State read, Accumulators& acc, int k_tiles, int thread, Storage& st) {
    Tensor sA = make_tensor(make_smem_ptr(st.a), Smem{}), sB = make_tensor(make_smem_ptr(st.b), Smem{});
    Mma tiled;
    auto thr = tiled.get_slice(thread);
    Tensor tCrA = thr.make_fragment_A(thr.partition_A(sA)), tCrB = thr.make_fragment_B(thr.partition_B(sB));
    State release = read;
    for (int k = 0; k < k_tiles; ++k) {
      pipe.consumer_wait(read);
      warpgroup_arrive();
      cute::gemm(tiled, tCrA(_, _, _, read.index()), tCrB(_, _, _, read.index()), acc);
      warpgroup_commit_batch();
      warpgroup_wait<1>();
      if (k > 0) {
        pipe.consumer_release(release);
        ++release;
      }
      ++read;
    }
    warpgroup_wait<0>();
    pipe.consumer_release(release);
  }
};
}
""",
    KERNEL: """#pragma once
#include <cutlass/gemm/kernel/tiles.hpp>
namespace cutlass::gemm::kernel {
using namespace cute;
template <class Mainloop>
struct OwnGemm {
  static constexpr int kThreads = 384;
  using Pipe = typename Mainloop::Pipe;
  using State = typename Mainloop::State;
  struct Params { typename Mainloop::Params mainloop; Tiles::Params tiles; half_t* C; };
  struct Storage { typename Mainloop::Storage mainloop; typename Pipe::SharedStorage pipe; };
  __device__ void operator()(Params const& params, char* raw) {
    Storage& st = *reinterpret_cast<Storage*>(raw);
    Mainloop mainloop;
    int group = cutlass::canonical_warp_group_idx();
    typename Pipe::Params given;
    given.transaction_bytes = 2 * 128 * 64 * sizeof(half_t);
    given.role = group == 0 ? Pipe::ThreadCategory::Producer : Pipe::ThreadCategory::Consumer;
    given.is_leader = threadIdx.x == 0;
    given.num_consumers = 256;
    Pipe pipe(st.pipe, given, Shape<_1, _1, _1>{});
    __syncthreads();
    int k_tiles = params.mainloop.k / 64;
    Tiles tiles{params.tiles};
    auto tile = tiles.current();
    if (group == 0) {
      if (cutlass::canonical_warp_idx_sync() == 0 && cute::elect_one_sync()) {
        State state = cutlass::make_producer_start_state<Pipe>();
        while (tile.is_valid()) {
          mainloop.load(params.mainloop, pipe, state, tile.m, tile.n, k_tiles, st.mainloop);
          state.advance(k_tiles);
          tiles.next();
          tile = tiles.current();
        }
        pipe.producer_tail(state);
      }
    } else {
      State state;
      while (tile.is_valid()) {
        typename Mainloop::Mma mma;
        auto acc = partition_fragment_C(mma, Shape<_128, _128>{});
        clear(acc);
        mainloop.mma(pipe, state, acc, k_tiles, threadIdx.x - 128, st.mainloop);
        state.advance(k_tiles);
        Tensor mC = make_tensor(make_gmem_ptr(params.C), make_shape(params.mainloop.m, params.mainloop.n),
                                make_stride(params.mainloop.n, _1{}));
        Tensor gC = local_tile(mC, Shape<_128, _128>{}, make_coord(tile.m, tile.n));
        copy(acc, mma.get_slice(threadIdx.x - 128).partition_C(gC));
        tiles.next();
        tile = tiles.current();
      }
    }
  }
};
}
""",
    "examples/own.cu": """#include <cute/tensor.hpp>
#include <cutlass/device_kernel.h>
#include <cutlass/gemm/collective/own_mma.hpp>
#include <cutlass/gemm/kernel/own_gemm.hpp>
using namespace cute;
using Mainloop = cutlass::gemm::collective::OwnMma<4>;
using Gemm = cutlass::gemm::kernel::OwnGemm<Mainloop>;
void run(half_t const* A, half_t const* B, half_t* C, int m, int n, int k, unsigned long long many) {
  auto over = [&](half_t const* p, int rows) {
    return make_tma_atom(SM90_TMA_LOAD{}, make_tensor(make_gmem_ptr(p), make_shape(rows, k), make_stride(k, _1{})),
                         typename Mainloop::Smem{}(_, _, 0), Shape<_128, _64>{});
  };
  typename Gemm::Params params{{over(A, m), over(B, n), m, n, k}, {many, cutlass::gemm::kernel::Order::AlongN}, C};
  int smem = sizeof(typename Gemm::Storage);
  cudaFuncSetAttribute(cutlass::device_kernel<Gemm>, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);
  cutlass::device_kernel<Gemm><<<dim3(132), Gemm::kThreads, smem>>>(params);
}
""",
}
RELEASED = "        pipe.consumer_release(release);\n        ++release;\n"


def codes(folder: Path, edited: str, *edits: tuple[str, str]) -> str:
    shutil.copytree(DATA / "pipelines" / "cutlass", folder / "include" / "cutlass")
    for name, text in FILES.items():
        for old, new in edits if name == edited else ():
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    made = check(
        inputs([str(folder / name) for name in (COLLECTIVE, KERNEL)], str(folder)),
        Settings(cache=False, arch=("sm_90a",), ignore=("CUT104",)),
    )
    assert not made.failures and not made.errors
    assert any(c.function == "replay" for c in made.facts.calls)
    return " ".join(sorted({f.code for f in made.findings}))


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((), ""),
        ((("tBgB(_, k)", "tBgB(_, 0)"),), "CUT218"),
        (((RELEASED, RELEASED.replace("release)", "read)")),), "CUT215 CUT217"),
        ((("warpgroup_wait<1>", "warpgroup_wait<2>"),), "CUT212"),
    ],
)
def test_a_collective(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    assert codes(tmp_path, COLLECTIVE, *edits) == expected


CONSUMED = "st.mainloop);\n        state.advance(k_tiles);\n"


@pytest.mark.parametrize(
    ("edits", "expected"),
    [((), ""), (((CONSUMED, "st.mainloop);\n"),), "CUT213 CUT217")],
)
def test_a_kernel_around_collectives(edits: tuple[tuple[str, str], ...], expected: str, tmp_path: Path) -> None:
    """What a pipeline is at is carried from tile to tile."""
    assert codes(tmp_path, KERNEL, *edits) == expected
