"""Blackwell through the DSL: MMAs, scale factors, tensor memory and TMA, as nvidia-cutlass-dsl 4.8.1 computes them."""

from __future__ import annotations

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cutecheck.model import algebra as alg
from cutecheck.model import tiled
from cutecheck.model.basis import ScaledBasis, X, whole
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.ints import Dyn, NotModelledError
from cutecheck.model.layout import Layout
from cutecheck.model.notation_dsl import parse_dsl, show_dsl
from cutecheck.model.tiled.scale_factors import tmem_layout_sf
from cutecheck.model.tiled.tma import make_tma_atom_sm100, tma_partition
from cutecheck.source.dsl.extract import default_archs
from cutecheck.source.eval.intrinsics import dsl_ops, dsl_tiled
from cutecheck.source.eval.intrinsics.dsl_legality import illegal
from cutecheck.source.eval.intrinsics.dsl_show import NAMES, show
from cutecheck.source.eval.values import EnumVal, ScalarType
from cutecheck.tests.source.dsl.run import HEAD, driver, results, sites, variables

DATA: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "dsl_blackwell.json").read_text())
TYPES = {names[0]: ScalarType(dtype(cutlass) or DType(cutlass, 128)) for cutlass, names in NAMES.items()}
RENAMED = {"instruction_shape": "shape_mnk", "ab_dtype": "a_dtype"}


def _value(text: str) -> Any:
    if text in TYPES:
        return TYPES[text]
    return EnumVal(*text.split("."), None) if "." in text else ast.literal_eval(text)  # type: ignore[call-arg]


@pytest.mark.parametrize("name, recorded, type_, atom, tiled_layouts", DATA["mma"])
def test_an_mma_is_what_the_dsl_makes_of_it(
    name: str, recorded: dict[str, str], type_: str, atom: str, tiled_layouts: str
) -> None:
    fields = {k: _value(v) for k, v in recorded.items()}
    module = "tcgen05" if "cta_group" in fields else "warp"
    given = {p: fields.get(p, fields.get(RENAMED.get(p, p))) for p, _ in dsl_ops.OPERATIONS[module, name]}
    op = dsl_ops.make_op(module, name, [], given)
    assert dict(op.fields) == fields
    made = show(tiled.make_tiled_mma(dsl_tiled._mma_atom(op), Layout((1, 1, 1), (0, 0, 0)), (X, X, X)))
    assert made["type"] == type_
    keys = ("thr_id", "shape_mnk", "tv_layout_A", "tv_layout_B", "tv_layout_C")
    assert " ".join(str(made[k]) for k in keys) == atom
    keys = ("tv_layout_A_tiled", "tv_layout_B_tiled", "tv_layout_C_tiled", "thr_layout_vmnk")
    assert " ".join(str(made[k]) for k in keys) == tiled_layouts


def test_scale_factors_in_tensor_memory() -> None:
    for operand, cta_m, smem, tmem in DATA["scale_factors"]:
        layout = parse_dsl(smem)
        assert isinstance(layout, Layout)
        assert show_dsl(tmem_layout_sf(layout, cta_m, operand)) == tmem, (operand, cta_m, smem)


def test_scale_factors_whose_rows_are_cut_otherwise() -> None:
    cut = parse_dsl("(((8,4,4),(16,4)),1,3):(((16,128,4),(0,1)),0,512)")
    assert show_dsl(tmem_layout_sf(cut, 128, "A")) == "((((32,4),4),(16,4)),1,3):((((262144,4),8388608),(0,1)),0,16)"  # type: ignore[arg-type]
    two = parse_dsl("(((32,4,2),(16,4)),1,3):(((16,4,1536),(0,1)),0,512)")
    assert show_dsl(tmem_layout_sf(two, 128, "B")) == "((((32,8),4),(16,4)),1,3):((((262144,4),8388608),(0,1)),0,32)"  # type: ignore[arg-type]
    with pytest.raises(NotModelledError):  # bytes of one column: the DSL splits its 24 blocks, (4,6):(1,16)
        tmem_layout_sf(parse_dsl("((((32,4),1),(16,1)),1,24):((((1,32),0),(128,0)),0,2048)"), 128, "A")  # type: ignore[arg-type]


