"""A tile of one matrix in the shared memory of another, which holds that one's tiles in other passes."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _16, _1>>{}));
__global__ void __launch_bounds__(128) sums(float const* A, float const* B, float* C, int k) {
  __shared__ float a[128], b[128];
  auto tile = Layout<Shape<_16, _8>>{};
  Tensor sA = make_tensor(make_smem_ptr(a), tile), sB = make_tensor(make_smem_ptr(b), tile);
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_16{}, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_16{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_16, _8>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_16, _8>{}, make_coord(0, _));
  Tensor tA = local_partition(sA, tile, threadIdx.x), tB = local_partition(sB, tile, threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _16>>{}));
  Tensor acc = make_fragment_like(gC);
  clear(acc);
  copy(local_partition(gA(_, _, 0), tile, threadIdx.x), tA);
  copy(local_partition(gB(_, _, 0), tile, threadIdx.x), tB);
  for (int i = 1; i <= k / 8; ++i) {
    __syncthreads();
    gemm(Mma{}, thr.partition_A(sA), thr.partition_B(sB), acc);
    __syncthreads();
    if (i < k / 8) {
      copy(local_partition(FIRST(_, _, i), tile, threadIdx.x), tA);
      copy(local_partition(SECOND(_, _, i), tile, threadIdx.x), tB);
    }
  }
  copy(acc, gC);
}
void run(float const* A, float const* B, float* C, int k) { sums<<<1, 128>>>(A, B, C, k); }
"""


@pytest.mark.parametrize(
    ("first", "second", "astray"),
    [("gA", "gB", False), ("gA", "gA", True), ("gB", "gB", True), ("gB", "gA", False)],
)
def test_the_tile_of_the_other_matrix(tmp_path: Path, first: str, second: str, astray: bool) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL.replace("FIRST", first).replace("SECOND", second))
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT218",), arch=("sm_80",)))
    assert any("tiles of another matrix" in f.message for f in report.findings) is astray
