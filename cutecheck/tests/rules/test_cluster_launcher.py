"""Kernels that ``cutlass::ClusterLauncher`` launches: their clusters have the shape that it is given (CUT804)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

LAUNCHER = """#pragma once
namespace cutlass {
struct ClusterLauncher {
  struct Config { cudaLaunchConfig_t config; cudaLaunchAttribute attributes[2]; };
  static Config make(dim3 grid, dim3 cluster, dim3 block, size_t smem, cudaStream_t stream) {
    Config made;
    auto& config = made.config;
    auto& attributes = made.attributes;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster.x, cluster.y, cluster.z};
    config.gridDim = {grid.x, grid.y, grid.z};
    config.blockDim = {block.x, block.y, block.z};
    config.dynamicSmemBytes = smem;
    config.stream = stream;
    config.numAttrs = 1;
    config.attrs = attributes;
    return made;
  }
  static int launch(dim3 grid, dim3 cluster, dim3 block, size_t smem, cudaStream_t stream, void const* kernel,
                    void** parameters, bool pdl = false) {
    Config made = make(grid, cluster, block, smem, stream);
    return cudaLaunchKernelExC(&made.config, kernel, parameters);
  }
};
}
"""
KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/cluster_launch.hpp>
using namespace cute;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using Cluster = Shape<_2, _1, _1>;
template <class Tma>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma, int n) {
  extern __shared__ alignas(1024) half_t smem[];
  __shared__ alignas(8) uint64_t bar;
  uint32_t rank = cute::block_rank_in_cluster();
  constexpr uint32_t rows = get<0>(Cluster{});
  uint2 id = {rank % rows, rank / rows};
  Tensor gB = local_tile(tma.get_tma_tensor(make_shape(n, _64{})), Shape<_128, _64>{}, make_coord(blockIdx.y, 0));
  Tensor sB = make_tensor(make_smem_ptr(smem), Smem{});
  auto cta = tma.get_slice(id.x);
  uint16_t mask = 0;
  auto blocks = Layout<Cluster>{};
  for (int m = 0; m < size<0>(blocks); ++m) mask |= (uint16_t(1) << blocks(BLOCK, Int<0>{}));
  cute::cluster_sync();
  copy(tma.with(bar, mask), cta.partition_S(gB), cta.partition_D(sB));
  cute::cluster_sync();
}
void run(half_t const* B, int n) {
  Tensor gB = make_tensor(make_gmem_ptr(B), make_shape(n, _64{}), make_stride(_64{}, _1{}));
  auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gB, Smem{}, Shape<_128, _64>{}, size<0>(Cluster{}));
  void const* kernel = (void const*)fill<decltype(tma)>;
  void* parameters[] = {&tma, &n};
  cutlass::ClusterLauncher::launch(dim3(4, 4), dim3(2, 1, 1), dim3(128), 16384, 0, kernel, parameters);
}
"""


@pytest.mark.parametrize(("block", "codes"), [("m, id.y", []), ("id.x, m", ["CUT804"])])
def test_blocks_of_a_mask(tmp_path: Path, block: str, codes: list[str]) -> None:
    header = tmp_path / "include" / "cutlass" / "cluster_launch.hpp"
    header.parent.mkdir(parents=True)
    header.write_text(LAUNCHER)
    (tmp_path / "kernel.cu").write_text(KERNEL.replace("BLOCK", block))
    settings = Settings(cache=False, jobs=1, arch=("sm_90a",), include=(tmp_path / "include",), select=("CUT804",))
    report = check(inputs([str(tmp_path / "kernel.cu")]), settings)
    assert not report.failures and not report.errors
    assert [f.code for f in report.findings] == codes