KERNEL = (
    HEAD
    + """
from cutlass.cute.nvgpu import cpasync, tcgen05, OperandMajorMode


@cute.kernel
def kernel(mma: cute.TiledMma, atom: cute.CopyAtom, mA: cute.Tensor, layout: cute.ComposedLayout):
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float16, layout.outer, byte_alignment=128, swizzle=layout.inner)
    gA = cute.local_tile(mA, (128, 64), (bx, None))
    tAsA, tAgA = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2)
    )
    shared = cute.group_modes(tAsA, 0, 1)
    coordinates = cute.group_modes(tAgA, 0, 1)
    holder = smem.allocate_array(cutlass.Int32, 1)
    acc = mma.make_fragment_C(mma.partition_shape_C((128, 128)))
    ptr = cute.arch.retrieve_tmem_ptr(cutlass.Float32, alignment=16, ptr_to_buffer_holding_addr=holder)
    tC = cute.make_tensor(ptr, acc.layout)
    tile = cute.flat_divide(tC[((None, None), 0, 0)], (128, 32))
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), cutlass.Float32)
    copy = tcgen05.make_tmem_copy(load, tile[None, None, 0, 0])


@cute.jit
def host(mA: cute.Tensor):
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (128, 128, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM,
        OperandMajorMode.K, OperandMajorMode.K,
    )
    mma = cute.make_tiled_mma(op)
    swizzled = tcgen05.make_smem_layout_atom(tcgen05.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    staged = tcgen05.tile_to_mma_shape(swizzled, ((128, 16), 1, 4, 6), order=(1, 2, 3))
    sizes = cute.make_layout(staged.shape)
    layout = cute.tile_to_shape(swizzled, (128, 64, 6), order=(0, 1, 2))
    one = cute.slice_(layout, (None, None, 0))
    atom, coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), mA, one, (128, 64))
    kernel(mma, atom, coords, layout).launch(grid=(4, 4, 1), block=(128, 1, 1))


k = cute.sym_int(divisibility=8)
cute.compile(host, make_fake_tensor(cutlass.Float16, (cute.sym_int(), k), stride=(cute.sym_int64(divisibility=8), 1)))
"""
)


def test_descriptors_and_tensor_memory(tmp_path: Path) -> None:
    made = driver(tmp_path, KERNEL, arch="sm_100a")
    found = results(made)
    lines = KERNEL.split("\n")

    def of(text: str, call: str) -> Any:
        (value,) = found[next(i for i, line in enumerate(lines, 1) if text in line), call]
        return value["type"] if isinstance(value, dict) else value

    assert of("sizes = ", "make_layout").split(":")[0] == "((128,16),1,4,6)"
    assert of("shared = ", "group_modes") == (
        '!cute.memref<f16, smem, align<128>, S<3,4,3>, "(((8192,1)),(1,6)):(((1,0)),(0,8192))">'
    )
    assert of("coordinates = ", "group_modes") == (
        '!cute.coord_tensor<"(0,?{div=128})", "((((64,128),1)),?):((((1@0,1@1),0)),64@0)">'
    )
    assert of("tile = ", "flat_divide") == '!cute.memref<f32, tmem, align<16>, "(128,32,1,4):(65536,1,0,32)">'
    assert of("copy = ", "make_tmem_copy") == (
        "!cute.tiled_copy<!cute_nvgpu.atom.tmem_load<f32, 32 DP, 32 bit, x32>, "
        'layout_copy_tv = <"((32,4),(32,32)):((0,1),(128,4))">, tiler_mn = <"[(4,32):(32,1);32:1]">>'
    )


