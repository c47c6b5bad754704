"""Grids with too few blocks for tiles that pairs of blocks share (CUT219)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
__global__ void __launch_bounds__(128) scale(float const* a, float* d, int m, int n) {
  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(m, n), make_stride(n, _1{}));
  Tensor mD = make_tensor(make_gmem_ptr(d), make_shape(m, n), make_stride(n, _1{}));
  auto const pair = make_coord(blockIdx.x / 2, blockIdx.y);
  auto const mine = make_coord(blockIdx.x % 2, _0{});
  Tensor gA = local_tile(local_tile(mA, Shape<_256, _64>{}, pair), Shape<_128, _64>{}, mine);
  Tensor gD = local_tile(local_tile(mD, Shape<_256, _64>{}, pair), Shape<_128, _64>{}, mine);
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_8, _16>, Stride<_16, _1>>{});
  auto thr = tiled.get_slice(threadIdx.x);
  Tensor from = thr.partition_S(gA);
  Tensor r = make_fragment_like(from);
  Tensor sum = make_fragment_like(from);
  copy(tiled, from, r);
  clear(sum);
  axpby(2.0f, r, 0.0f, sum);
  copy(tiled, sum, thr.partition_D(gD));
}
void run(float const* a, float* d, int m, int n) {
  scale<<<dim3(GRID, ceil_div(n, 64)), 128>>>(a, d, m, n);
}
"""


@pytest.mark.parametrize(
    ("grid", "found"),
    [
        ("round_up(ceil_div(m, 256), 4)", True),
        ("2 * ceil_div(m, 256)", False),
        ("4 * ceil_div(m, 512)", False),
        ("ceil_div(m, 128)", False),
    ],
)
def test_blocks_of_pairs(tmp_path: Path, grid: str, found: bool) -> None:
    (tmp_path / "scale.cu").write_text(PREAMBLE + KERNEL.replace("GRID", grid))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT219",)))
    assert not report.failures
    assert [("12 blocks along x" in f.message, "1536" in f.message) for f in report.findings] == [(True, True)] * found
