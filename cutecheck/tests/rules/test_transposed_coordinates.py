"""Predicates by the coordinates of the transposed matrix (CUT604)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _1>>{}));
__global__ void __launch_bounds__(128) move(float const* A, float* C, int m, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor cT = local_tile(make_identity_tensor(make_shape(k, m)), Shape<_64, _64>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor cA = make_tensor(cT.data(), ORDER(cT.layout()));
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tA = thr.partition_S(gA);
  Tensor tC = thr.partition_D(gC);
  Tensor tcA = thr.partition_S(cA);
  Tensor pred = make_tensor<bool>(shape(tA));
  for (int i = 0; i < size(pred); ++i) pred(i) = get<0>(tcA(i)) < FIRST && get<1>(tcA(i)) < SECOND;
  Tensor r = make_fragment_like(tA);
  clear(r);
  copy_if(Load{}, pred, tA, r);
  copy_if(Load{}, pred, r, tC);
}
void run(float const* A, float* C, int m, int k) { move<<<dim3((m + 63) / 64, (k + 63) / 64), 128>>>(A, C, m, k); }
"""


@pytest.mark.parametrize(
    ("order", "first", "second", "found"),
    [
        ("select<1, 0>", "k", "m", 0),
        ("select<1, 0>", "m", "k", 2),
        ("", "k", "m", 2),  # the limits alone say so
    ],
)
def test_coordinates_of_the_transposed_matrix(tmp_path: Path, order: str, first: str, second: str, found: int) -> None:
    text = KERNEL.replace("ORDER", order).replace("FIRST", first).replace("SECOND", second)
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT604",)))
    assert not report.failures
    assert len(report.findings) == found
