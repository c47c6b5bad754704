"""The pictures beside those of ``cute::print_latex`` of real headers: same cells, same places, same colours."""

from __future__ import annotations

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.model.picture import picture
from cutecheck.report import picture_latex
from cutecheck.source.evaluate import evaluate
from cutecheck.tests.report.print_latex import grids, nodes, print_latex

HEADERS = find_headers()

_MMA = "SM80_16x8x16_F32F16F16F32_TN"
_TILED = f"make_tiled_mma({_MMA}{{}}, Layout<Shape<_2,_2,_1>>{{}}, Tile<_32,_32,_16>{{}})"
_PERMUTED = (
    f"make_tiled_mma({_MMA}{{}}, Layout<Shape<_1,_2,_1>>{{}}, Tile<_16,Layout<Shape<_2,_8>,Stride<_8,_1>>,_16>{{}})"
)
CASES = {
    "layout": "make_layout(Shape<Shape<_2,_4>,Shape<_3,_2>>{}, Stride<Stride<_1,_6>,Stride<_2,_24>>{})",
    "rank 1": "make_layout(_6{}, _3{})",
    "swizzle": "composition(Swizzle<2,1,3>{}, make_layout(Shape<_8,_8>{}, LayoutRight{}))",
    "swizzle of bytes": "GMMA::Layout_K_SW64_Atom<half_t>{}",
    "atom": f"MMA_Atom<{_MMA}>{{}}",
    "tiled": _TILED,
    "permuted": _PERMUTED,
    "transposed": "make_tiled_mma(SM70_8x8x4_F32F16F16F32_NT{}, Layout<Shape<_2,_2>,Stride<_2,_1>>{})",
    "warpgroup": "MMA_Atom<SM90_64x16x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K>>{}",
    "copy": "make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, "
    "Layout<Shape<_8,_4>,Stride<_4,_1>>{}, Layout<Shape<_1,_8>>{})",
    "ldmatrix": f"make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{{}}, {_TILED})",
    "ldmatrix transposed": f"make_tiled_copy_B(Copy_Atom<SM75_U16x4_LDSM_T, half_t>{{}}, {_TILED})",
    "layout as tiler": "make_tiled_copy_impl(Copy_Atom<UniversalCopy<half_t>, half_t>{}, "
    "Layout<Shape<_4,_4>>{}, make_tile(Layout<_4,_2>{}, Layout<_4,_1>{}))",
}
TV = ("Layout<Shape<Shape<_4,_8>,Shape<_2,_2>>,Stride<Stride<_32,_1>,Stride<_16,_8>>>{}", (16, 8))


@pytest.mark.skipif(isinstance(HEADERS, NoHeaders), reason=getattr(HEADERS, "reason", ""))
def test_cells_are_those_of_print_latex() -> None:
    assert not isinstance(HEADERS, NoHeaders)
    m, n = TV[1]
    over_tile = f"composition(make_identity_tensor(Shape<Int<{m}>,Int<{n}>>{{}}), {TV[0]})"
    statements = [f"print_latex({e});" for e in CASES.values()]
    statements.append(f"print_latex_tv({over_tile}, Shape<Int<{m}>,Int<{n}>>{{}});")
    *theirs, their_tv = print_latex(HEADERS, statements)
    for (name, expression), expected in zip(CASES.items(), theirs, strict=True):
        ours = picture_latex.render(picture(evaluate(expression)))
        assert len(nodes(expected)) > 5, name
        assert nodes(ours) == nodes(expected), name
        assert sorted(grids(ours)) == sorted(grids(expected)), name
    assert nodes(picture_latex.render(picture(evaluate(TV[0]), TV[1]))) == nodes(their_tv)
