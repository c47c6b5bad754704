"""Named barriers of C++ whose number depends on the thread: each role comes to its own."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
using namespace cute;
__global__ void __launch_bounds__(256) halves(float const* x, float* y, int n) {
  __shared__ float s[2][128];
  Tensor g = make_tensor(make_gmem_ptr(x), make_shape(n));
  int half = threadIdx.x / 128, t = threadIdx.x % 128;
  s[half][t] = g(threadIdx.x);
  cutlass::arch::NamedBarrier::sync(COUNT, WHICH);
  y[threadIdx.x] = s[half][127 - t];
}
void run(float const* x, float* y, int n) { halves<<<8, 256>>>(x, y, n); }
"""


@pytest.mark.parametrize(
    ("count", "which", "codes"),
    [
        ("128", "half + 1", set[str]()),
        ("128", "1 + threadIdx.x / 128", set[str]()),
        ("128", "1", {"CUT217"}),
        ("512", "half + 1", {"CUT217"}),
    ],
)
def test_each_half_has_a_barrier(tmp_path: Path, count: str, which: str, codes: set[str]) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("COUNT", count).replace("WHICH", which))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT21",)))
    assert not report.failures
    assert {f.code for f in report.findings} == codes
