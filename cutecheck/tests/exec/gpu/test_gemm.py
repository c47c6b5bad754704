"""The reference GEMM: orders of rows, epilogues through shared memory, tensor maps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecheck.exec.gpu import codegen, gemms
from cutecheck.exec.gpu.counting import _held, predicted
from cutecheck.exec.gpu.gemm import GemmProbe, Operand
from cutecheck.exec.gpu.order import NoOrderError, operand_rows, result_places
from cutecheck.exec.gpu.results import Measured
from cutecheck.exec.gpu.run import EncodedMap
from cutecheck.exec.gpu.tensor_maps import encoded
from cutecheck.model.algebra import tile_to_shape
from cutecheck.model.atoms import copy_op, mma_op
from cutecheck.model.dtype import DType, dtype
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import TiledCopy, make_tiled_copy, make_tiled_copy_A, make_tiled_copy_B, make_tiled_mma
from cutecheck.model.tiled.copy import make_tiled_copy_C, make_tiled_copy_impl
from cutecheck.model.tiled.smem_atoms import smem_layout_atom
from cutecheck.model.tiled.tma import make_tma_copy

np = pytest.importorskip("numpy")


def the(name: str) -> DType:
    found = dtype(name)
    assert found is not None
    return found


HALF, FLOAT, WIDE = the("half_t"), the("float"), the("uint128_t")
MMA = make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), Layout((2, 2, 1), (1, 2, 0)), (32, 32, 16))
READ = copy_op("SM75_U32x4_LDSM_N", (), HALF)
FILL = make_tiled_copy(copy_op("UniversalCopy", (WIDE,), HALF), Layout((16, 8), (8, 1)), Layout((1, 8), (0, 1)))


def gemm(b_read: TiledCopy | None = None) -> GemmProbe:
    gmem, smem = Layout((64, 64, 2), (128, 1, 64)), Layout((64, 64), (64, 1))
    a = Operand(HALF, gmem, smem, FILL, make_tiled_copy_A(READ, MMA))
    b = Operand(HALF, gmem, smem, FILL, b_read or make_tiled_copy_B(READ, MMA))
    return GemmProbe(MMA, a, b, FLOAT, Layout((64, 64), (64, 1)))


def warp_contiguous() -> TiledCopy:
    """B read so that each warp's columns are neighbours: with a tiler whose first mode is permuted."""
    rows = Layout((8, 2, 2), (1, 16, 8))
    return make_tiled_copy_impl(READ, MMA.get_layoutB_TV(), (rows, Layout(16, 1)))


def test_ordinary_copies_keep_the_order() -> None:
    probe = gemm()
    assert probe.rows == (tuple(range(64)), tuple(range(64))) and probe.places == tuple(range(64 * 64))


