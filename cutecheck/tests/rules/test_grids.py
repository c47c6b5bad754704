"""Grids with the blocks of other extents along the axes of indices that walk one mode alone."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Tile = Shape<_32, _64>;
__global__ void __launch_bounds__(128) attend(half_t const* Q, half_t const* K, half_t* O, int rows, int keys,
                                              int heads, int batches, int stride, int batch) {
  // cutecheck: assume stride % 8 == 0
  __shared__ alignas(128) half_t smem[2 * 32 * 64];
  auto tile = Layout<Shape<_32, _64>, Stride<_64, _1>>{};
  Tensor mQ = make_tensor(make_gmem_ptr(Q + int(blockIdx.y) * batch), make_shape(rows, heads, _64{}),
                          make_stride(stride, _64{}, _1{}));
  Tensor mO = make_tensor(make_gmem_ptr(O + int(blockIdx.y) * batch), make_shape(rows, heads, _64{}),
                          make_stride(stride, _64{}, _1{}));
  Tensor mK = make_tensor(make_gmem_ptr(K + int(blockIdx.y) * batch), make_shape(keys, heads, _64{}),
                          make_stride(stride, _64{}, _1{}));
  Tensor gQ = local_tile(mQ(_, int(blockIdx.z), _), Tile{}, make_coord(int(blockIdx.x), 0));
  Tensor gO = local_tile(mO(_, int(blockIdx.z), _), Tile{}, make_coord(int(blockIdx.x), 0));
  Tensor gK = local_tile(mK(_, int(blockIdx.z), _), Tile{}, make_coord(_, 0));
  Tensor sQ = make_tensor(make_smem_ptr(smem), tile), sK = make_tensor(make_smem_ptr(smem + 32 * 64), tile);
  auto thr = Load{}.get_slice(threadIdx.x);
  copy(Load{}, thr.partition_S(gQ), thr.partition_D(sQ));
  for (int n = 0; n < keys / 32; ++n) {
    copy(Load{}, thr.partition_S(gK(_, _, n)), thr.partition_D(sK));
    __syncthreads();
    float sum = float(sK(threadIdx.x % 32, 0)) + float(sQ(threadIdx.x % 32, n % 64));
    __syncthreads();
    sQ(threadIdx.x % 32, threadIdx.x / 32) = half_t(sum);
  }
  __syncthreads();
  copy(Load{}, thr.partition_S(sQ), thr.partition_D(gO));
}
void run(half_t const* Q, half_t const* K, half_t* O, int rows, int keys, int heads, int batches, int stride,
         int batch) {
  dim3 grid(rows / 32, batches, heads);
  attend<<<grid, 128>>>(Q, K, O, rows, keys, heads, batches, stride, batch);
}
"""
GRID = "grid(rows / 32, batches, heads)"
WRONG = ["grid(rows / 32, heads, batches)", "grid(batches, rows / 32, heads)", "grid(keys / 32, batches, heads)"]
RIGHT = [
    ("", ""),
    (GRID, "grid(rows / 32, 1, heads)"),
    (GRID, "grid((rows + 31) / 32, batches, heads)"),
    # one length for all
    (GRID, "grid(keys / 32, batches, heads); if (keys != rows) return"),
    # heads walked by two indices: of groups, and in a group
    ("int(blockIdx.z)", "int(blockIdx.z + blockIdx.y)"),
    # the indices swapped as well
    ("dim3 grid(rows / 32, batches, heads)", "dim3 grid(heads, batches, rows / 32)"),
]


def reported(tmp_path: Path, source: str) -> list[str]:
    (tmp_path / "k.cu").write_text(PREAMBLE + source)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    return [f.message for f in report.findings if f.code == "CUT219"]


@pytest.mark.parametrize("grid", WRONG)
def test_blocks_of_another_extent(tmp_path: Path, grid: str) -> None:
    assert any("walks" in message for message in reported(tmp_path, KERNEL.replace(GRID, grid)))


@pytest.mark.parametrize(("old", "new"), RIGHT)
def test_blocks_of_each_extent(tmp_path: Path, old: str, new: str) -> None:
    assert old in KERNEL
    source = KERNEL.replace(old, new)
    if new.startswith("dim3 grid(heads"):
        source = source.replace("blockIdx.x", "blockIdx.w").replace("blockIdx.z", "blockIdx.x")
        source = source.replace("blockIdx.w", "blockIdx.z")
    assert reported(tmp_path, source) == []
