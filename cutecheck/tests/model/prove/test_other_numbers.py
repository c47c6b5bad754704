"""Hypotheses about other numbers than the goal's, and counterexamples in small numbers."""

from __future__ import annotations

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Options, Outcome, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines.integers import hypotheses_satisfiable
from cutecheck.model.units import Bits

THREAD = ex.var(p.THREAD, Domain(0, 31))
STRIDE = ex.var("lda")
OTHER = ex.var("m")
EVEN = Condition(Rel.DIVIDES, ex.const(64), ex.mul(ex.const(2), OTHER))  # of a number without bounds


def _rows(stride: ex.Expr) -> p.BankAccess:
    """One float a lane, each in the first column of its own row."""
    return p.BankAccess("ld", Bits(32), Bits(32), ex.mul(THREAD, stride), 32)


def _values(outcome: Outcome) -> dict[str, str | int]:
    assert outcome.witness is not None
    return dict(outcome.witness.values)


def test_what_is_said_of_other_numbers_is_not_in_the_counterexample() -> None:
    access = _rows(ex.const(32))
    alone = prove(make_obligation(access))
    outcome = prove(make_obligation(access, hypotheses=[EVEN]))
    assert outcome.verdict is Verdict.REFUTED and outcome.witness == alone.witness
    assert outcome.obligation.hypotheses == (EVEN,)
    assert (outcome.reason, outcome.scope, outcome.assumptions) == (alone.reason, alone.scope, alone.assumptions)


def test_by_way_of_one_another_hypotheses_are_about_the_goal() -> None:
    """``lda == m`` and ``m % 2 == 1``: no even row, so no conflict of two; without the latter there is one."""
    tied = [Condition(Rel.EQ, STRIDE, OTHER), Condition(Rel.DIVIDES, ex.const(8), OTHER)]
    conflict = prove(make_obligation(_rows(STRIDE), hypotheses=tied))
    assert conflict.verdict is Verdict.REFUTED
    assert _values(conflict)["lda"] == _values(conflict)["m"]
    odd = Condition(Rel.EQ, ex.op("mod", OTHER, ex.const(2)), ex.const(1))
    assert prove(make_obligation(_rows(STRIDE), hypotheses=[tied[0], odd])).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("stride", [ex.const(32), ex.const(1)])
def test_what_nothing_meets_is_vacuous_whatever_the_goal(stride: ex.Expr) -> None:
    never = [Condition(Rel.LE, OTHER, ex.const(3)), Condition(Rel.LE, ex.const(4), OTHER)]
    assert prove(make_obligation(_rows(stride), hypotheses=never)).verdict is Verdict.VACUOUS


def test_where_it_is_not_decided_whether_others_can_be_met_all_of_them_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What holds without them holds; a counterexample has to meet them."""
    far = Condition(Rel.LE, ex.const(1 << 40), ex.mul(OTHER, OTHER))
    monkeypatch.setattr("cutecheck.model.prove.engines.integers.hypotheses_satisfiable", lambda *given: None)
    assert prove(make_obligation(_rows(ex.const(1)), hypotheses=[far])).verdict is Verdict.PROVED
    shown = prove(make_obligation(_rows(ex.const(32)), hypotheses=[far]))
    assert shown.verdict is not Verdict.REFUTED or int(_values(shown)["m"]) ** 2 >= 1 << 40
    assert hypotheses_satisfiable(make_obligation(_rows(STRIDE), hypotheses=[far]), Options()) is True


def test_a_row_is_as_long_as_it_has_to_be() -> None:
    """Any multiple of 8 elements of 16 bits: 32 lanes touch 32 sectors from 16 elements on."""
    rows = ex.var("lda", Domain(0, None, 8))
    sectors = p.GmemSectors(Bits(16), Bits(16), ex.mul(THREAD, rows), 32)
    outcome = prove(make_obligation(sectors))
    assert outcome.verdict is Verdict.REFUTED
    found = _values(outcome)
    assert found["sectors"] == 32 and 16 <= int(found["lda"]) <= 64


def test_numbers_stay_where_smaller_ones_do_not_show_it() -> None:
    far = Condition(Rel.LE, ex.const(100_000), STRIDE)
    found = prove(make_obligation(_rows(STRIDE), hypotheses=[far, Condition(Rel.DIVIDES, ex.const(32), STRIDE)]))
    assert found.verdict is Verdict.REFUTED
    assert 100_000 <= int(_values(found)["lda"]) < 200_000
