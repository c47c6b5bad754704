"""The worst count of wavefronts, by two engines: the number holds, one less does not, and a wrong one disagrees."""

import random

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines import banks, residues
from cutecheck.model.prove.engines.worst import at_most
from cutecheck.model.prove.scheduler import WORST
from cutecheck.model.units import Bits
from cutecheck.tests.model.prove.random_accesses import random_access
from cutecheck.tests.model.prove.test_mutations import ROW64, edited, lanes

STAGE = ex.mul(ex.var("stage", ex.Domain(0)), ex.const(4096))
PITCH = ex.var("pitch", ex.Domain(8, None, 8))
OPEN_STAGE = p.BankAccess("ldmatrix", Bits(16), Bits(128), ex.add(ROW64, STAGE), 128, Swizzle(2, 3, 3), matrices=4)
OPEN_PITCH = p.BankAccess(
    "ldmatrix", Bits(16), Bits(128),
    ex.mul(ex.op("mod", ex.var("threadIdx.x", ex.Domain(0, 31)), ex.const(8)), PITCH), 32, matrices=1,
)  # fmt: skip
# Two instructions: the first takes two wavefronts, the second four.
UNEVEN = p.BankAccess(
    "ld", Bits(32), Bits(32), ex.add(lanes([16, 2], [1, 32]), ex.mul(ex.var("k", ex.Domain(0)), ex.op(
        "mod", ex.op("div", ex.var("threadIdx.x", ex.Domain(0, 31)), ex.const(8)), ex.const(2))) ), 32,
)  # fmt: skip


def test_parametric_counts_are_confirmed() -> None:
    for payload, excess in ((OPEN_STAGE, 4), (OPEN_PITCH, 7)):
        outcome = prove(make_obligation(payload))
        assert outcome.verdict is Verdict.REFUTED and outcome.number("excess") == excess
        assert [r.answer for r in outcome.runs if r.engine == WORST] == ["holds"]
        assert f"no instruction takes more than {excess} in excess" in outcome.reductions


def test_random_counts_hold_and_no_smaller_one() -> None:
    rng, seen = random.Random(11), 0
    while seen < 15:
        obligation = make_obligation(random_access(rng))
        answer = residues.run(obligation, Options())
        if answer.answer != "fails":
            continue
        seen += 1
        excess = dict(answer.measure)["excess"]
        assert at_most(obligation, excess, Options()).answer in ("holds", "unknown")
        assert at_most(obligation, excess - 1, Options()).answer in ("fails", "unknown")


def test_an_engine_that_misses_the_costliest_instruction_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    obligation = make_obligation(UNEVEN)
    assert prove(obligation).verdict is Verdict.REFUTED
    first = edited(banks, "Search", "if ideal == 0:", "if ideal == 0 or self.upper > 0:")
    monkeypatch.setattr(banks, "Search", first)
    outcome = prove(obligation, Options(without=("gf2", "brute-force")))
    assert outcome.verdict is Verdict.DISAGREE and outcome.reason == "a costlier instruction exists"


def test_without_the_second_engine_it_is_said() -> None:
    outcome = prove(make_obligation(OPEN_STAGE), Options(rlimit=1000))
    assert outcome.verdict in (Verdict.REFUTED, Verdict.UNKNOWN)
    if outcome.verdict is Verdict.REFUTED and outcome.runs[-1].answer == "unknown":
        assert outcome.reason.startswith("that no instruction takes more is the word of one engine")


def test_lanes_that_are_not_there_count_for_nothing() -> None:
    half = p.BankAccess("ld", Bits(32), Bits(32), lanes([48], [32]), 48, rest=Layout((2,), (1,)))
    outcome = prove(make_obligation(half), Options(without=("gf2", "brute-force")))
    assert outcome.verdict is Verdict.REFUTED and outcome.number("excess") == 31
    assert at_most(make_obligation(half), 31, Options()).answer == "holds"
    assert at_most(make_obligation(half), 30, Options()).answer == "fails"
