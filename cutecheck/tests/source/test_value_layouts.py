"""TiledMMA as CUTLASS before 3.4 has it: a layout of values stands where the permutation is today."""

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.test_extract import run, site

MMA = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>, Layout<Shape<_1, _2, _1>>>;
"""


def test_a_layout_of_values_is_not_known(tmp_path: Path) -> None:
    found = site(run(tmp_path, MMA), "Mma")
    assert found.status == "unknown"
    assert found.reason is not None
    assert not found.reason.rejected
    assert "before CUTLASS 3.4" in str(found.reason)


def test_nothing_is_said_to_stop_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "mma.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + MMA)
    assert not check(inputs([str(tmp_path)]), Settings(arch=("sm_80",))).findings