def test_a_warpgroup_in_a_comment_names_no_hopper() -> None:
    assert default_archs(b"from cutlass.cute.nvgpu import tcgen05\n# each warpgroup waits") == ("sm_100a",)
    both = b"from cutlass.cute.nvgpu import tcgen05\nfrom cutlass.cute.nvgpu import warpgroup"
    assert default_archs(both) == ("sm_90a", "sm_100a")
    assert default_archs(b"import cutlass.utils.blockscaled_layout as blockscaled_utils") == ("sm_100a",)
    assert default_archs(b"import cutlass\nTYPES = (cutlass.Float4E2M1FN, cutlass.Float16)") == ("sm_80",)


def test_the_descriptor_of_scale_factors_counts_words(tmp_path: Path) -> None:
    """Scale factors of 8 bits as 16-bit words: a step along K is half a coordinate, as the DSL has it."""
    kinds = {"shape_mnk": "(128, 128, 64)", "cta_group": "CtaGroup.ONE", "a_src": "OperandSource.SMEM",
             "a_major_mode": "OperandMajorMode.K", "b_major_mode": "OperandMajorMode.K", "a_dtype": "Float4E2M1FN",
             "b_dtype": "Float4E2M1FN", "acc_dtype": "Float32", "sf_dtype": "Float8E4M3FN",
             "sf_vec_size": "16"}  # fmt: skip
    fields = {k: _value(v) for k, v in kinds.items()}
    given = {p: fields.get(p, fields.get(RENAMED.get(p, p))) for p, _ in dsl_ops.OPERATIONS["tcgen05", "MmaMXF4NVF4Op"]}
    atom_of = dsl_tiled._mma_atom(dsl_ops.make_op("tcgen05", "MmaMXF4NVF4Op", [], given))
    mma = tiled.make_tiled_mma(atom_of, Layout((1, 1, 1), (0, 0, 0)), (X, X, X))
    gmem = parse_dsl("(((32,4),?),((16,4),?),(1,?)):(((16,4),?{div=512}),((0,1),512),(0,?{div=512}))")
    smem = parse_dsl("((((32,4),1),(16,4)),1,4):((((16,4),0),(0,1)),0,512)")
    word, scale = dtype("int16_t"), dtype("float_e4m3_t")
    assert isinstance(gmem, Layout) and scale is not None
    atom = make_tma_atom_sm100(
        "A", "SM90_TMA_LOAD", gmem, scale, smem, mma_tiler=(128, 128, 256), mma=mma, internal=word
    )  # type: ignore[arg-type]
    coords = atom.tensor_map.coordinates(gmem.shape)  # type: ignore[union-attr, attr-defined]
    assert show_dsl(coords) == "(((32,4),?),((16,4),?),(1,?)):(((8@0,2@0),1@2),((0,1/2@0),1@1),(0,1@3))"
    tile = parse_dsl("((((32,4),(16,4)),1,4),?):((((8@0,2@0),(0,1@0)),0,1@1),1@2)")
    half = ScaledBasis(whole(Fraction(1, 2)), (0,))
    tile = Layout(tile.shape, (((tile.stride[0][0][0], (0, half)), *tile.stride[0][1:]), *tile.stride[1:]))  # type: ignore[union-attr, index]
    staged = parse_dsl("(((((32,4),1),(16,4)),1,4),5):(((((16,4),0),(0,1)),0,512),2048)")
    columns = Layout(((16, 2, 4), Dyn.named("n")), ((0, ScaledBasis(16, (0,)), half), ScaledBasis(1, (1,))))
    divided = alg.logical_divide(columns, Layout(128, 1))
    assert str(divided) == "((_16,_2,_4),n):((_0,_16@0,1/2@0),_1@1)"  # as CuTe
    (global_, _), (shared, _) = tma_partition(atom, 0, Layout(1, 0), staged, tile)  # type: ignore[arg-type]
    assert show_dsl(shared) == "((2048,16),5):((1,0),2048)"
    assert show_dsl(global_) == "(((512,4),16),?):(((1/2@0,1@1),0),1@2)"


