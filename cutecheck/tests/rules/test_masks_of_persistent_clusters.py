"""CUT804 of masks in kernels whose clusters go on from tile to tile: their place in the cluster says which tile."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<Int<ROWS>, _64, _2>{}));
auto make_load(half_t const* A, int m) {
  auto g = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, _64{}), make_stride(_64{}, _1{})));
  return make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, g, Smem{}(_, _, 0), Shape<Int<ROWS>, _64>{}, MANY);
}
template <class Tma>
__global__ void __launch_bounds__(128) fill(CUTE_GRID_CONSTANT Tma const tma, int m, int tiles) {
  extern __shared__ half_t smem[];
  __shared__ uint64_t bar;
  int const rank = block_rank_in_cluster();
  int const row = rank % 2, column = rank / 2;
  auto mA = tma.get_tma_tensor(make_shape(m, _64{}));
  Tensor sA = make_tensor(make_smem_ptr(smem), Smem{});
  auto cta = tma.get_slice(SLICE);
  for (int tile = cluster_id_in_grid().x; tile < tiles; tile += 4) {
    Tensor gA = local_tile(mA, Shape<Int<ROWS>, _64>{}, make_coord(AT, 0));
    if (WHO) copy(tma.with(bar, uint16_t(MASK)), cta.partition_S(gA), cta.partition_D(sA(_, _, INTO)));
  }
}
void run(half_t const* A, int m) {
  auto tma = make_load(A, m);
  cutlass::ClusterLaunchParams params = {dim3(8, 2), dim3(128), dim3(2, 2, 1), 32768};
  cutlass::launch_kernel_on_cluster(params, (void const*)&fill<decltype(tma)>, tma, m, 16);
}
"""
USUAL = {
    "ROWS": "64", "MANY": "_2{}", "SLICE": "column", "AT": "2 * tile + row", "MASK": "5 << row", "INTO": "0",
    "WHO": "threadIdx.x == 0",
}  # fmt: skip


def found(folder: Path, **other: str) -> list[str]:
    text = KERNEL
    for name, value in (USUAL | other).items():
        text = text.replace(name, value)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT804",), arch=("sm_90a",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f.message for f in report.findings]


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"SLICE": "row", "AT": "2 * tile + column", "MASK": "3 << 2 * column"},
        {"SLICE": "column", "AT": "row + tile * 2", "MASK": "(1 << row) | (1 << (row + 2))"},
        {"MANY": "_4{}", "SLICE": "rank", "AT": "tile", "MASK": "15"},
        # each block brings a tile of its own to all, each to a place of its own
        {"MANY": "_1{}", "SLICE": "0", "AT": "4 * tile + row", "MASK": "3 << 2 * column", "INTO": "row"},
        {"MANY": "_1{}", "SLICE": "0", "AT": "tile + row", "MASK": "3", "WHO": "rank == 0"},
    ],
)
def test_right_masks(other: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, **other)


@pytest.mark.parametrize("other", [{"MASK": "3 << 2 * column"}, {"MASK": "15", "MANY": "_4{}", "SLICE": "0"}])
def test_another_tile_to_the_same_place(other: dict[str, str], tmp_path: Path) -> None:
    assert any("to the same place" in m or "the same part" in m for m in found(tmp_path, **other))
