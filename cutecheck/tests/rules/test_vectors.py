"""Contiguity, alignment and contracts of vector accesses."""

from dataclasses import replace

import pytest

from cutecheck.facts import Facts, Hypothesis
from cutecheck.model import expr as ex
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Obligation, Outcome, Verdict
from cutecheck.model.prove.properties import NO_REST, Alignment
from cutecheck.model.tiled import make_tiled_copy, make_tiled_copy_A, make_tiled_mma
from cutecheck.rules.base import Context
from cutecheck.rules.derive.contracts import open_variables, prove_or_contract
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


@pytest.mark.parametrize(("times", "of"), [(4, 16), (2, 128), (6, 8), (4, 8), (6, 4)])
def test_what_is_checked_of_bytes_is_known_of_elements(times: int, of: int) -> None:
    """``if (lda * sizeof(T) % 128 != 0) return;``: by brute force over all ``lda`` of a period."""
    condition = Condition(Rel.DIVIDES, ex.const(of), ex.mul(ex.const(times), ex.var("lda")))
    stated = copy_event(WIDE, FLOAT, ("gmem", "(_128,_8):(_1,lda)"), None)
    stated = replace(stated, hypotheses=(Hypothesis(condition, None, "contract"),))
    outcome = next(o for o in outcomes(Facts(events=(stated,))) if o.obligation.property == "vector-aligned")
    enough = all(lda % 4 == 0 for lda in range(2 * of) if times * lda % of == 0)
    assert (outcome.verdict in (Verdict.PROVED, Verdict.ASSUMED)) is enough
    assert codes(Facts(events=(stated,))) == ([] if enough else ["CUT402"])


def test_auto_vectorizing_copy_takes_its_width_from_the_layouts() -> None:
    auto = atom("AutoVectorizingCopy", FLOAT)
    tiled = make_tiled_copy(auto, layout("(_32,_8):(_1,_32)"), layout("(_4,_1):(_1,_1)"))
    assert codes(Facts(events=(copy_event(tiled, FLOAT, ("gmem", "(_128,_8):(_1,129)"), None),))) == ["CUT402"]
    default = atom("DefaultCopy", FLOAT)
    scalar = make_tiled_copy(default, layout("(_32,_8):(_1,_32)"), layout("(_1,_1):(_1,_1)"))
    assert codes(Facts(events=(copy_event(scalar, FLOAT, ("gmem", "(_128,_8):(_1,129)"), None),))) == []


@pytest.mark.parametrize(
    ("under_contract", "expected"),
    [(Verdict.REFUTED, Verdict.REFUTED), (Verdict.UNKNOWN, Verdict.UNKNOWN), (Verdict.PROVED, Verdict.UNKNOWN)],
)
def test_what_fails_for_open_values_is_refuted_only_if_no_multiple_of_them_helps(
    under_contract: Verdict, expected: Verdict
) -> None:
    event = copy_event(WIDE, FLOAT, ("gmem", "(_128,_8):(_1,lda)"), None)
    (asked,) = (o.obligation for o in outcomes(Facts(events=(event,))) if o.obligation.property == "vector-aligned")

    def prover(o: Obligation) -> Outcome:
        return Outcome(o, under_contract if o.hypotheses else Verdict.REFUTED)

    assert isinstance(asked.objects, Alignment)
    lda = [v for v in open_variables(asked.objects.offset, asked.objects.rest.stride) if v.name == "lda"]
    outcome = prove_or_contract(asked, lda, 16, Context(Facts(), prover))
    assert outcome.verdict is expected
    assert ("is not known" in outcome.reason) is (under_contract is Verdict.UNKNOWN)


def test_a_number_that_is_halved_is_a_larger_multiple() -> None:
    event = copy_event(WIDE, FLOAT, ("gmem", "(_128,_8):(_1,lda)"), None)
    (asked,) = (o.obligation for o in outcomes(Facts(events=(event,))) if o.obligation.property == "vector-aligned")
    half = ex.op("div", ex.var("dim"), ex.const(2))
    assert isinstance(asked.objects, Alignment)
    halved = replace(asked, objects=replace(asked.objects, offset=half, rest=NO_REST))
    given: list[tuple[str, ...]] = []

    def prover(o: Obligation) -> Outcome:
        given.append(tuple(map(str, o.hypotheses)))
        return Outcome(o, Verdict.REFUTED)

    prove_or_contract(halved, list(half.variables()), 16, Context(Facts(), prover))
    assert any("% 32 == 0" in text for texts in given for text in texts), given
