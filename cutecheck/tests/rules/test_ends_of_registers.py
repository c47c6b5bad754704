"""Elements behind the end of tensors in registers (CUT225)."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
template <class R> __device__ float pair(R const& r, int i) { return r(2 * i) + r(2 * i + 1); }
template <int N> __global__ void sums(float* y, int n) {
  Tensor r = make_tensor<float>(Shape<_4, _2>{});
  Tensor o = make_tensor<float>(Shape<Int<N>>{});
  float s = 0, some[12];
  clear(r); clear(o);
  for (int k = 0; k < 4; ++k) { for (int m = 0; m < 2; ++m) s += r(2 * k + m); }
  for (int k = 0; k < 4; ++k) { for (int m = 0; m < 2; ++m) s += r(4 * k + m); }          // BAD
  for (int k = 0; k < 3; ++k) s += r(0, k);                                             // BAD
  for (int k = 0; k < 8; ++k) { if (k + 1 < 8) s += r(k + 1); s += k > 0 ? r(k - 1) : 0; }
  for (int k = 0; k < 9; ++k) { if (k == 8) break; s += r(k); }
  for (int k = 0; k < 12; ++k) { if (k == n) return; s += r(k); }
  for (int k = 0; k < 12; ++k) { s += r(k); if (k == 7) break; }
  for (int k = 0; k < n; ++k) s += r(k);
  for (int k = 0; k < 4; ++k) s += pair(r, k);
  for (int k = 0; k < 5; ++k) s += pair(r, k);  // its helper
  for (int k = 0; k < 8; ++k) o(k) = some[k] + s;  // of one instantiation
  for (int k = 0; k < 8; k += 4) s += recast<uint64_t>(r)(k / 2) != 0;
  if (threadIdx.x < 4) s += r(threadIdx.x + 4);
  if (N > 8) s += r(N - 1);
  y[threadIdx.x] = s + o(0);
}
void go(float* y, int n) { for (int i = 0; i < 3; ++i) { sums<4><<<1, 32>>>(y, n); sums<8><<<1, 32>>>(y + i, n); } }
"""


def test_passes_that_go_too_far(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",), select=("CUT225",)))
    assert not report.failures
    lines = KERNEL.splitlines()
    helper = next(i for i, x in enumerate(lines, 1) if "float pair" in x)
    bad = [i for i, x in enumerate(lines, 1) if "BAD" in x or "of one" in x]
    assert sorted({f.span.line for f in report.findings}) == sorted([helper, *bad])
