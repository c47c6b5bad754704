"""Looking atoms up: names, aliases, template arguments, formulas, refusals."""

import subprocess
import sys

import pytest

from cutecheck.model.atoms import (
    UnknownAtomError,
    atom_names,
    atom_record,
    copy_op,
    cutlass_version,
    element_type,
    full_arguments,
    is_copy_op,
    is_mma_op,
    mma_op,
)
from cutecheck.model.dtype import DType
from cutecheck.model.ints import CuteError
from cutecheck.model.notation import parse, show

HALF, FLOAT = DType("half_t", 16), DType("float", 32)


def test_the_table_holds_every_specialisation_of_cutlass_4_7():
    assert cutlass_version() == "4.7.0"
    assert len(atom_names("mma")) + len(atom_names("copy")) == len(atom_names()) == 2483
    assert len(atom_names("copy")) == 228


def test_every_plain_entry_parses_and_names_an_instruction():
    silent = []
    for name in atom_names():
        record = atom_record(name)
        if any("{" in value for _, value in record.fields) or "UMMA" in str(record.fields):
            continue  # a template: its formulas
        for key, value in record.fields:
            if "Layout" in key or key in ("ThrID", "Shape_MNK", "ValID"):
                assert show(parse(value)) == value
        if not record.ptx:
            silent.append(name)
    assert silent == [
        "AutoVectorizingCopyWithAssumedAlignment",
        "SM100_1x2x1_F32F32F32F32",
        "SM100_2x1x1_F32F32F32F32",
        "SM50_Shuffle_U32_2x2Trans_XOR1",
        "SM50_Shuffle_U32_2x2Trans_XOR4",
        "SM90_BULK_COPY_AUTO",
        "UniversalFMA",
    ]


def test_a_warp_level_mma():
    atom = mma_op("cute::SM80_16x8x16_F32BF16BF16F32_TN")
    assert str(atom.a_tv) == "((_4,_8),(_2,_2,_2)):((_32,_1),(_16,_8,_128))"
    assert [t.name for t in atom.val_types] == ["bfloat16_t", "bfloat16_t", "float", "float"]
    assert atom.ptx == ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",)
    assert (atom.arch, atom.kind) == ("sm_80", "mma")


@pytest.mark.parametrize(
    "name",
    ["SM90_64x128x16_F32F16F16_SS", "GMMA::MMA_64x128x16_F32F16F16_SS", "SM90::GMMA::MMA_64x128x16_F32F16F16_SS"],
)
def test_gmma_names_resolve_through_aliases_and_using_directives(name):
    atom = mma_op(name, ("GMMA::Major::K", "cute::SM90::GMMA::Major::MN"))
    assert atom.op == "SM90::GMMA::MMA_64x128x16_F32F16F16_SS"
    assert atom.frg_types == ("SM90::GMMA::smem_desc<GMMA::Major::K>", "SM90::GMMA::smem_desc<GMMA::Major::MN>", "")
    assert (atom.kind, atom.targets) == ("wgmma", ("sm_90a",))
    assert str(atom.b_tv) == "(_128,(_128,_16)):(_0,(_1,_128))"


def test_templated_copies_follow_their_types():
    atom = copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (DType("uint128_t", 128),), HALF)
    assert str(atom.val_layout_src) == "(_1,_8):(_0,_1)"
    assert str(atom.src_bits) == "(_1,_128):(_0,_1)"
    mixed = copy_op("UniversalCopy", (DType("uint64_t", 64), FLOAT), DType("uint8_t", 8))
    assert (mixed.num_val_src, mixed.num_val_dst) == (8, 4)


def test_aliases_of_instantiations_carry_their_arguments():
    atom = copy_op("AutoVectorizingCopy", (), FLOAT)
    assert (atom.op, atom.args) == ("AutoVectorizingCopyWithAssumedAlignment", (128,))
    assert copy_op("DefaultCopy", (), FLOAT).args == (8,)
    assert str(atom.val_layout_ref) == "(_1,_1):(_0,_0)"


def test_umma_follows_its_tile_and_types():
    args = (HALF, HALF, FLOAT, 128, 256, "UMMA::Major::K", "UMMA::Major::MN")
    atom = mma_op("SM100_MMA_F16BF16_2x1SM_SS", args)
    assert show(atom.shape_mnk) == "(_128,_256,_16)"
    assert str(atom.c_tv) == "(_2,(_64,_256)):(_64,(_1,_128))"
    assert atom.frg_types[1] == "UMMA::smem_desc<UMMA::Major::MN>"
    assert atom.kind == "umma"


