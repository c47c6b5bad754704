"""Rules over calls of CuTe's functions."""

import pytest

from cutecheck.facts import Call, Facts
from cutecheck.model.algebra import zipped_divide
from cutecheck.model.atoms import mma_op
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.prove import Verdict
from cutecheck.model.tiled import make_tiled_mma
from cutecheck.tests.rules.build import FLOAT, SPAN, codes, findings, layout, outcomes, tensor


def call(function: str, *arguments: object, result: object = None) -> Facts:
    return Facts(calls=(Call(function, SPAN, arguments, result, "kernel", "sm_90"),))


@pytest.mark.parametrize(
    ("thr", "val", "expected"),
    [
        ("(_4,_8):(_1,_4)", "(_1,_1):(_0,_0)", []),
        ("(_4,_8):(_8,_1)", "(_2,_4):(_4,_1)", []),
        ("(_4,_8):(_1,_0)", "(_1,_1):(_0,_0)", ["CUT202"]),
        ("(_4,_8):(_2,_8)", "(_1,_1):(_0,_0)", ["CUT202"]),
        ("(_4,_8):(_1,_4)", "(_1,_4):(_0,_2)", ["CUT202"]),
    ],
)
def test_thread_and_value_layouts(thr: str, val: str, expected: list[str]) -> None:
    assert codes(call("make_tiled_copy", None, layout(thr), layout(val))) == expected


def test_divides_that_lose_elements() -> None:
    source = layout("(_12,(_4,_8)):(_7,(_1,_30))")
    for tiler, expected in ((Dyn.of(128), ["CUT206"]), (Dyn.of(12), [])):
        facts = call("zipped_divide", source, tiler, result=zipped_divide(source, tiler))
        assert codes(facts) == expected
    lost = findings(call("zipped_divide", source, Dyn.of(128), result=zipped_divide(source, Dyn.of(128))))[0]
    assert "384 elements keeps 288" in lost.message


@pytest.mark.parametrize(("stride", "expected"), [("_500", ["CUT802"]), ("_504", []), ("500", ["CUT802"]), ("ld", [])])
def test_tma_strides(stride: str, expected: list[str]) -> None:
    gmem = tensor("gA", "gmem", layout(f"(m,_500):({stride},_1)"), dtype("bfloat16_t"))
    assert codes(call("make_tma_copy", None, gmem)) == expected


def test_an_open_tma_stride_names_its_contract() -> None:
    gmem = tensor("gA", "gmem", layout("(m,n):(ld,_1)"), dtype("bfloat16_t"))
    outcome = outcomes(call("make_tma_copy_A_sm90", None, gmem))[0]
    assert outcome.verdict is Verdict.UNKNOWN and outcome.reason.startswith("holds if ld % 8 == 0")


@pytest.mark.parametrize(("shape", "expected"), [("(_2,_2,_32,_2)", ["CUT703"]), ("(_2,_2,_32,_1)", [])])
def test_accumulators(shape: str, expected: list[str]) -> None:
    fragment = tensor("acc", "rmem", layout(f"{shape}:(_1,_2,_4,_128)"), FLOAT)
    assert codes(call("partition_fragment_C", None, None, result=fragment)) == expected


@pytest.mark.parametrize(
    ("tile", "expected"),
    [
        ("((_64,_16),_1,_4):((_64,_1),_0,_16)", ["CUT503"]),
        ("Sw<3,4,3> o smem_ptr[16b](unset) o ((_64,_16),_1,_4):((_64,_1),_0,_16)", []),
        ("Sw<3,4,4> o smem_ptr[16b](unset) o ((_64,_16),_1,_4):((_64,_1),_0,_16)", ["CUT503"]),
        ("Sw<3,3,3> o _0 o ((_64,_16),_1,_4):((_64,_1),_0,_16)", ["CUT503"]),
    ],
)
def test_descriptors_of_wgmma(tile: str, expected: list[str]) -> None:
    mma = make_tiled_mma(mma_op("SM90_64x64x16_F32F16F16_SS", ("GMMA::Major::K", "GMMA::Major::K")))
    operand = tensor("tCsA", "smem", layout(tile), dtype("half_t"))
    assert codes(call("make_fragment_A", mma, operand)) == expected
