"""Symbolic answers at sampled values are the concrete answers."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from cutecheck.model import expr as ex
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove.instances import at
from cutecheck.model.prove.properties import BankAccess
from cutecheck.tests.model.prove.random_accesses import digits

THREAD = ex.var("threadIdx.x", ex.Domain(0, 63))


def symbolic_access(rng: random.Random) -> BankAccess:
    """An ldmatrix or 16-byte store whose row stride, stage and tile count are open, each with a divisor."""
    column, row = digits(THREAD, [rng.choice((1, 2, 4, 8)), 64])
    pitch = ex.add(
        ex.mul(ex.var("q", ex.Domain(0, rng.choice((None, 9)))), ex.const(8 * rng.choice((1, 2, 8, 16, 64)))),
        ex.const(8 * rng.choice((0, 1, 8))),
    )
    stage = ex.op("mod", ex.var("tile", ex.Domain(0)), ex.const(rng.choice((2, 3, 4))))
    offset = ex.add(ex.mul(row, pitch), ex.mul(column, ex.const(8)))
    offset = ex.add(offset, ex.mul(stage, ex.const(8 * rng.choice((1, 8, 64, 512)))))
    sw = rng.choice((None, Swizzle(3, 3, 3), Swizzle(2, 3, 3), Swizzle(3, 3, 4)))
    kind = rng.choice(("ldmatrix", "st"))
    rest = Layout((rng.choice((1, 2)),), (8 * rng.choice((1, 4, 16)),))
    return BankAccess(kind, 16, 128, offset, 64, sw, rest, 4 if kind == "ldmatrix" else 0)


def test_symbolic_banks_at_sampled_values() -> None:
    """What is proved holds at values of the parameters, and those of a counterexample break the instance."""
    rng = random.Random(5)
    verdicts: Counter[Verdict] = Counter()
    brute = Options(engine="brute-force")
    broken = 0
    for _ in range(20):
        obligation = make_obligation(symbolic_access(rng))
        outcome = prove(obligation)
        verdicts[outcome.verdict] += 1
        assert outcome.verdict is not Verdict.DISAGREE, (outcome.reason, outcome.witness, outcome.runs)
        if outcome.verdict is Verdict.REFUTED and outcome.witness is not None:
            given = {n: v for n, v in outcome.witness.values if n in ("q", "tile") and isinstance(v, int)}
            instance = prove(at(obligation, given), brute)
            assert (instance.number("excess") or 0) > 0, (obligation.objects, given)
            broken += 1
        for _ in range(6 if outcome.verdict is Verdict.PROVED else 0):
            values = {"q": rng.randrange(10), "tile": rng.randrange(40)}
            instance = prove(at(obligation, values), brute)
            assert instance.number("excess") == 0, (obligation.objects, values, instance)
    assert verdicts[Verdict.PROVED] > 2
    assert broken > 8
    assert verdicts[Verdict.UNKNOWN] <= 4, verdicts


def test_bound_payload_has_no_variables_left() -> None:
    access = symbolic_access(random.Random(1))
    bound = at(make_obligation(access), {"q": 1, "tile": 2}).objects
    assert isinstance(bound, BankAccess)
    assert {v.name for v in bound.offset.variables()} <= {"threadIdx.x"}
    assert replace(bound, offset=access.offset) == access
