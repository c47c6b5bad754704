"""Differential test: residues, Z3 bit-vectors, brute force and GF(2) give one answer on random accesses.

``python -m cutecheck.tests.model.prove.test_engines_agree 5000`` runs the full set.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from cutecheck.model.prove import Options, Outcome, Verdict, make_obligation, prove
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines import bitvec, brute, gf2, residues
from cutecheck.tests.model.prove.random_accesses import random_access

ENGINES = {"residues": residues.run, "z3-bv": bitvec.run, "brute": brute.run, "gf2": gf2.run}


def compare(seed: int, count: int) -> Counter[str]:
    """Answers of every engine on ``count`` random accesses; AssertionError on the first difference."""
    rng = random.Random(seed)
    seen: Counter[str] = Counter()
    for i in range(count):
        obligation = make_obligation(random_access(rng))
        answers = {name: engine(obligation, Options()) for name, engine in ENGINES.items()}
        decided = {name: a.answer for name, a in answers.items() if a.answer != "unknown"}
        assert len(set(decided.values())) <= 1, (seed, i, decided, obligation.objects)
        assert {"residues", "z3-bv"} <= set(decided) or not decided, (seed, i, answers, obligation.objects)
        if {"residues", "gf2"} <= set(decided) and decided["gf2"] == "fails":
            assert answers["residues"].measure == answers["gf2"].measure, (seed, i, answers)
        finite = all(None not in d.bounds() for d in variable_domains(obligation).values())
        if {"residues", "brute"} <= set(decided) and finite:
            assert dict(answers["residues"].measure)["excess"] == dict(answers["brute"].measure)["excess"], (seed, i)
        seen.update(f"{name} {answer}" for name, answer in decided.items())
    return seen


def test_engines_agree() -> None:
    seen = compare(seed=1, count=80)
    for name in ENGINES:
        assert seen[f"{name} holds"] > 0, seen
        assert seen[f"{name} fails"] > 0, seen


def test_verdicts_of_random_accesses_replay() -> None:
    rng = random.Random(2)
    verdicts: Counter[Verdict] = Counter()
    for _ in range(50):
        outcome: Outcome = prove(make_obligation(random_access(rng)))
        verdicts[outcome.verdict] += 1
        if outcome.verdict is Verdict.REFUTED:
            assert outcome.witness is not None
            assert dict(outcome.witness.values)["excess"] == outcome.number("excess"), outcome
    assert set(verdicts) <= {Verdict.PROVED, Verdict.REFUTED, Verdict.UNKNOWN}
    assert verdicts[Verdict.UNKNOWN] <= 5


if __name__ == "__main__":
    print(compare(seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0, count=int(sys.argv[1])))
