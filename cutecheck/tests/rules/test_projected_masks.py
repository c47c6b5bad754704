"""Masks of multicasts that CuTe computes from the layout of a cluster (CUT804)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, extract_facts, inputs
from cutecheck.model.ints import Dyn, as_expr

# create_tma_multicast_mask of ranks 0, 5, 9 and 15 of a cluster of (2,2,4,1) blocks, as a compiled program prints them
PRINTED = {
    "2": (4369, 8738, 8738, 34952),
    "1": (5, 160, 2560, 40960),
    "0, 1": (15, 240, 3840, 61440),
    "0, 2": (13107, 13107, 13107, 52428),
}
KERNEL = """
#include <cute/tensor.hpp>
#include <cutlass/cluster_launch.hpp>
using namespace cute;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
template <class Tma>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma, int m, int k) {
  extern __shared__ alignas(1024) half_t smem[];
  __shared__ alignas(8) uint64_t bar;
  auto cluster = CLUSTER;
  auto here = cluster.get_flat_coord(int(block_rank_in_cluster()));
  Tensor gA = local_tile(tma.get_tma_tensor(make_shape(m, k)), Shape<_128, _64>{}, make_coord(blockIdx.x, 0));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto [from, to] = tma_partition(tma, get<PART>(here), make_layout(size<PART>(cluster)),
      group_modes<0, 2>(sA), group_modes<0, 2>(gA));
  copy(tma.with(bar, create_tma_multicast_mask<MODES>(cluster, here)), from, to);
}
void run(half_t const* A, int m, int k) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  auto tma = make_tma_atom(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, Int<4>{});
  dim3 blocks(4, 4, 1);
  cutlass::ClusterLaunchParams params = {dim3(m / 128, 8), dim3(128), blocks, 16384};
  cutlass::launch_kernel_on_cluster(params, (void const*)&fill<decltype(tma)>, tma, m, k);
}
"""
PLAIN = "tiled_divide(make_layout(Shape<_4, _4, _1>{}), make_tile(_1{}))"


@pytest.mark.parametrize(("modes", "wrong"), [("2", False), ("1", True)])
def test_of_the_wrong_axis(tmp_path: Path, modes: str, wrong: bool) -> None:
    text = KERNEL.replace("CLUSTER", PLAIN).replace("MODES", modes).replace("PART", "2")
    (tmp_path / "k.cu").write_text(text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_90a",)))
    assert not report.failures
    assert [f.code for f in report.findings if f.code == "CUT804"] == (["CUT804"] if wrong else [])


@pytest.mark.parametrize(
    ("part", "wrong"), [("get<2>(here)", 0), ("get<1>(here)", 1), ("0", 1), ("elsewhere()", 0), ("3 - get<2>(here)", 0)]
)
def test_of_one_part(tmp_path: Path, part: str, wrong: int) -> None:
    text = KERNEL.replace("CLUSTER", PLAIN).replace("MODES", "2").replace("get<PART>(here)", part).replace("PART", "2")
    (tmp_path / "k.cu").write_text("__device__ int elsewhere();\n" + text)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_90a",)))
    assert not report.failures
    found = [f.message for f in report.findings if f.code == "CUT804"]
    assert len(found) == wrong and all("same part" in m for m in found)


@pytest.mark.parametrize("modes", PRINTED)
def test_values(tmp_path: Path, modes: str) -> None:
    pairs = "tiled_divide(make_layout(Shape<_4, _4, _1>{}), make_tile(_2{}))"
    text = KERNEL.replace("CLUSTER", pairs).replace("MODES", modes).replace("PART", "2")
    (tmp_path / "k.cu").write_text(text)
    facts = extract_facts((tmp_path,), Settings(arch=("sm_90a",), cache=False))
    (mask,) = {c.arguments[0] for c in facts.calls if c.function == "multicast"}
    assert isinstance(mask, Dyn)
    expression = as_expr(mask)
    assert {v.name for v in expression.variables()} <= {"block_rank_in_cluster"}
    assert tuple(expression.evaluate({"block_rank_in_cluster": r}) for r in (0, 5, 9, 15)) == PRINTED[modes]
