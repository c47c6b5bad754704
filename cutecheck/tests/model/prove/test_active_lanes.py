"""Accesses of some lanes only: engines agree, and the numbers are those of the lanes that take part."""

import random
from dataclasses import replace

import pytest

from cutecheck.facts import Guard, Span
from cutecheck.model import expr as ex
from cutecheck.model.access import wavefronts
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.units import Bits, Bytes
from cutecheck.rules.derive.lanes import conditions
from cutecheck.tests.model.prove.random_accesses import random_access
from cutecheck.tests.model.prove.test_mutations import lanes

THREAD = ex.var(p.THREAD, ex.Domain(0))
COLUMN = p.BankAccess("ld", Bits(32), Bits(32), lanes([32], [32]), 32)


def below(count: int) -> Condition:
    return Condition(Rel.LT, THREAD, ex.const(count))


@pytest.mark.parametrize("count", (2, 8, 31))
def test_the_count_is_of_the_lanes_that_take_part(count: int) -> None:
    outcome = prove(make_obligation(replace(COLUMN, active=(below(count),))))
    assert outcome.verdict is Verdict.REFUTED and outcome.number("wavefronts") == count
    assert outcome.reason == ""  # the worst count has its second engine, too
    places = [t * 128 if t < count else None for t in range(32)]
    assert wavefronts("ld", places, Bytes(4)).wavefronts == count


@pytest.mark.parametrize("active", (below(1), Condition(Rel.EQ, ex.op("mod", THREAD, ex.const(32)), ex.const(0))))
def test_one_lane_has_no_conflict(active: Condition) -> None:
    outcome = prove(make_obligation(replace(COLUMN, active=(active,))))
    assert outcome.verdict is Verdict.PROVED
    assert len({r.engine for r in outcome.runs if r.answer == "holds"}) >= 2


def test_engines_agree_on_random_accesses_of_some_lanes() -> None:
    rng = random.Random(3)
    seen = set()
    for _ in range(60):
        access = random_access(rng)
        middle = ex.op("mod", THREAD, ex.const(rng.choice((2, 4, 8, 32))))
        chosen = rng.choice((below(rng.randrange(1, 64)), Condition(Rel.EQ, middle, ex.const(rng.randrange(2)))))
        outcome = prove(make_obligation(replace(access, active=(chosen,))), Options())
        assert outcome.verdict is not Verdict.DISAGREE, (access, chosen, outcome.reason)
        seen.add(outcome.verdict)
    assert {Verdict.PROVED, Verdict.REFUTED} <= seen


def guard(text: str, negated: bool = False) -> list[str] | None:
    found = conditions(Guard(text, Span("a.cu", 1, 1, 1, 2), negated))
    return None if found is None else [str(c) for c in found]


def test_guards_of_the_thread_index() -> None:
    assert guard("threadIdx.x < 8") == ["threadIdx.x < 8"]
    assert guard("threadIdx.x < 8", negated=True) == ["8 <= threadIdx.x"]
    assert guard("(threadIdx.x >= 32) && (64 > threadIdx.x)") == ["32 <= threadIdx.x", "threadIdx.x < 64"]
    assert guard("threadIdx.x / 32 == 1") is not None and guard("threadIdx.x % 32 == 0") is not None
    assert guard("threadIdx.x < 8 || threadIdx.x > 16") is None
    assert guard("threadIdx.x < n") is None and guard("threadIdx.x < 8 && flag") is None
    assert guard("threadIdx.x < 8 && threadIdx.x > 2", negated=True) is None
