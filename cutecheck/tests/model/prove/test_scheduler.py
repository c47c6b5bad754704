"""How answers become verdicts; determinism, caching, dumps and budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecheck.model import expr as ex
from cutecheck.model.ints import Condition, Rel, Sym
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove import Multiple, Options, Outcome, Verdict, make_obligation, prove, question, scheduler
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, unknown
from cutecheck.model.prove.obligation import EngineRun
from cutecheck.tests.model.prove.random_accesses import digits

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))
ROW = ex.add(ex.mul(digits(THREAD, [8, 16])[0], ex.const(8)), ex.mul(digits(THREAD, [8, 16])[1], ex.const(64)))
COLUMN = ex.mul(THREAD, ex.const(64))
ACCESS = p.BankAccess("st", 16, 128, ROW, 128, Swizzle(3, 3, 3))
BIJECTIVE = p.Bijective(Layout((2, 8), (8, 1)), 16)
HOLDS, FAILS = Answer("holds"), Answer("fails", values=(("offset", 0),))


def combined(*answers: Answer) -> Outcome:
    obligation = make_obligation(BIJECTIVE)
    runs = [EngineRun(f"engine {i}", a.answer, 0.0) for i, a in enumerate(answers)]
    return scheduler._combine(obligation, Options(), runs, list(answers))


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ((HOLDS, HOLDS), Verdict.PROVED),
        ((HOLDS, unknown("no form")), Verdict.UNKNOWN),
        ((unknown("timeout"), unknown("no form")), Verdict.UNKNOWN),
        ((HOLDS, FAILS), Verdict.DISAGREE),
        ((FAILS, FAILS), Verdict.DISAGREE),  # its counterexample does not replay
        ((Answer("fails"), unknown("too large")), Verdict.UNKNOWN),  # nothing to replay
        ((replace(HOLDS, narrowed="values below 64"), HOLDS), Verdict.UNKNOWN),
    ],
)
def test_table(answers: tuple[Answer, ...], verdict: Verdict) -> None:
    assert combined(*answers).verdict is verdict


def test_reasons() -> None:
    assert combined(HOLDS, unknown("no form")).reason == "one engine only; no form"
    assert combined(replace(HOLDS, narrowed="values below 64"), HOLDS).scope == "values below 64"


def timeless(outcome: Outcome) -> Outcome:
    return replace(outcome, runs=tuple(replace(r, milliseconds=0.0) for r in outcome.runs))


def test_same_answer_on_every_run() -> None:
    for payload in (ACCESS, replace(ACCESS, offset=COLUMN, swizzle=None), BIJECTIVE, replace(BIJECTIVE, size=32)):
        for options in (Options(), Options(without=("gf2",))):
            first = prove(make_obligation(payload), options)
            assert timeless(first) == timeless(prove(make_obligation(payload), options))


def test_one_engine_never_proves_but_may_refute() -> None:
    for engine in ("residues", "z3-bv", "gf2", "brute-force"):
        outcome = prove(make_obligation(ACCESS), Options(engine=engine))
        assert outcome.verdict is Verdict.UNKNOWN, engine
        assert outcome.reason == "one engine only"
    for engine in ("residues", "z3-bv", "brute-force"):
        outcome = prove(make_obligation(replace(ACCESS, offset=COLUMN, swizzle=None)), Options(engine=engine))
        assert outcome.verdict is Verdict.REFUTED, engine
        assert outcome.witness is not None


def test_sampled_brute_force_does_not_contradict_the_costliest() -> None:
    """When Z3 runs out of time, brute force over open values confirms the fault, not its worst number."""
    start = ex.mul(ex.var("k", ex.Domain(0)), ex.const(8))
    rows = ex.mul(THREAD, ex.add(ex.const(64), start))
    access = replace(ACCESS, offset=rows, swizzle=None)
    outcome = prove(make_obligation(access), Options(without=("z3-bv", "gf2")))
    assert [r.engine for r in outcome.runs] == ["residues", "brute-force"]
    assert outcome.verdict is Verdict.REFUTED, outcome.reason


def test_unknown_engine() -> None:
    assert prove(make_obligation(ACCESS), Options(engine="none")).reason.startswith("no engine")
    assert {"residues", "z3-bv", "z3-int", "gf2", "normal-form", "brute-force"} == set(scheduler.engine_names())


def test_fault_in_an_engine_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(obligation: object, options: object) -> Answer:
        raise RuntimeError("boom")

    monkeypatch.setattr("cutecheck.model.prove.engines.normal.run", broken)
    outcome = prove(make_obligation(BIJECTIVE))
    assert outcome.runs[0].detail == "normal: RuntimeError: boom"
    assert outcome.verdict is Verdict.PROVED  # the other engines still agree


def test_cache_is_by_question() -> None:
    cache: dict[str, Outcome] = {}
    one, two = make_obligation(ACCESS, ["a"]), make_obligation(ACCESS, ["b"])
    assert question(one) == question(two) and one.id != two.id
    first = prove(one, Options(cache=cache))
    second = prove(two, Options(cache=cache))
    assert len(cache) == 1
    assert second.obligation is two
    assert second.runs == first.runs


def test_queries_are_handed_out_as_smt_lib() -> None:
    found: dict[str, str] = {}
    prove(make_obligation(ACCESS), Options(without=("gf2",), dump=found.__setitem__))
    assert len(found) == 1
    ((name, text),) = found.items()
    assert name.startswith("bank-conflict-free-")
    assert "(check-sat)" in text and "lane a" in text


def test_budget_is_unknown_with_its_reason() -> None:
    m, n = (Sym.named(x, ex.Domain(1)) for x in "mn")
    goal = p.Bijective(Layout((m, n), (n, 1)), m * n)
    outcome = prove(make_obligation(goal), Options(rlimit=1))
    assert outcome.verdict is Verdict.UNKNOWN
    assert "Z3" in outcome.reason


def test_hypotheses_of_an_access_may_be_vacuous() -> None:
    stage = ex.var("stage", ex.Domain(0))
    moved = replace(ACCESS, offset=ex.add(ROW, ex.mul(stage, ex.const(8192))))
    never = (Condition(Rel.LT, stage, ex.const(2)), Condition(Rel.LT, ex.const(5), stage))
    assert prove(make_obligation(moved, hypotheses=never)).verdict is Verdict.VACUOUS
    assert prove(make_obligation(moved, hypotheses=never[:1])).verdict is Verdict.PROVED


def test_empty_parameter_is_vacuous() -> None:
    goal = p.Divides((p.Division("bM", Sym.named("bM"), 64),))
    assert prove(make_obligation(goal, params={"bM": Multiple(64, 1, 63)})).verdict is Verdict.VACUOUS
