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


BARRIERS = """#pragma once
#include <cutlass/arch/barrier.h>
enum class Barriers : uint32_t { kFull = 1, kEmpty };
template <int N> __device__ void meet(Barriers id) {
  cutlass::arch::NamedBarrier::sync(N, static_cast<uint32_t>(id));
}
__device__ void come(int n, Barriers id) { cutlass::arch::NamedBarrier::arrive(n, static_cast<uint32_t>(id)); }
"""
ROLES = """#include <cute/tensor.hpp>
#include "barriers.h"
using namespace cute;
__global__ void __launch_bounds__(256) roles(float const* x, float* y, int n) {
  __shared__ float s[128];
  Tensor g = make_tensor(make_gmem_ptr(x), make_shape(n));
  int t = threadIdx.x % 128;
  if (threadIdx.x < 128) {
    for (int k = 0; k < n / 128; ++k) {
      meet<256>(Barriers::kEmpty);
      s[t] = g(k * 128 + t);
      meet<256>(Barriers::kFull);
    }
  } else {
    for (int k = 0; k < n / 128; ++k) {
      come(256, Barriers::kEmpty);
      meet<256>(Barriers::kFull);
      Tensor r = make_tensor<float>(Shape<_1>{});
      copy(local_partition(make_tensor(make_smem_ptr(s), Layout<_128>{}), Layout<_128>{}, 127 - t), r);
      y[k * 128 + t] = r(0);
    }
  }
}
void run(float const* x, float* y, int n) { roles<<<1, 256>>>(x, y, n); }
"""


@pytest.mark.parametrize(
    ("line", "place"),
    [("", 0), ("      meet<256>(Barriers::kFull);\n    }\n  } else", 10), ("      come(256, Barriers::kEmpty);\n", 10)],
)
def test_barriers_with_functions_of_their_own(tmp_path: Path, line: str, place: int) -> None:
    """In a header that says nothing of CuTe; what is wrong is said at the call, not in a function that all call."""
    (tmp_path / "barriers.h").write_text(BARRIERS)
    assert line in ROLES
    (tmp_path / "k.cu").write_text(ROLES.replace(line, line[line.index("    }") :] if "else" in line else "", 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT217",)))
    assert not report.failures
    assert [(f.code, f.span.path, f.span.line) for f in report.findings] == [("CUT217", "k.cu", place)][: bool(line)]
