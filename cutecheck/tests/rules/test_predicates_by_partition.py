"""CUT604 of tiles that ``local_partition`` divides among the threads, without a tiled copy."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Threads = Layout<Shape<_16, _8>>;
__global__ void __launch_bounds__(128) load_tile(float const* A, int m, int k) {
  __shared__ alignas(128) float smem[64 * 32];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor cA = make_identity_tensor(shape(mA));
  Tensor gA = local_tile(mA, Shape<_64, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor ctA = local_tile(cA, Shape<_64, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _32>>{});
  Tensor tAgA = local_partition(gA, Threads{}, threadIdx.x);
  Tensor tAsA = local_partition(sA, Threads{}, threadIdx.x);
  Tensor tAcA = local_partition(ctA, Threads{}, threadIdx.x);
  Tensor pred = make_tensor<bool>(shape(tAsA));
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = elem_less(tAcA(i, j), make_coord(m, k));
  copy_if(pred, tAgA, tAsA);
  __syncthreads();
}
void run(float const* A, int m, int k) { load_tile<<<dim3((m + 63) / 64, (k + 31) / 32), 128>>>(A, m, k); }
"""


@pytest.mark.parametrize("old, new, said", [
    ("", "", ""),
    ("make_coord(m, k));", "make_coord(k, m));", "compare mode 0 with `k`, the extent of mode 1"),
    ("elem_less(tAcA(i, j), make_coord(m, k))", "get<0>(tAcA(i, j)) < m", "do not bound mode 1"),
    ("local_partition(ctA,", "local_partition(cA,", "start at the tile, but mode 0 is compared with `m`"),
])  # fmt: skip
def test_a_tile_by_threads(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in KERNEL
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT6",), cache=False))
    assert not report.failures
    found = [f.message for f in report.findings]
    assert len(found) == bool(said) and all(said in message for message in found)
