"""Tensor-memory fragments and copies, and descriptors; expected texts are what CuTe 4.7 prints."""

import pytest

from cutecheck.model.algebra import layout, shape, tile_to_shape
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.notation import parse, show
from cutecheck.model.tiled import make_tiled_mma, make_tmem_copy, make_tmem_warp_partitioner, make_utccp_copy
from cutecheck.model.tiled.descriptors import smem_descriptor
from cutecheck.model.tiled.smem_atoms import smem_layout_atom
from cutecheck.model.tiled.tmem import dp_stride, tmem_fragment

HALF = DType("half_t", 16)


def umma(op, a, c, m, n):
    args = (dtype(a), dtype(a), dtype(c), m, n, "UMMA::Major::K", "UMMA::Major::K")
    return make_tiled_mma(mma_op(op, args))


@pytest.mark.parametrize(
    ("op", "c", "tile", "extents", "printed"),
    [
        ("SM100_MMA_F16BF16_SS", "float", (128, 128), (256, 256), "((_128,_128),_2,_2):((_65536,_1),_128,_256)"),
        (
            "SM100_MMA_F16BF16_SS", "half_t", (64, 96), (128, 192),
            "(((_16,_4),_96),_2,_2):(((_131072,_4194304),_2),_2097152,_192)",
        ),
        (
            "SM100_MMA_F16BF16_2x1SM_SS", "float", (128, 256), (256, 256),
            "((_64,(_128,_2)),_2,_1):((_65536,(_1,_4194304)),_128,_0)",
        ),
        (
            "SM100_MMA_F16BF16_TS", "float", (64, 32), (128, 64),
            "(((_16,_4),_32),_2,_2):(((_65536,_2097152),_1),_32,_64)",
        ),
    ],
)  # fmt: skip
def test_accumulators_in_tensor_memory(op, c, tile, extents, printed):
    assert str(umma(op, "half_t", c, *tile).partition_fragment_C(extents)) == printed


@pytest.mark.parametrize(
    ("kind", "extents", "printed"),
    [
        (
            "UMMA::tmem_sf_frg<float_ue8m0_t,32,1,true,UMMA::TmemAllocMode::ScaleFactorDuplicated4by1>",
            ((128, (32, 4)), 2, 4),
            "((((_32,_4),_4),(_32,_4)),_2,_4):((((_262144,_4),_8388608),(_0,_1)),_16,_32)",
        ),
        (
            "UMMA::tmem_sf_frg<float_ue8m0_t,16,2,false,UMMA::TmemAllocMode::ScaleFactorDuplicated2by2>",
            ((256, (16, 4)), 1, 2),
            "((((_32,_4),_2,_2),(_16,_4)),_1,_2):((((_262144,_4),_16777216,_8388608),(_0,_1)),_0,_16)",
        ),
        (
            "UMMA::tmem_e_frg<half_t>",
            ((128, 32), 2, 2),
            "(((_8,_2,_8),(_16,_2)),_2,_2):(((_2097152,_16,_33554432),(_1,_16777216)),_32,_64)",
        ),
        (
            "UMMA::tmem_e_frg<tfloat32_t>",
            ((128, 16), 1, 2),
            "(((_8,_2,_8),(_8,_2)),_1,_2):(((_1048576,_8,_16777216),(_1,_8388608)),_0,_16)",
        ),
        ("UMMA::tmem_e_frg<uint8_t>", ((128, 64), 1, 2), "((_128,_64),_1,_2):((_2097152,_1),_0,_64)"),
        ("UMMA::tmem_e_frg<float_e2m1_t>", ((128, 128), 1, 2), "((_128,_128),_1,_2):((_4194304,_1),_0,_128)"),
    ],
)
def test_scale_factors_and_metadata(kind, extents, printed):
    assert str(tmem_fragment(kind, extents)) == printed


