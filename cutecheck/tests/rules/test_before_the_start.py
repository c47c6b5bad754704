"""Loops that go down through the tiles of a matrix, and on to one before the first."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) down(float const* A, float const* B, float* C, int k) {
  __shared__ float a[128], b[64];
  int last = k / 8 - 1;
  Tensor gA = make_tensor(make_gmem_ptr(A + last * 8), make_shape(_16{}, _8{}), make_stride(k, _1{}));
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(B), make_shape(_8{}, k), make_stride(k, _1{})), Shape<_8, _8>{},
      make_coord(0, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Layout<Shape<_16, _8>>{});
  Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_8, _8>>{});
  auto threads = Layout<Shape<_16, _8>>{};
  Tensor tA = local_partition(gA, threads, threadIdx.x), tS = local_partition(sA, threads, threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _8>>{}));
  Tensor acc = make_fragment_like(gC);
  clear(acc);
  copy(tA, tS);
  for (int i = last; i >= 0; --i) {
    copy(local_partition(gB(_, _, i), Layout<Shape<_8, _8>>{}, threadIdx.x % 64),
        local_partition(sB, Layout<Shape<_8, _8>>{}, threadIdx.x % 64));
    __syncthreads();
    gemm(Mma{}, thr.partition_A(sA), thr.partition_B(sB), acc);
    __syncthreads();
    if (NEXT) {
      tA.data() = tA.data() + (-8);
      copy(tA, tS);
    }
  }
  copy(acc, gC);
}
void run(float const* A, float const* B, float* C, int k) { down<<<1, 128>>>(A, B, C, k); }
"""


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("i > 0", []),
        ("i >= 0", ["CUT210"]),
        ("i > 0 || threadIdx.x > k", []),  # threads say, each for itself, and some of them may
    ],
)
def test_the_tile_before_the_first(tmp_path: Path, condition: str, found: list[str]) -> None:
    text = KERNEL.replace("NEXT", condition)
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT210", "CUT218", "CUT221"), arch=("sm_80",)))
    assert [f.code for f in report.findings] == found
    assert all("starts 8 elements before the memory" in f.message for f in report.findings)
