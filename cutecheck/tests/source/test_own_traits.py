"""Traits of a tree that are made of what CuTe names for its own; the values are those that g++ printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.model.notation import show
from cutecheck.source.evaluate import evaluate
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

NAMED = {
    "SM70_QuadPair": "(_4,_2):(_1,_16)", "SM70_8x4_Row": "(_8,_4):(_1,_8)", "SM70_8x4_Col": "((_4,_2),_4):((_8,_4),_1)",
    "SM70_8x8_16b": "(_8,_8):(_1,_8)", "SM70_8x8_32b": "((_2,_2,_2),(_2,_2,_2)):((_1,_16,_4),(_8,_2,_32))",
    "SM80_8x4": "((_4,_8),_1):((_8,_1),_0)", "SM80_8x8_Row": "((_4,_8),_2):((_16,_1),_8)",
    "SM80_8x16_Row": "((_4,_8),_4):((_32,_1),_8)", "SM80_16x8_Row": "((_4,_8),(_2,_2)):((_32,_1),(_16,_8))",
    "SM120_16x8_Row": "((_4,_8),(_2,_2)):((_32,_1),(_16,_8))",
    "SM90::GMMA::ALayout_64x8": "((_4,_8,_4),(_2,_2)):((_64,_1,_16),(_8,_256))",
    "SM90::GMMA::ALayout_64x16": "((_4,_8,_4),(_2,_2,_2)):((_128,_1,_16),(_64,_8,_512))",
    "SM90::GMMA::ALayout_64x32": "((_4,_8,_4),(_4,_2,_2)):((_256,_1,_16),(_64,_8,_1024))",
    "cute::SM90::GMMA::ALayout_64x64": "((_4,_8,_4),(_8,_2,_2)):((_512,_1,_16),(_64,_8,_2048))",
    "SM90::GMMA::CLayout_64x192": "((_4,_8,_4),(_2,_2,_24)):((_128,_1,_16),(_64,_8,_512))",
    "SM90::GMMA::CLayout_64xN<24>": "((_4,_8,_4),(_2,_2,_3)):((_128,_1,_16),(_64,_8,_512))",
    "SM90::GMMA::ABLayout<64, 16>": "(_128,(_64,_16)):(_0,(_1,_64))",
}  # fmt: skip
TREE = """#include <cute/tensor.hpp>
using namespace cute;
struct Op {};
template <class T> struct Typed {};
struct Ldsm : SM75_U32x4_LDSM_N {};
namespace cute {
template <> struct MMA_Traits<Op> : MMA_Traits<SM80_16x8x16_F32F16F16F32_TN> {};
template <class T> struct MMA_Traits<Typed<T>> {
  using ValTypeD = float; using ValTypeA = T; using ValTypeB = T; using ValTypeC = float;
  using Of = MMA_Traits<SM80_16x8x16_F32F16F16F32_TN>;
  using Shape_MNK = typename Of::Shape_MNK; using ThrID = Layout<_32>;
  using ALayout = typename Of::ALayout; using BLayout = typename Of::BLayout; using CLayout = SM80_16x8_Row;
};
template <> struct Copy_Traits<Ldsm> : Copy_Traits<SM75_U32x4_LDSM_N> {};
}
using Site = VALUE;
"""


def _printed(tmp_path: Path, value: str) -> str:
    (tmp_path / "k.cu").write_text(TREE.replace("VALUE", value))
    (site,) = (s for s in extract(ExtractRequest((tmp_path,), ("sm_90a",))).sites if s.symbol == "Site")
    return show(site.value) if site.status == "resolved" else str(site.reason)


@pytest.mark.parametrize("name", NAMED)
def test_layouts_of_traits_by_their_names(name: str) -> None:
    assert show(evaluate(f"{name}{{}}")) == NAMED[name]


@pytest.mark.parametrize(
    "value",
    [
        "decltype(make_tiled_mma(Op{}, Layout<Shape<_2, _2>>{}))",
        "decltype(make_tiled_mma(Typed<half_t>{}, Layout<Shape<_2, _2>>{}))",
        "TiledMMA<MMA_Atom<MMA_Traits<Typed<bfloat16_t>>>, Layout<Shape<_2, _2, _1>>>",
    ],
)
def test_operations_of_the_tree_are_given_as_objects(value: str, tmp_path: Path) -> None:
    shown = _printed(tmp_path, value)
    assert "(_32,_2,_2,_1):(_1,_32,_64,_0)" in shown
    assert "((_4,_8),(_2,_2)):((_32,_1),(_16,_8))" in shown


def test_a_copy_for_an_mma_of_the_tree(tmp_path: Path) -> None:
    shown = _printed(tmp_path, "decltype(make_tiled_copy_A(Copy_Atom<Ldsm, half_t>{}, make_tiled_mma(Op{})))")
    assert "((_4,_8),((_2,_2,_2),(_1,_1))):((_32,_1),((_16,_8,_128),(_0,_0)))" in shown


def test_fragments_in_shared_memory_derive_from_the_iterator_of_their_descriptors(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("""#include <cute/tensor.hpp>
using namespace cute;
template <class Op, class M = TiledMMA<MMA_Atom<Op>, Layout<Shape<_1, _1, _1>>>, class G = GMMA::DescriptorIterator>
struct Asks { using A = typename M::FrgTypeA; using U = cute::UMMA::DescriptorIterator;
  using L = Layout<Shape<Int<is_base_of<G, A>::value>, Int<is_base_of_v<G, typename M::FrgTypeB>>,
                         Int<is_base_of_v<U, A>>, Int<is_same_v<half_t, A>>>, Stride<_1, _1, _1, _1>>; };
using a = Asks<SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>>::L;
using b = Asks<SM90_64x64x16_F16F16F16_RS<GMMA::Major::K, GMMA::Major::K>>::L;
using c = Asks<SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>>::L;
using d = Asks<SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>>::L;
""")
    found = {s.symbol: show(s.value) for s in extract(ExtractRequest((tmp_path,), ("sm_100a",))).sites if s.value}
    shown = [found[name].partition(":")[0] for name in "abcd"]
    assert shown == ["(_1,_1,_0,_0)", "(_0,_1,_0,_1)", "(_0,_0,_1,_0)", "(_0,_0,_0,_0)"]