def test_a_permuted_read_permutes_the_columns_of_the_product() -> None:
    probe = gemm(warp_contiguous())
    order = probe.rows[1]
    assert sorted(order) == list(range(64)) and order[:32] != tuple(range(32))
    # twin: the tiler says which row of the tile each coordinate is
    assert order[:32] == tuple((n % 8) + 16 * (n // 8 % 2) + 8 * (n // 16) for n in range(32))
    inputs = gemms.coded(probe)
    assert (gemms.placed(probe, inputs.product) == inputs.a @ inputs.b[list(order)].T).all()


def test_a_read_that_mixes_k_is_no_gemm() -> None:
    swapped = make_tiled_copy_impl(READ, MMA.get_layoutB_TV(), (Layout(32, 1), Layout((8, 2), (2, 1))))
    with pytest.raises(NoOrderError, match="columns of k"):
        operand_rows(MMA, "B", swapped, 64, 64)


def test_a_store_with_a_tiler_of_its_own_permutes_the_result() -> None:
    atom = copy_op("UniversalCopy", (FLOAT,), FLOAT)
    turned = make_tiled_copy_impl(atom, MMA.get_layoutC_TV(), (Layout(32, 1), Layout((8, 2, 2), (1, 16, 8))))
    assert result_places(MMA, make_tiled_copy_C(atom, MMA), 64, 64) == tuple(range(64 * 64))
    places = result_places(MMA, turned, 64, 64)
    assert sorted(places) == list(range(64 * 64)) and places[8 * 64] == 16 * 64


def test_an_epilogue_through_shared_memory_is_predicted() -> None:
    stage = make_tiled_copy_C(copy_op("UniversalCopy", (the("uint64_t"),), FLOAT), MMA)
    write = make_tiled_copy(copy_op("UniversalCopy", (WIDE,), FLOAT), Layout((8, 16), (16, 1)), Layout((1, 4), (0, 1)))
    plain = gemm()
    probe = replace(plain, stage=stage, smem_d=Layout((64, 64), (72, 1)), write=write)
    before, after = predicted(plain)[0], predicted(probe)[0]
    more = {k: after[k] - before.get(k, 0) for k in after if after[k] != before.get(k, 0)}
    # 64 x 64 floats: 64 stores of 64 bits a warp lane, 32 loads of 128 bits, 512 sectors
    assert more["inst_st"] == 64 and more["inst_ld"] == 32 and more["sectors_st"] == 512
    assert more["wavefronts_st"] == 128 and more["wavefronts_ld"] == 128
    assert "StageD" in codegen.unit(probe).text and probe.shared_bytes > plain.shared_bytes + 64 * 72 * 4 - 1024


def test_accesses_that_the_compiler_split_are_explained() -> None:
    stage = make_tiled_copy_C(copy_op("UniversalCopy", (the("uint64_t"),), FLOAT), MMA)
    write = make_tiled_copy(copy_op("UniversalCopy", (WIDE,), FLOAT), Layout((8, 16), (16, 1)), Layout((1, 4), (0, 1)))
    probe = replace(gemm(), stage=stage, smem_d=Layout((64, 64), (72, 1)), write=write)
    as_emitted, _ = predicted(probe)
    got, _ = predicted(probe, (1, 1, 1, 1, -2, 1))
    assert got["inst_st"] == as_emitted["inst_st"] + 64 and got["inst_ld"] == as_emitted["inst_ld"]
    held = _held(probe, Measured("equal", "", "k", as_emitted), got)
    assert (held.outcome, held.merged) == ("equal", (1, 1, 1, 1, -2, 1))
    wrong = _held(probe, Measured("equal", "", "k", as_emitted), {**got, "wavefronts_st": got["wavefronts_st"] + 1})
    assert wrong.outcome == "wrong" and "wavefronts_st" in wrong.reason


def test_sectors_of_cp_async_and_those_that_come_from_l2_are_held_to_the_unit() -> None:
    bypass = copy_op("SM80_CP_ASYNC_CACHEGLOBAL", (WIDE,), HALF)
    fill = make_tiled_copy(bypass, Layout((16, 8), (8, 1)), Layout((1, 8), (0, 1)))
    plain = gemm()
    probe = replace(plain, a=replace(plain.a, copy=fill))
    expected, _ = predicted(probe)
    # A: 2 tiles of 64 x 64 halves by cp.async.cg; B: as many by plain loads
    assert expected["sectors_ldgsts"] == 512 and expected["sectors_read"] == 1024
    measured = Measured("equal", "", "k", expected)
    assert _held(probe, measured, expected).outcome == "equal"
    assert _held(probe, measured, {**expected, "sectors_ldgsts": 900}).outcome == "wrong"
    assert _held(probe, measured, {**expected, "sectors_read": 1412}).outcome == "wrong"
    assert _held(probe, measured, {**expected, "sectors_ldgsts": 400}).outcome == "wrong"
    always = copy_op("SM80_CP_ASYNC_CACHEALWAYS", (WIDE,), HALF)
    ca = make_tiled_copy(always, Layout((16, 8), (8, 1)), Layout((1, 8), (0, 1)))
    assert "sectors_read" not in predicted(replace(plain, a=replace(plain.a, copy=ca)))[0]


def test_tensor_maps_are_what_the_driver_is_given() -> None:
    smem = tile_to_shape(smem_layout_atom("K", "SW128", HALF), (64, 64))
    copy = make_tma_copy("SM90_TMA_LOAD", Layout((64, 128), (128, 1)), HALF, smem)
    assert encoded(copy, HALF, 8) == EncodedMap(8, 6, (128, 64), (256,), (64, 64), 3)
    plain = gemm()
    probe = replace(plain, a=replace(plain.a, smem=smem, copy=copy))
    text = codegen.unit(probe).text
    assert "MapA = cutecheck_gpu::TmaCopy<SM90_TMA_LOAD" in text and "using CopyA = void" in text
    assert predicted(probe)[0]["tma_load_bytes"] == 2 * 64 * 64 * 2


def test_rows_of_sixteen_bytes_cost_whole_sectors() -> None:
    smem = tile_to_shape(smem_layout_atom("K", "INTER", HALF), (64, 64))
    plain = gemm()
    copy = make_tma_copy("SM90_TMA_LOAD", plain.a.matrix, HALF, smem)
    probe = replace(plain, a=replace(plain.a, smem=smem, copy=copy))
    assert predicted(probe)[0]["tma_load_bytes"] == 2 * (2 * 64 * 64 * 2)
