"""Contiguity, alignment and contracts of vector accesses."""

from dataclasses import replace

import pytest

from cutecheck.facts import Facts, Hypothesis
from cutecheck.model import expr as ex
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Verdict
from cutecheck.model.tiled import make_tiled_copy, make_tiled_copy_A, make_tiled_mma
from cutecheck.tests.rules.build import FLOAT, HALF, atom, codes, copy_event, findings, layout, outcomes, universal

WIDE = universal(128, FLOAT, "(_32,_8):(_1,_32)", "(_4,_1):(_1,_1)")


def test_a_run_time_unit_stride_does_not_vectorize() -> None:
    tiled = universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_1,_1)")
    bad = copy_event(tiled, HALF, ("gmem", "(_64,_64):(_64,1)"), ("smem", "(_64,_64):(_64,_1)"))
    found = findings(Facts(events=(bad,)))
    assert [f.code for f in found] == ["CUT401"]
    assert "run-time `1`, not a static 1" in found[0].message and found[0].message.startswith("src gmem `gA`")


def test_values_across_the_contiguous_mode() -> None:
    tiled = universal(128, HALF, "(_16,_8):(_8,_1)", "(_1,_8):(_1,_1)")
    event = copy_event(tiled, HALF, ("gmem", "(_64,_64):(_64,_1)"), ("smem", "(_64,_64):(_1,_64)"))
    found = findings(Facts(events=(event,)))
    assert [f.code for f in found] == ["CUT401"]
    assert found[0].message.startswith("dst smem `sA`: 1 contiguous, the instruction needs 8")


def test_ldmatrix_on_the_wrong_major_mode_names_the_way_out() -> None:
    tf32 = dtype("tfloat32_t")
    from cutecheck.model.atoms import mma_op

    mma = make_tiled_mma(mma_op("SM80_16x8x8_F32TF32TF32F32_TN"), layout("(_2,_2,_1):(_1,_2,_0)"), (32, 32, 8))
    tiled = make_tiled_copy_A(atom("SM75_U32x4_LDSM_N", tf32), mma)
    found = findings(Facts(events=(copy_event(tiled, tf32, ("smem", "(_128,_32):(_1,_128)"), None),)))
    assert [f.code for f in found] == ["CUT502"]
    assert "no transposing ldmatrix for 32-bit elements" in found[0].help


@pytest.mark.parametrize(("stride", "expected"), [(129, ["CUT402"]), (130, ["CUT402"]), (132, []), (128, [])])
def test_padding_and_alignment(stride: int, expected: list[str]) -> None:
    event = copy_event(WIDE, FLOAT, ("smem", f"(_128,_8):(_1,_{stride})"), None)
    assert codes(Facts(events=(event,))) == expected


def test_known_run_time_strides_are_checked_and_open_ones_ask_for_a_contract() -> None:
    known = copy_event(WIDE, FLOAT, ("gmem", "(_128,_8):(_1,129)"), None)
    assert codes(Facts(events=(known,))) == ["CUT402"]
    open_stride = copy_event(WIDE, FLOAT, ("gmem", "(_128,_8):(_1,lda)"), None)
    assert codes(Facts(events=(open_stride,))) == []
    outcome = next(o for o in outcomes(Facts(events=(open_stride,))) if o.obligation.property == "vector-aligned")
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.reason == "holds if lda % 4 == 0, which nothing in the source states"
    contract = Condition(Rel.DIVIDES, ex.const(4), ex.var("lda"))
    stated = replace(open_stride, hypotheses=(Hypothesis(contract, None, "contract"),))
    outcome = next(o for o in outcomes(Facts(events=(stated,))) if o.obligation.property == "vector-aligned")
    assert outcome.verdict in (Verdict.PROVED, Verdict.ASSUMED)


def test_auto_vectorizing_copy_takes_its_width_from_the_layouts() -> None:
    auto = atom("AutoVectorizingCopy", FLOAT)
    tiled = make_tiled_copy(auto, layout("(_32,_8):(_1,_32)"), layout("(_4,_1):(_1,_1)"))
    assert codes(Facts(events=(copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_1,129)"), None),))) == ["CUT402"]
    default = atom("DefaultCopy", FLOAT)
    scalar = make_tiled_copy(default, layout("(_32,_8):(_1,_32)"), layout("(_1,_1):(_1,_1)"))
    assert codes(Facts(events=(copy_event(scalar, FLOAT, ("gmem", "(_128,_8):(_1,129)"), None),))) == []
