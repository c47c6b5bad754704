"""What may be either of two numbers is a multiple of the variables that both are multiples of."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void kern(half_t const* x, half_t* y, int c, int w, int n) {
  bool inside = threadIdx.x % 3 < n;
  int row = (threadIdx.x / w) * c + 3 * c;
  int from = EITHER;
  Tensor src = make_tensor(make_gmem_ptr(x + from), Layout<_8>{});
  Tensor dst = make_fragment_like(src);
  copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, src, dst);
  y[threadIdx.x] = dst(0);
}
int host(half_t* x, half_t* y, int c, int w, int n) {
  if (c % 8 != 0) return 1;
  kern<<<1, 128>>>(x, y, c, w, n);
  return 0;
}
"""


@pytest.mark.parametrize(
    ("either", "verdict"),
    [
        ("inside ? row : 0", "proved"),
        ("inside ? row : 2 * c * w", "proved"),
        ("n > 3 ? row : 0", "proved"),
        ("inside ? row : 8", "proved"),
        ("inside ? row : 4", "unknown"),
        ("inside ? row + w : 0", "unknown"),
        ("inside ? row : w", "unknown"),
    ],
)
def test_alignment_of_rows_that_may_be_none(tmp_path: Path, either: str, verdict: str) -> None:
    (tmp_path / "k.cu").write_text(KERNEL.replace("EITHER", either))
    report = check(inputs([str(tmp_path / "k.cu")]), Settings(arch=("sm_80",)))
    found = {o.verdict.value for o in report.outcomes if o.obligation.property == "vector-aligned"}
    assert (verdict in found, found <= {verdict, "proved"}) == (True, True)