def test_an_mma_of_eight_columns() -> None:
    """The DSL has 128x8 (of tensor memory too), CuTe's traits ask for a multiple of 16."""
    kinds = {"shape_mnk": "(128, 8, 16)", "cta_group": "CtaGroup.ONE", "a_src": "OperandSource.TMEM",
             "a_major_mode": "OperandMajorMode.K", "b_major_mode": "OperandMajorMode.MN", "a_dtype": "BFloat16",
             "b_dtype": "BFloat16", "acc_dtype": "Float32"}  # fmt: skip
    fields = {k: _value(v) for k, v in kinds.items()}
    given = {p: fields.get(p, fields.get(RENAMED.get(p, p))) for p, _ in dsl_ops.OPERATIONS["tcgen05", "MmaF16BF16Op"]}
    atom = dsl_tiled._mma_atom(dsl_ops.make_op("tcgen05", "MmaF16BF16Op", [], given))
    made = show(tiled.make_tiled_mma(atom, Layout((1, 1, 1), (0, 0, 0)), (X, X, X)))
    assert [made[f"tv_layout_{x}"] for x in "ABC"] == [
        "(1,(128,16)):(128,(1,128))", "(1,(8,16)):(8,(1,8))", "(1,(128,8)):(128,(1,128))",
    ]  # fmt: skip
    assert made["tv_layout_B_tiled"] == "(1,((8,16),(1,1))):(0,((1,8),(0,0)))"
    assert made["tv_layout_C_tiled"] == "(1,((128,8),(1,1))):(0,((1,128),(0,0)))"


LDSM = 'ldsm<val_type = i8, mode = <"({})">, sz_pattern = {}, num_matrices = {}>'
MATRICES = [
    ("LdMatrix16x16x8bOp", 1, "((16,2),16):((16,0),1)", "((4,8),(1,4,2)):((64,1),(1,16,8))", ("16,16", "u8", "1, t")),
    ("LdMatrix16x16x8bOp", 2, "(32,16):(16,1)", "((4,8),(1,4,2,2)):((64,1),(1,16,8,256))", ("16,16", "u8", "2, t")),
    ("LdMatrix8x16x8bOp", 1, "((8,4),16):((16,0),1)", "(32,4):(4,1)", ("8,8", "u16", "1, n")),
    ("LdMatrix8x16x8bOp", 4, "(32,16):(16,1)", "(32,(4,4)):(4,(1,128))", ("8,8", "u16", "4, n")),
    ("StMatrix16x8x8bOp", 1, "((4,8),(1,2,2)):((32,1),(1,16,8))", "((8,4),16):((16,0),1)", ()),
    ("StMatrix16x8x8bOp", 4, "((4,8),(1,2,2,4)):((32,1),(1,16,8,128))", "(32,16):(16,1)", ()),
]  # fmt: skip


@pytest.mark.parametrize("name, count, source, destination, parts", MATRICES)
def test_matrices_of_bytes(name: str, count: int, source: str, destination: str, parts: tuple[str, ...]) -> None:
    op = dsl_ops.make_op("warp", name, [], {"transpose": "8x16" not in name, "num_matrices": count})
    made = show(dsl_tiled.copy_atom_value(op, dtype("int8_t"), None))  # type: ignore[arg-type]
    assert (made["layout_src_tv"], made["layout_dst_tv"]) == (source, destination)
    stored = f'stsm<i8, mode = <"(16,8)">, num_matrices = {count}, t>'
    assert made["type"] == f"!cute_nvgpu.atom.{LDSM.format(*parts) if parts else stored}"


@pytest.mark.parametrize(
    ("name", "bits", "parts"),
    [("LdMatrix8x16x8bOp", 4, ("8,16", "u4x16p64to8", "2, n")),
     ("LdMatrix8x16x8bOp", 6, ("8,16", "u6x16p32to8", "2, n")),
     ("LdMatrix16x16x8bOp", 4, ("16,16", "u4x16p64to8", "2, t"))],
)  # fmt: skip
def test_matrices_that_are_unpacked_have_the_layouts_of_bytes(name: str, bits: int, parts: tuple[str, ...]) -> None:
    given: dict[str, Any] = {"transpose": "8x16" not in name, "num_matrices": 2}
    plain, unpacked = (
        show(dsl_tiled.copy_atom_value(dsl_ops.make_op("warp", name, [], given | more), dtype("int8_t"), None))  # type: ignore[arg-type]
        for more in ({}, {"unpack_bits": bits})
    )
    assert {k: v for k, v in plain.items() if "layout" in k} == {k: v for k, v in unpacked.items() if "layout" in k}
    assert unpacked["type"] == f"!cute_nvgpu.atom.{LDSM.format(*parts)}"


