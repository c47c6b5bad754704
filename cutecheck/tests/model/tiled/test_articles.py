"""What the articles and the warp-level MMA guide show, built through the model, to the letter."""

import json
from pathlib import Path

from cutecheck.model.algebra import make_layout, shape, tile_to_shape
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import DType
from cutecheck.model.layout import Layout
from cutecheck.model.notation import parse, show
from cutecheck.model.tiled import make_tiled_copy, make_tiled_mma

CASES = json.loads((Path(__file__).parents[2] / "data" / "cpp_articles.json").read_text())["cases"]
HALF = DType("half_t", 16)
U128 = DType("uint128_t", 128)
M16816 = mma_op("SM80_16x8x16_F32F16F16F32_TN")
DMMA = mma_op("SM80_8x8x4_F64F64F64F64_TN")
QUAD = mma_op("SM70_8x8x4_F32F16F16F32_NT")
FMA = mma_op("UniversalFMA", (DType("float", 32),) * 3)
FOUR, TWO_TWO = make_layout((4, 1, 1)), make_layout((2, 2, 1))
A_TILE = make_layout((128, 32))


def cp_async(cache):
    return copy_op(f"SM80_CP_ASYNC_CACHE{cache}", (U128,), HALF)


def fragment(mma, operand):
    return show(shape(mma.get_slice(0).partition_fragment(operand, A_TILE)))


def built():
    """The values of the cases, in the order of the file."""
    yield str(make_tiled_copy(cp_async("ALWAYS"), parse("(_16,_8):(_1,_16)"), parse("(_8,_1):(_1,_8)")))
    yield str(mma_op("SM80_16x8x8_F32F16F16F32_TN"))
    yield str(make_tiled_mma(DMMA))
    yield str(make_tiled_mma(DMMA, make_layout((1, 1, 1)), (8, 16, 8)))
    yield str(make_tiled_mma(DMMA, make_layout((1, 1, 1)), (8, Layout((2, 4, 2), (1, 4, 2)), 8)))
    yield str(make_tiled_mma(FMA, make_layout((16, 16, 1))))
    yield str(parse("(2,(4,2)):(1,(4,2))"))
    yield fragment(make_tiled_mma(M16816, FOUR), "A")
    yield fragment(make_tiled_mma(M16816, FOUR), "B")
    yield show(make_tiled_mma(M16816, FOUR).tile_shape)
    wide = make_tiled_mma(M16816, FOUR, (64, 16, 16))
    yield show(wide.tile_shape)
    yield fragment(wide, "B")
    yield str(make_tiled_copy(cp_async("GLOBAL"), make_layout((16, 2)), make_layout((1, 8))))
    square = make_tiled_mma(M16816, TWO_TWO, (32, 32, 16))
    yield str(square)
    yield fragment(square, "A")
    yield fragment(square, "B")
    yield show(shape(square.partition_fragment_C((128, 128))))
    quads = make_tiled_mma(QUAD, Layout((2, 2), (2, 1)), (Layout((4, 4, 2), (1, 8, 4)), 32, 4))
    yield str(quads)
    yield str(quads.get_layoutA_TV())
    yield str(tile_to_shape(parse("Sw<2,3,3> o _0 o (_8,_32):(_32,_1)"), (128, 32, 4)))
    yield str(tile_to_shape(parse("Sw<3,3,3> o _0 o (_64,_8):(_1,_64)"), (128, 32, 4)))


def test_every_case_prints_as_cute_does():
    values = list(built())
    assert len(values) == len(CASES)
    for case, text in zip(CASES, values, strict=True):
        assert text == case["printed"], case["expr"]
