"""CUT212 of elements of shared memory that threads store and read where their coordinates lie in the matrix."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
__global__ void __launch_bounds__(256) transpose(float const* in, float* out, int m, int n) {
  __shared__ float buf[32 * 33];
  auto mI = make_tensor(make_gmem_ptr(in), make_shape(m, n), make_stride(n, _1{}));
  auto mO = make_tensor(make_gmem_ptr(out), make_shape(n, m), make_stride(m, _1{}));
  auto gI = local_tile(mI, Shape<_32, _32>{}, make_coord(blockIdx.y, blockIdx.x));
  auto gO = local_tile(mO, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  auto s = make_tensor(make_smem_ptr(buf), Layout<Shape<_32, _32>, Stride<_33, _1>>{});
  auto st = make_tensor(make_smem_ptr(buf), Layout<Shape<_32, _32>, Stride<_1, _33>>{});
  auto thr = Layout<Shape<_8, _32>, Stride<_32, _1>>{};
  auto tI = local_partition(gI, thr, threadIdx.x);
  auto tS = local_partition(s, thr, threadIdx.x);
  auto tT = local_partition(READ, thr, threadIdx.x);
  auto tO = local_partition(gO, thr, threadIdx.x);
  auto c = local_partition(make_identity_tensor(Shape<_32, _32>{}), thr, threadIdx.x);
  int const rows = m - blockIdx.y * 32, cols = n - blockIdx.x * 32;
  for (int i = 0; i < size(tI); ++i)
    if (STORED) tS(i) = tI(i);
  BARRIER
  for (int i = 0; i < size(tO); ++i)
    if (TAKEN) tO(i) = tT(i);
}
void run(float const* x, float* y, int m, int n) {
  transpose<<<dim3((n + 31) / 32, (m + 31) / 32), 256>>>(x, y, m, n);
}
"""
INSIDE = "get<0>(c(i)) < rows && get<1>(c(i)) < cols"
USUAL = {"STORED": INSIDE, "TAKEN": "get<1>(c(i)) < rows && get<0>(c(i)) < cols", "READ": "st"}


def found(folder: Path, **other: str) -> list[str]:
    text = KERNEL
    for name, value in (USUAL | other).items():
        text = text.replace(name, value)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([folder]), Settings(select=("CUT212",), arch=("sm_80",), cache=False, jobs=1))
    assert not report.failures and not report.errors
    return [f.message for f in report.findings]


@pytest.mark.parametrize(
    "other",
    [
        {"BARRIER": "__syncthreads();"},
        {"BARRIER": "cutlass::arch::NamedBarrier::sync(256, 1);"},
        {"BARRIER": "", "READ": "s", "TAKEN": INSIDE},  # each thread its own
        {"BARRIER": "", "TAKEN": "get<1>(c(i)) < rows && threadIdx.x < 0"},
        {"BARRIER": "if (m < n) return;\n  __syncthreads();"},
    ],
)
def test_right_kernels(other: dict[str, str], tmp_path: Path) -> None:
    assert not found(tmp_path, **other)


@pytest.mark.parametrize("other", [{}, {"STORED": "get<0>(c(i)) < m - blockIdx.y * 32"}, {"TAKEN": "true"}])
def test_a_missing_barrier(other: dict[str, str], tmp_path: Path) -> None:
    assert any("threads of other warps have stored" in m for m in found(tmp_path, BARRIER="", **other))
