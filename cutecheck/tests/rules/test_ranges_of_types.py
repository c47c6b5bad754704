"""Numbers of few bits of which the type alone says the range: a copy at such an offset is not misaligned (CUT402)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
#include <cute/tensor.hpp>
using namespace cute;
__device__ void elsewhere(uint8_t&);
__global__ void move(float* p, uint8_t const* t, uint16_t const* u, int n) {
  int o = 0;
  uint8_t c = 4;
  %s
  Tensor g = make_tensor(make_gmem_ptr(p + o), Layout<_4>{});
  Tensor r = make_fragment_like(g);
  copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, g, r);
  copy(r, make_tensor(make_gmem_ptr(p + 4096), Layout<_4>{}));
}
void run(float* p, uint8_t const* t, uint16_t const* u, int n) { move<<<1, 32>>>(p, t, u, n); }
"""


def codes(folder: Path, offset: str) -> list[str]:
    (folder / "k.cu").write_text(KERNEL % offset)
    report = check(inputs([str(folder)]), Settings(select=("CUT402",), arch=("sm_80",)))
    assert not report.failures

    return [f.code for f in report.findings]


@pytest.mark.parametrize(
    "offset",
    [
        "if (t != nullptr) o = t[blockIdx.x];",
        "o = t ? t[blockIdx.x] : 0;",
        "if (n > 3) o = u[blockIdx.x] * 2;",
        "if (n) o = t[0]; else o = t[1];",
        "elsewhere(c); o = c;",
        'asm("ld.u8 %0, [%1];" : "=r"(c) : "l"(t)); o = c;',
        "while (n-- > t[0]) elsewhere(c); o = c;",
        "for (int i = 0; i < n; ++i) { if (t[i] > c) c = t[i]; } o = c;",
        "if (n) c = t[0] * 4; o = c;",
    ],
)
def test_what_need_not_take_all_of_a_type_is_not_refuted(tmp_path: Path, offset: str) -> None:
    assert codes(tmp_path, offset) == []


@pytest.mark.parametrize(
    "offset",
    ["o = n > 0 ? 1 : 0;", "if (n > 3) o = 2;", "for (int i = 0; i < 2; ++i) { if (n > i) o = i; }"],
)
def test_what_takes_all_that_it_may_be_is(tmp_path: Path, offset: str) -> None:
    assert codes(tmp_path, offset) == ["CUT402"]
