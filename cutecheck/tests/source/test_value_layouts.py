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


APART = """
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _4, _1>>, Layout<Shape<_1, _2, _1>>>;
template <int Far, class... Args, class M>
auto apart(Copy_Atom<Args...> const& atom, M const& mma) {
  using Tile_MNK = typename M::TiledShape_MNK;
  constexpr int n = decltype(size<1>(typename M::AtomShape_MNK{}))::value;
  constexpr int warps = decltype(size<1>(Tile_MNK{}))::value / n / 2;
  auto tile = make_tile(Layout<Shape<Int<n>, Int<warps>, _2>, Stride<_1, Int<Far>, _8>>{},
                        make_layout(size<2>(Tile_MNK{})));
  return make_tiled_copy_impl(atom, mma.get_layoutB_TV(), tile);
}
using Apart = decltype(apart<64>(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, Mma{}));
"""


def test_the_shape_of_its_tile_is_a_member(tmp_path: Path) -> None:
    copied = site(run(tmp_path, APART), "Apart").value
    assert isinstance(copied, TiledCopy)  # as the headers of CUTLASS 3.3.0 print it
    assert show(copied.layout_tv) == "((_4,_8,_2,_4),((_2,_2),(_2,_1))):((_128,_1,_0,_8),((_64,_512),(_32,_0)))"
    assert show(copied.tiler_mn) == "((_8,_4,_2):(_1,_64,_8),_16:_1)"


def test_a_named_version_has_no_such_member(tmp_path: Path) -> None:
    text = APART.replace("Layout<Shape<_1, _2, _1>>>;", "Tile<_32, _64, _16>>;")
    assert site(run(tmp_path, text), "Apart").status == "resolved"
    with using_cute("4.2"):
        found = run(tmp_path, text)
    assert site(found, "Mma").status == "resolved"
    assert site(found, "Apart").status == "unknown"


MADE = """
using Atom = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;
using Any = Underscore;
using Made = decltype(make_tiled_mma(Atom{}, Layout<Shape<_2, _2>>{}, Layout<Shape<_1, _2>>{}));
using Spelled = TiledMMA<Atom, Layout<Shape<_2, _2, _1>>, Layout<Shape<_1, _2, _1>>, Tile<Any, Any, Any>>;
using Ordered = decltype(make_tiled_mma(Atom{}, Layout<Shape<_2, _2>>{}, Layout<Shape<_1, _2>>{}, Tile<_32>{}));
"""


@pytest.mark.parametrize("old", [True, False])
def test_the_headers_that_a_unit_includes_say_what_the_third_argument_is(tmp_path: Path, old: bool) -> None:
    """A checkout of CUTLASS before 3.4 has no ``cutlass/version.h``: the parameter's name tells it."""
    header = tmp_path / "3rd" / "include" / "cute" / "atom" / "mma_atom.hpp"
    header.parent.mkdir(parents=True)
    third = "ValLayoutMNK" if old else "PermutationMNK"
    header.write_text(
        f"#pragma once\nnamespace cute {{ template <class A, class B, class {third}> struct TiledMMA; }}\n"
    )
    found = run(tmp_path, "#include <cute/atom/mma_atom.hpp>\n" + MADE)
    made, spelled = (site(found, name).value for name in ("Made", "Spelled"))
    assert isinstance(made, TiledMMA)
    assert (show(made.tile_shape) == "(_32,_32,_16)") == old
    assert not old or made == spelled
    assert site(found, "Ordered").status == "unknown"