def test_cases_are_told_apart_by_their_arguments():
    e2m1, sf = DType("float_e2m1_t", 4), DType("float_ue8m0_t", 8)
    args = [e2m1, e2m1, FLOAT, sf, 128, 128, 32, "UMMA::Major::K", "UMMA::Major::K"]
    small = dict(atom_record("SM100_MMA_MXF4_2x1SM_SS", tuple(args)).fields)["FrgTypeSFA"]
    args[4] = 256
    large = dict(atom_record("SM100_MMA_MXF4_2x1SM_SS", tuple(args)).fields)["FrgTypeSFA"]
    assert (small[-5:], large[-5:]) == ("2by2>", "4by1>")


def test_specialisations_by_type_are_preferred():
    half2 = DType("complex<half_t>", 32)
    args = (half2, half2, FLOAT, 128, 128, "UMMA::Major::K", "UMMA::Major::K", 0)
    assert show(mma_op("SM100_MMA_F16BF16_SS_SCALED", args).shape_mnk) == "(_128,_128,_8)"
    args = (HALF, HALF, *args[2:])
    assert show(mma_op("SM100_MMA_F16BF16_SS_SCALED", args).shape_mnk) == "(_128,_128,_16)"


def test_ptx_names_the_types():
    args = (DType("float_e4m3_t", 8), DType("float_e2m1_t", 4), FLOAT)
    assert mma_op("SM120_16x8x32_TN", args).ptx[0].endswith("m16n8k32.row.col.f32.e4m3.e2m1.f32")


def test_sparse_elements_have_the_width_of_their_share():
    assert element_type("sparse_elem<2,half_t>") == DType("sparse_elem<2,half_t>", 8)
    assert element_type("sparse_elem<4,float_e2m3_t>") == DType("sparse_elem<4,float_e2m3_t>", None)


@pytest.mark.parametrize(
    ("name", "args"),
    [("SM80_16x8x17_F32F16F16F32_TN", ()), ("SM80_CP_ASYNC_CACHEGLOBAL", ()), ("UniversalCopy", ("Foo",))],
)
def test_what_is_not_in_the_table_is_refused(name, args):
    with pytest.raises(UnknownAtomError):
        copy_op(name, args, HALF)
    with pytest.raises(UnknownAtomError):
        mma_op(name, args)


def test_an_element_wider_than_the_copy_is_refused_as_cute_does():
    with pytest.raises(CuteError, match="not valid for Dst"):
        _ = copy_op("SM75_U32x1_LDSM_N", (), DType("uint128_t", 128))


def test_kinds():
    assert is_mma_op("SM70_8x8x4_F32F16F16F32_NT") and not is_copy_op("SM70_8x8x4_F32F16F16F32_NT")
    assert is_copy_op("DefaultCopy") and is_copy_op("SM100_TMEM_LOAD_32dp32b8x") and not is_mma_op("half_t")
    kinds = {n: atom_record(n).kind for n in ("SM75_U32x4_LDSM_N", "SM90_U32x4_STSM_N", "SM100_TMEM_STORE_32dp32b8x")}
    assert list(kinds.values()) == ["ldmatrix", "stmatrix", "tmem_store"]
    assert atom_record("SM90_TMA_LOAD", (4096, "Aux")).kind == "tma"


def test_import_reads_no_table():
    code = "import sys, cutecheck.model.atoms.table as t; sys.exit(t._lines.cache_info().currsize)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_may_carry_arguments_and_traits():
    majors = "UMMA::Major::K, UMMA::Major::K"
    text = f"cute::MMA_Traits<cute::SM100_MMA_F16BF16_SS<cutlass::half_t, cutlass::half_t, float, 128, 64, {majors}> >"
    assert dict(atom_record(text).fields)["Shape_MNK"] == "(_128,_64,_16)"
    assert is_mma_op("SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>")
    assert dict(atom_record("Copy_Traits<SM90_TMA_LOAD, C<4096>, int>").fields)["SrcLayout"] == "(_1,_4096):(_0,_1)"


def test_the_bare_name_of_a_template_gives_its_formulas():
    fields = dict(atom_record("SM100_MMA_MXF4_2x1SM_SS").fields)
    assert fields["Shape_MNK"] == "(_M,_N,_64)"
    assert fields["ALayout"] == "(_2,(_{M/2},_64)):(_{M/2},(_1,_M))"
    assert fields["ValTypeA"] == "a_type" and "FrgTypeSFA" not in fields
    gmma = dict(atom_record("SM90_64x64x16_F32F16F16_SS").fields)
    assert gmma["FrgTypeA"] == "SM90::GMMA::smem_desc<tnspA>"
    with pytest.raises(UnknownAtomError, match="takes template arguments"):
        mma_op("SM90_64x64x16_F32F16F16_SS")


def test_arguments_that_are_missing_give_no_others() -> None:
    assert full_arguments("UniversalCopy", ()) == ("UniversalCopy", ())
    assert full_arguments("UniversalCopy", ("float",)) == ("UniversalCopy", ("float", "float"))