def test_majors_by_their_value(tmp_path: Path) -> None:
    text = """
    from cutlass.cute.nvgpu import tcgen05
    same = tcgen05.OperandMajorMode("mn") == tcgen05.OperandMajorMode.MN, tcgen05.CtaGroup(2) == tcgen05.CtaGroup.TWO
    kept = tcgen05.OperandMajorMode(tcgen05.OperandMajorMode.K) == tcgen05.OperandMajorMode.K
    """
    found = variables(tmp_path, text)
    assert (found["same"], found["kept"]) == ((True, True), True)


def test_atoms_of_tensor_memory(tmp_path: Path) -> None:
    """Type, source and destination of an operation on elements of a type, as 4.8.1 prints them."""
    table = (Path(__file__).parents[2] / "data" / "dsl_tensor_memory.txt").read_text()
    rows = [line.split("  # ") for line in table.splitlines()]
    given = (row.rpartition(" ") for row, _ in rows)
    atoms = [f"cute.make_copy_atom(tcgen05.{op}, cutlass.{kind})" for op, _, kind in given]
    head = HEAD + "from cutlass.cute.nvgpu import tcgen05\n"
    made = [s.result for s in sites(driver(tmp_path, head + "\n".join(atoms), arch="sm_103a"))]
    told = [
        " ".join(str(r[k]) for k in ("type", "layout_src_tv", "layout_dst_tv")) for r in made if isinstance(r, dict)
    ]
    assert told == [f"!cute_nvgpu.atom.{expected}" for _, expected in rows]
    once = dsl_ops.make_op("tcgen05", "LdRed32x32bOp", [EnumVal("Repetition", "x1", None)], {})
    assert "one of [2, 4, 8, 16, 32, 64, 128], but got 1" in (illegal(once, "sm_103a") or "")


COPY_SF = (
    HEAD
    + """
from cutlass.cute.nvgpu import tcgen05


@cute.kernel
def kernel():
    smem = cutlass.utils.SmemAllocator()
    staged = cute.make_layout(
        ((((32, 4), 1), (16, 4)), 1, 4, 4), stride=((((16, 4), 0), (0, 1)), 0, 512, 2048)
    )
    sSF = smem.allocate_tensor(cutlass.Float8E4M3FN, staged, byte_alignment=128)
    holder = smem.allocate_array(cutlass.Int32, 1)
    ptr = cute.arch.retrieve_tmem_ptr(cutlass.Float8E4M3FN, alignment=16, ptr_to_buffer_holding_addr=holder)
    columns = cute.make_layout(
        ((((32, 4), 4), (16, 4)), 1, 4), stride=((((262144, 4), 8388608), (0, 1)), 0, 16)
    )
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), cutlass.Float8E4M3FN)
    copy = tcgen05.make_s2t_copy(atom, cute.filter_zeros(cute.make_tensor(ptr, columns)))
    part = copy.get_slice(0).partition_S(cute.filter_zeros(sSF))
    described = tcgen05.get_s2t_smem_desc_tensor(copy, part)


@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host)
"""
)


def test_descriptors_of_scale_factors_that_are_copied(tmp_path: Path) -> None:
    made = results(driver(tmp_path, COPY_SF, arch="sm_100a"))
    (found,) = (v for (_, call), values in made.items() if call == "get_s2t_smem_desc_tensor" for v in values)
    assert found == {"kind": "Tensor", "type": '!cute_nvgpu.smem_desc_view<!cute_nvgpu.smem_desc, '
                     '"((((32,1,1),4),1),1,1,4,4):((((1,1,1),0),0),0,0,32,128)">'}  # fmt: skip
