"""Which engines answer an obligation, and how their answers become a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import cast

from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, Options
from cutecheck.model.prove.domains import describe, variable_domains
from cutecheck.model.prove.hypotheses import follows_from_one, satisfiable
from cutecheck.model.prove.make import question
from cutecheck.model.prove.obligation import EngineRun, Obligation, Outcome, Verdict, Witness
from cutecheck.model.prove.replay import replayed

Engine = Callable[[Obligation, Options], Answer]

# Engines of each property, cheap first, as "name": (module under engines/, function). Names that share code share
# the part before the colon: two engines of one verdict never do.
_ENGINES: dict[type[object], tuple[tuple[str, str, str], ...]] = {
    p.BankAccess: (("residues", "residues", "bank_access"), ("z3-bv", "bitvec", "bank_access")),
}


def engine_names() -> tuple[str, ...]:
    return tuple(sorted({name for entries in _ENGINES.values() for name, _, _ in entries}))


def prove(obligation: Obligation, options: Options = Options()) -> Outcome:  # noqa: B008 - frozen
    """Answer an obligation. Never raises for what is merely unknown; the reason is in the outcome."""
    key = question(obligation) if options.cache is not None else ""
    if options.cache is not None and key in options.cache:
        return replace(options.cache[key], obligation=obligation)
    outcome = _prove(obligation, options)
    if options.cache is not None:
        options.cache[key] = outcome
    return outcome


def _prove(obligation: Obligation, options: Options) -> Outcome:
    entries = _ENGINES.get(type(cast("p.Payload", obligation.objects)), ())
    if options.engine is not None:
        entries = tuple(e for e in entries if e[0] == options.engine)
    if not entries:
        return Outcome(obligation, Verdict.UNKNOWN, reason=f"no engine for {obligation.property}")
    runs: list[EngineRun] = []
    answers: list[Answer] = []
    for name, module, function in entries:
        started = time.perf_counter()
        engine = cast("Engine", getattr(import_module(f"cutecheck.model.prove.engines.{module}"), function))
        answer = engine(obligation, options)
        runs.append(EngineRun(name, answer.answer, (time.perf_counter() - started) * 1e3, answer.detail))
        answers.append(answer)
        if sum(a.answer != "unknown" for a in answers) == 2:
            break
    return _combine(obligation, options, runs, answers)


def _combine(obligation: Obligation, options: Options, runs: list[EngineRun], answers: list[Answer]) -> Outcome:
    holds = [a for a in answers if a.answer == "holds"]
    fails = [a for a in answers if a.answer == "fails"]
    base = Outcome(
        obligation,
        Verdict.UNKNOWN,
        runs=tuple(runs),
        scope=_scope(obligation, answers),
        assumptions=_merged(obligation.assumptions, *(a.assumptions for a in answers)),
        reductions=_merged(*(a.reductions for a in answers)),
        measure=next((a.measure for a in (*fails, *holds) if a.measure), ()),
    )
    if holds and fails:
        return _disagreement(base, answers)
    if fails:
        return _refutation(base, obligation, fails)
    if satisfiable(obligation, options) is False:
        return replace(base, verdict=Verdict.VACUOUS, reason="no parameters meet the hypotheses")
    reasons = _merged(*((a.detail,) for a in answers if a.answer == "unknown" and a.detail))
    if len(holds) >= 2:
        narrowed = _merged(*((a.narrowed,) for a in holds if a.narrowed))
        if narrowed:
            return replace(base, reason=f"proved only for {'; '.join(narrowed)}", scope="; ".join(narrowed))
        verdict = Verdict.ASSUMED if follows_from_one(obligation) else Verdict.PROVED
        return replace(base, verdict=verdict)
    if holds:
        return replace(base, reason="; ".join(("one engine only", *reasons)))
    return replace(base, reason="; ".join(reasons) or "no engine decided")


def _merged(*groups: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for group in groups for text in group))


def _scope(obligation: Obligation, answers: list[Answer]) -> str:
    if obligation.scope:
        return obligation.scope
    domains = variable_domains(obligation)
    if not domains:
        return "this configuration"
    return "all " + ", ".join(describe(name, d) for name, d in domains.items())


def _refutation(base: Outcome, obligation: Obligation, fails: list[Answer]) -> Outcome:
    for answer in fails:
        witness = replayed(obligation, answer)
        if witness is not None:
            return replace(base, verdict=Verdict.REFUTED, witness=witness)
    return replace(
        base,
        verdict=Verdict.DISAGREE,
        reason="a counterexample did not replay: internal error",
        witness=Witness("not replayed", values=fails[0].values),
    )


def _disagreement(base: Outcome, answers: list[Answer]) -> Outcome:
    text = ", ".join(f"{run.engine} says {run.answer}" for run in base.runs)
    failing = next(a for a in answers if a.answer == "fails")
    return replace(
        base,
        verdict=Verdict.DISAGREE,
        reason=f"engines differ ({text}): internal error",
        witness=Witness("counterexample of one engine", values=failing.values),
    )
