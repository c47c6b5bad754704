"""TiledMMA as CUTLASS before 3.4 has it: a layout of values stands where the permutation is today."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.notation import show
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.model.version import using_cute
from cutecheck.tests.source.test_extract import run, site

MMA = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<THREADS>>, Layout<Shape<VALUES>>>;
using Copy = decltype(make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Mma{}));
"""


@pytest.mark.parametrize(
    ("threads", "values", "tile", "tv"),  # as the headers of CUTLASS 3.3.0 print them
    [
        (
            "_4, _1, _1",
            "_1, _2, _1",
            "(_64,_16,_16)",
            "((_4,_8,_4),((_2,_2),(_2,_1))):((_32,_1,_0),((_16,_128),(_8,_0)))",
        ),
        (
            "_2, _2, _1",
            "_1, _2, _1",
            "(_32,_32,_16)",
            "((_4,_8,_2,_2),((_2,_2),(_2,_1))):((_64,_1,_0,_8),((_32,_256),(_16,_0)))",
        ),
    ],
)
def test_only_the_sizes_of_a_layout_of_values_count(
    tmp_path: Path, threads: str, values: str, tile: str, tv: str
) -> None:
    found = run(tmp_path, MMA.replace("THREADS", threads).replace("VALUES", values))
    mma = site(found, "Mma").value
    assert isinstance(mma, TiledMMA)
    assert show(mma.tile_shape) == tile
    copied = site(found, "Copy").value
    assert isinstance(copied, TiledCopy)
    assert show(copied.layout_tv) == tv
    again = MMA.replace("Layout<Shape<VALUES>>", f"Tile<{tile.strip('()')}>").replace("THREADS", threads)
    assert site(run(tmp_path, again), "Mma").value == mma


def test_a_named_version_has_no_layout_of_values(tmp_path: Path) -> None:
    with using_cute("4.2"):
        found = site(run(tmp_path, MMA.replace("THREADS", "_4, _1, _1").replace("VALUES", "_1, _2, _1")), "Mma")
    assert found.status == "unknown"
    assert found.reason is not None
    assert not found.reason.rejected
    assert "CUTLASS 3.4" in str(found.reason)


def test_nothing_is_said_to_stop_the_compiler(tmp_path: Path) -> None:
    text = MMA.replace("THREADS", "_4, _1, _1").replace("VALUES", "_1, _2, _1")
    (tmp_path / "mma.cu").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + text)
    assert not check(inputs([str(tmp_path)]), Settings(arch=("sm_80",))).findings
