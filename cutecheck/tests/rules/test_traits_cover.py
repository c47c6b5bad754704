"""Layouts of operands in MMA_Traits: each element of the tile once (CUT201)."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

OWN = """
struct Own {
  using DRegisters = uint32_t[4];
  using ARegisters = uint32_t[2];
  using BRegisters = uint32_t[1];
  using CRegisters = uint32_t[4];
};
namespace cute {
template <> struct MMA_Traits<Own> {
  using ValTypeD = int32_t;
  using ValTypeA = int4b_t;
  using ValTypeB = int4b_t;
  using ValTypeC = int32_t;
  using Shape_MNK = Shape<_16, _8, _32>;
  using ThrID = Layout<_32>;
  using ALayout = Layout<Shape<Shape<_4, _8>, Shape<_8, _2>>, Stride<Stride<_128, _1>, Stride<_16, _8>>>;
  using BLayout = Layout<Shape<Shape<_4, _8>, Shape<_8>>, Stride<Stride<STRIDE, _1>, Stride<_8>>>;
  using CLayout = Layout<Shape<Shape<_4, _8>, Shape<_2, _2>>, Stride<Stride<_32, _1>, Stride<_16, _8>>>;
};
}
using Mma = decltype(make_tiled_mma(Own{}, Layout<Shape<_2, _2, _1>>{}));
"""
DATA = "using Mma = decltype(make_tiled_mma(SM80_16x8x32_S32S4S4S32_TN{}, Layout<Shape<_2, _2, _1>>{}));"


@pytest.mark.parametrize(
    ("text", "version", "found"),
    [
        (OWN.replace("STRIDE", "_32"), None, True),
        (OWN.replace("STRIDE", "_64"), None, False),
        (DATA, "4.2", True),  # as its headers have it: BLayout has _32 where _64 is right
        (DATA, "4.7", False),
    ],
)
def test_operands_of_traits(tmp_path: Path, text: str, version: str | None, found: bool) -> None:
    (tmp_path / "mma.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2",), cutlass_version=version))
    assert not report.failures
    assert ["layout of B" in f.message for f in report.findings] == [True] * found
