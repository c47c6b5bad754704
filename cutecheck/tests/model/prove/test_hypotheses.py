"""Whether hypotheses can be met: those that share no variable are asked one by one, and no value is left out."""

from __future__ import annotations

import itertools

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Options, make_obligation
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.engines import integers
from cutecheck.model.prove.hypotheses import satisfiable
from cutecheck.model.prove.obligation import Obligation

FLAGS = [ex.var(f"f{i}", Domain(0, 1)) for i in range(13)]
ANY = [ex.var(f"n{i}", Domain(lo=0)) for i in range(8)]


def _given(*hypotheses: Condition) -> Obligation:
    return make_obligation(p.Holds((Condition(Rel.LE, ex.const(0), ANY[0]),)), hypotheses=hypotheses)


def _sum(of: list[Expr]) -> Expr:
    total = ex.const(0)
    for e in of:
        total = ex.add(total, e)
    return total


@pytest.mark.parametrize(("total", "expected"), [(13, True), (14, False)])
def test_values_past_those_that_are_tried_are_not_ruled_out(total: int, expected: bool) -> None:
    assert satisfiable(_given(Condition(Rel.EQ, _sum(FLAGS), ex.const(total))), Options()) is expected


def test_conditions_on_other_variables_need_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "hypotheses_satisfiable", lambda *given: pytest.fail("asked"))
    multiples = [Condition(Rel.EQ, n, ex.mul(ex.const(7), ex.var(f"k{i}", Domain(1, 3)))) for i, n in enumerate(ANY)]
    assert satisfiable(_given(*multiples), Options()) is True
    never = Condition(Rel.EQ, ex.mul(FLAGS[0], FLAGS[1]), ex.const(2))
    assert satisfiable(_given(*multiples, never), Options()) is False
    chained = [Condition(Rel.LE, a, b) for a, b in itertools.pairwise(ANY)]
    assert satisfiable(_given(*chained), Options()) is True