def test_copies_out_of_and_into_tensor_memory():
    accumulator = parse("((_128,_128),_2,_2):((_65536,_1),_128,_256)")
    copy = make_tmem_copy(copy_op("SM100_TMEM_LOAD_32dp32b8x", (), DType("float", 32)), accumulator, 32)
    assert show(copy.tiler_mn) == "((_32,_32):(_32,_1),_1:_0,_1:_0)"
    assert str(copy.layout_tv) == "((_32,_4),(_8,_32)):((_0,_1),(_4,_32))"
    warps, tiler = make_tmem_warp_partitioner(accumulator, 32)
    assert (str(warps), show(tiler)) == ("_4:_1", "(_4:_32,_1:_0,_1:_0)")
    scales = parse("((((_32,_4),_4),(_1,_4)),_1,_1):((((_262144,_4),_8388608),(_0,_1)),_0,_0)")
    utccp = make_utccp_copy(copy_op("SM100_UTCCP_4x32dp128bit_1cta", (), DType("float_ue8m0_t", 8)), scales, 8)
    assert str(utccp.layout_tv) == "(_1,(_32,(_4,_4),_4)):(_0,(_1,(_32,_128),_512))"
    with pytest.raises(CuteError, match="same type-width"):
        make_tmem_copy(copy_op("SM100_TMEM_LOAD_32dp32b8x", (), HALF), accumulator, 32)
    with pytest.raises(CuteError, match="no ValID"):
        make_tmem_copy(copy_op("SM75_U32x4_LDSM_N", (), DType("float", 32)), accumulator, 32)


def test_tensor_memory_is_finite():
    with pytest.raises(CuteError, match="more TMEM than is available"):
        umma("SM100_MMA_F16BF16_SS", "half_t", "float", 128, 256).partition_fragment_C((256, 1024))
    with pytest.raises(CuteError, match="divides 32"):
        dp_stride(6)


def test_descriptors_state_the_canonical_layouts():
    for span, name in (("SW128", "128B"), ("SW64", "64B"), ("SW32", "32B"), ("INTER", "INTERLEAVE")):
        for major in ("K", "MN"):
            tile = tile_to_shape(smem_layout_atom(major, span, HALF), (64, 64))
            part, _ = (
                make_tiled_mma(mma_op("SM90_64x64x16_F32F16F16_SS", (f"GMMA::Major::{major}", "GMMA::Major::K")))
                .get_slice(0)
                .partition_A(tile)
            )
            descriptor = smem_descriptor(layout(part, 0), f"GMMA::Major::{major}", 16)
            assert descriptor.layout_type == name
    assert (descriptor.stride_byte_offset, descriptor.leading_byte_offset) == (8, 64)


@pytest.mark.parametrize(
    ("operand", "gist"),
    [
        ("(_64,_16):(_64,_1)", "Not a canonical GMMA_K Layout: Expected stride"),
        ("Sw<3,3,3> o _0 o (_64,_16):(_64,_1)", "Unsupported layout swizzle"),
        ("Sw<3,4,4> o smem_ptr[16b](unset) o (_64,_16):(_64,_1)", "Unsupported layout swizzle"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_16):(_72,_1)", "Not a canonical GMMA_K Layout: Expected stride"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_32):(_64,_1)", None),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_64,_48):(_64,_1)", "Expected K-size 2 for dense"),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o (_60,_16):(_64,_1)", "multiple of 8"),
    ],
)
def test_descriptors_refuse_what_they_cannot_state(operand, gist):
    if gist is None:
        assert smem_descriptor(parse(operand), "K", 16).layout_type == "128B"
        return
    with pytest.raises(CuteError, match=gist):
        smem_descriptor(parse(operand), "K", 16)


def test_fragments_of_shared_memory_are_descriptors():
    mma = make_tiled_mma(mma_op("SM90_64x64x16_F32F16F16_SS", ("GMMA::Major::K", "GMMA::Major::K")))
    tile = tile_to_shape(smem_layout_atom("K", "SW128", HALF), (128, 64))
    part, _ = mma.get_slice(0).partition_A(tile)
    assert show(shape(mma.get_slice(0).make_fragment("A", part, 16))) == "(_1,_2,_4)"
    plain, _ = mma.get_slice(0).partition_A(Layout((128, 64), (64, 1)))
    with pytest.raises(CuteError, match="Not a canonical"):
        mma.get_slice(0).make_fragment("A", plain, 16)
    known = mma.get_slice(0).make_fragment("A", mma.get_slice(0).partition_A(tile.b)[0], 16, Swizzle(3, 4, 3))
    assert str(known) == "(_1,_2,_4):(_0,_512,_2)"
