"""TMA copies: atoms, boxes, coordinate tensors and partitions; expected texts are what CuTe 4.7 prints."""

from fractions import Fraction
from typing import Any, cast

import pytest

from cutecheck.model.algebra import group_modes, make_layout, slice, tile_to_shape, zipped_divide
from cutecheck.model.atoms import mma_op
from cutecheck.model.basis import ScaledBasis, X
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Domain, var
from cutecheck.model.ints import CuteError, Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.notation import parse, show
from cutecheck.model.tiled import make_tiled_mma
from cutecheck.model.tiled.smem_atoms import smem_layout_atom, tile_to_mma_shape
from cutecheck.model.tiled.tma import (
    UnsupportedTmaError,
    make_tma_atom,
    make_tma_atom_sm100,
    make_tma_copy,
    make_tma_copy_sm90,
    tma_partition,
)

HALF, FLOAT = DType("half_t", 16), DType("float", 32)
GMEM = parse("(512,256):(256,_1)")
STAGES = tile_to_shape(smem_layout_atom("K", "SW128", HALF), (128, 64, 3))
STAGE = slice((X, X, 0), STAGES)


def test_a_row_major_tile():
    copy = make_tma_copy("SM90_TMA_LOAD", parse("(1024,256):(256,_1)"), FLOAT, parse("(_64,_32):(_32,_1)"))
    assert str(copy.layout_tv) == "(_1,(((_32,_64),_1))):(_0,(((_64,_1),_0)))"
    assert show(copy.tiler_mn) == "(_64,_32)"
    tensor_map = copy.atom.tensor_map
    assert (tensor_map.box, str(tensor_map.basis)) == ((32, 64), "(_32,_64):(_1@1,_1@0)")
    assert show(tensor_map.tensor_stride) == "(_1@1,_1@0)"
    assert tensor_map.violations() == ()


def test_a_swizzled_tile_is_cut_to_the_swizzle_span():
    smem = tile_to_shape(smem_layout_atom("MN", "SW128", HALF), (128, 64))
    copy = make_tma_copy("SM90_TMA_LOAD", parse("(1024,256):(_1,1024)"), HALF, smem)
    assert str(copy.layout_tv) == "(_1,(((_64,_8),(_2,_8)))):(_0,(((_1,_128),(_64,_1024))))"
    assert str(copy.atom.val_layout_ref) == "(_1,_512):(_0,_1)"
    assert copy.atom.tensor_map.box == (64, 8)


def test_multicast_shares_the_box():
    copy = make_tma_copy_sm90(
        "A", "SM90_TMA_LOAD_MULTICAST", GMEM, HALF, STAGE, cta_tiler_mnk=(128, 128, 64), cluster_mnk=(1, 2, 1)
    )
    assert copy.num_thr == 2
    assert copy.atom.tensor_map.box == (64, 64)


def test_partitioning_for_one_cta():
    atom = make_tma_atom("SM90_TMA_LOAD", GMEM, HALF, STAGE, (128, 64))
    tile = slice(((X, X), (0, X)), zipped_divide(atom.tensor_map.coordinates(GMEM.shape), (128, 64)))
    assert str(tile) == "(_128,_64,4):(_1@1,_1@0,_64@0)"
    operands = (group_modes(STAGES.b, 0, 2), group_modes(tile, 0, 2))
    (gmem, start), (smem, first) = tma_partition(atom, 0, make_layout(1), *operands)
    assert (show(start), show(first)) == ("(_0,_0)", "_0")
    assert str(smem).startswith("((_8192,_1)") and str(gmem).startswith("(((_64,_128),_1)")
    shared = make_tma_atom("SM90_TMA_LOAD_MULTICAST", GMEM, HALF, STAGE, (128, 64), cluster_size=2)
    (_, start), (_, first) = tma_partition(shared, 1, make_layout(2), *operands)
    assert (show(start), show(first)) == ("(_0,_64)", "_4096")


def test_umma_operands():
    args = (HALF, HALF, FLOAT, 256, 128, "UMMA::Major::K", "UMMA::Major::K")
    mma = make_tiled_mma(mma_op("SM100_MMA_F16BF16_2x1SM_SS", args))
    smem = tile_to_mma_shape(smem_layout_atom("K", "SW128", HALF), mma.partition_shape("A", (256, 64)))
    atom = make_tma_atom_sm100(
        "A", "SM100_TMA_2SM_LOAD_MULTICAST", GMEM, HALF, smem, mma_tiler=(256, 128, 64), mma=mma,
        cluster_vmnk=make_layout((2, 2, 2, 1)),
    )  # fmt: skip
    assert atom.tensor_map.box == (64, 64)
    assert str(atom.tensor_map.basis) == "(_64,_128):(_1@1,_1@0)"


def test_run_time_strides_stay_in_the_map():
    gmem = Layout((Dyn(var("M")), Dyn(var("K"))), (Dyn(var("lda")), 1))
    tensor_map = make_tma_atom("SM90_TMA_LOAD", gmem, HALF, STAGE, (128, 64)).tensor_map
    assert as_expr(tensor_map.gmem_stride_bytes[1]).evaluate({"lda": 100}) == 200
    assert tensor_map.violations() == ()
    odd = make_tma_atom("SM90_TMA_LOAD", parse("(512,100):(100,_1)"), HALF, STAGE, (128, 64)).tensor_map
    assert odd.violations() == ("stride 200 bytes of mode 1 is no multiple of 16",)
    wide = make_tma_atom("SM90_TMA_LOAD", GMEM, HALF, parse("(_1,_512):(_512,_1)"), (1, 512)).tensor_map
    assert wide.violations() == ("box extent 512 of mode 0 exceeds 256",)


def test_what_a_tensor_map_cannot_state():
    with pytest.raises(CuteError, match="size equivalence"):
        make_tma_atom("SM90_TMA_LOAD", GMEM, HALF, STAGE, (64, 64))
    with pytest.raises(CuteError, match="Unsupported layout swizzle"):
        make_tma_copy("SM90_TMA_LOAD", GMEM, HALF, parse("Sw<3,3,3> o _0 o (_128,_64):(_64,_1)"))
    with pytest.raises(CuteError, match="common tile-gmem vectorization"):
        make_tma_copy("SM90_TMA_LOAD", GMEM, HALF, parse("(_64,_64):(_64,_1)"), cta_tiler=(64, Layout(64, 2)))
    with pytest.raises(UnsupportedTmaError):
        make_tma_copy("SM90_TMA_LOAD_IM2COL", GMEM, HALF, STAGE)


@pytest.mark.parametrize(("ratio", "number", "product"), [((1, 2), 7, 3), ((3, 2), 5, 7), ((1, 4), 8, 2)])
def test_a_run_time_coordinate_times_a_fraction_is_cut_off(ratio: tuple[int, int], number: int, product: int) -> None:
    step = ScaledBasis(cast(Any, Fraction(*ratio)), (0,))
    made = step * Dyn.named("c", Domain(0, 100))
    assert as_expr(made.value).evaluate({"c": number}) == product == number * ratio[0] // ratio[1]
    assert step * 8 == ScaledBasis(8 * ratio[0] // ratio[1], (0,))
