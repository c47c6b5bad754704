"""Predicates whose limit is what is left of a mode from another block's tile on (CUT604)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

LOAD = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<_1>{}));
__global__ void __launch_bounds__(128) load_tile(float const* A, float* out, int m, int n) {
  __shared__ float smem[64 * 32];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, _32{}), make_stride(_32{}, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _32>{}, make_coord(blockIdx.x, 0));
  Tensor sA = make_tensor(make_smem_ptr(smem), Layout<Shape<_64, _32>, Stride<_32, _1>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tAsA = thr.partition_D(sA);
  Tensor tAcA = thr.partition_S(make_identity_tensor(Shape<_64, _32>{}));
  Tensor pred = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
  int left = LEFT;
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = get<0>(tAcA(0, i, j)) < left;
  clear(tAsA);
  copy_if(Load{}, pred, thr.partition_S(gA), tAsA);
  __syncthreads();
  Tensor o = make_tensor(make_gmem_ptr(out + 2048 * blockIdx.x), sA.layout());
  copy(Load{}, thr.partition_S(sA), thr.partition_D(o));
}
void run(float const* A, float* out) { load_tile<<<dim3(3, 3), 128>>>(A, out, 129, 129); }
"""


@pytest.mark.parametrize(
    ("left", "said"), [("m - 64 * blockIdx.x", ""), ("m - 64 * blockIdx.y", "blockIdx.x says which tile")]
)
def test_what_is_left_from_the_tile_of_another_index(tmp_path: Path, left: str, said: str) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + LOAD.replace("LEFT", left))
    report = check(inputs([tmp_path]), Settings(select=("CUT604",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    found = [f.message for f in report.findings]
    assert all(said in m for m in found) if said else not found
    assert bool(found) == bool(said)
