"""CUT209 under conditions: what they may leave out is not reported."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) k(float* out) {
  __shared__ alignas(16) float smem[8 * 64];
  Tensor s = make_tensor(make_smem_ptr(smem), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_8, _64>, Stride<_64, _1>>{});
  auto t = Rows{}.get_slice(threadIdx.x);
  Tensor mine = t.partition_S(s);
  Tensor other = make_tensor(mine.data() + 64, mine.layout());
  int row = threadIdx.x / 16;
  %s copy(Rows{}, other, t.partition_D(o));
}
"""


@pytest.mark.parametrize(
    ("condition", "codes"), [("", {"CUT209"}), ("if (row == 0)", set()), ("if (out[row] > 1)", set())]
)
def test_a_condition_that_may_leave_out_threads(tmp_path: Path, condition: str, codes: set[str]) -> None:
    (tmp_path / "k.cu").write_text(PREAMBLE + KERNEL % condition)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",)))
    assert {f.code for f in report.findings} & {"CUT209"} == codes
    unknown = [
        o.reason for o in report.outcomes if o.obligation.property == "fits-allocation" and o.verdict.value == "unknown"
    ]
    assert bool(unknown) is bool(condition)
