"""Which engines answer an obligation, and how their answers become a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from typing import cast

from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.canonical import canonical, renamed, restated
from cutecheck.model.prove.domains import (
    PER_THREAD,
    describe,
    expressions,
    opaque_names,
    per_thread,
    variable_domains,
    without_others,
)
from cutecheck.model.prove.engines import brute
from cutecheck.model.prove.hypotheses import follows_from_one, others_met, satisfiable
from cutecheck.model.prove.instances import at, finite_parameters, instances
from cutecheck.model.prove.no_elements import empty, ill_formed
from cutecheck.model.prove.obligation import EngineRun, Obligation, Outcome, Verdict, Witness
from cutecheck.model.prove.replay import replayed
from cutecheck.model.prove.small import in_small_numbers

Engine = Callable[[Obligation, Options], Answer]

_NORMAL = ("normal-form", "normal", "run")
_BRUTE = ("brute-force", "brute", "run")
_INTEGERS = ("z3-int", "integers", "run")
_BITVECTORS = ("z3-bv", "bitvec", "run")
_GF2 = ("gf2", "gf2", "run")
_RESIDUES = ("residues", "residues", "run")

# Engines of each property, cheap first: (name, module under engines/, function). Their code is disjoint.
_ENGINES: dict[type[object], tuple[tuple[str, str, str], ...]] = {
    p.BankAccess: (_RESIDUES, _GF2, _BITVECTORS, _BRUTE),
    p.GmemSectors: (_NORMAL, _RESIDUES, _BRUTE, _BITVECTORS),
    p.Coverage: (_NORMAL, _BRUTE, _INTEGERS),
    p.Bijective: (_NORMAL, _BRUTE, _INTEGERS),
    p.Injective: (_NORMAL, _BRUTE, _INTEGERS),
    p.CosizeFits: (_NORMAL, _BRUTE, _INTEGERS, _BITVECTORS),
    p.LayoutEqual: (_NORMAL, _BRUTE, _INTEGERS, _BITVECTORS),
    p.TmaLimits: (_NORMAL, _BRUTE, _INTEGERS),
    p.GmmaCanonical: (_NORMAL, _BRUTE),
    p.Contiguous: (_NORMAL, _BRUTE),
    p.AtomCounts: (_NORMAL, _BRUTE, _INTEGERS),
    p.Divides: (_NORMAL, _RESIDUES, _BRUTE, _INTEGERS),
    p.Holds: (_NORMAL, _BRUTE, _INTEGERS),
    p.InBounds: (_NORMAL, _BRUTE, _INTEGERS),
    p.Alignment: (_NORMAL, _RESIDUES, _BITVECTORS, _BRUTE, _INTEGERS),
}

WORST = "z3-bv worst"  # the run that shows that no instruction costs more than the one shown
_MEASURED = ("wavefronts", "ideal", "excess")
_NONE_MEET = "no parameters meet the hypotheses"
_INSTANCES = 64  # finite parameter combinations that are answered one by one


def engine_names() -> tuple[str, ...]:
    return tuple(sorted({name for entries in _ENGINES.values() for name, _, _ in entries}))


def prove(obligation: Obligation, options: Options = Options()) -> Outcome:  # noqa: B008 - frozen
    """Answer an obligation. Never raises for what is merely unknown; the reason is in the outcome.

    Hypotheses about other numbers than those of the goal are only asked whether something meets them.
    """
    less = without_others(obligation)
    if less is obligation:
        return _asked(obligation, options)
    met = others_met(obligation, less, options)
    if met is False:
        return Outcome(obligation, Verdict.VACUOUS, reason=_NONE_MEET)
    outcome = _asked(less, options)
    if met is None and outcome.verdict is not Verdict.PROVED:
        return _asked(obligation, options)
    return replace(outcome, obligation=obligation)


def _asked(obligation: Obligation, options: Options) -> Outcome:
    if options.cache is None:
        return _answer(obligation, options)
    asked = canonical(obligation)
    found = options.cache.get(asked.question)
    if found is None:
        found = replace(_answer(restated(asked), options), question=asked.question)
        options.cache[asked.question] = found
    if not asked.names:
        return replace(found, obligation=obligation)
    return replace(renamed(replace(found, obligation=None), asked.names), obligation=obligation)  # type: ignore[arg-type]


def _answer(obligation: Obligation, options: Options) -> Outcome:
    return _by_instances(obligation, options, _prove(obligation, options))


def _prove(obligation: Obligation, options: Options) -> Outcome:
    if isinstance(obligation.objects, (p.BankAccess, p.GmemSectors)):
        own = sorted({n for e in expressions(obligation.objects) for n in opaque_names(e) if per_thread(n)})
        if own:
            reason = f"`{own[0].split(PER_THREAD)[0]}` may differ from thread to thread, and is not known"
            return Outcome(obligation, Verdict.UNKNOWN, reason=reason)
    payload = cast("p.Payload", obligation.objects)
    none = ill_formed(payload)
    if none is not None:
        return Outcome(obligation, Verdict.UNKNOWN, reason=none)
    nothing = empty(payload)
    if nothing is not None:
        return Outcome(obligation, Verdict.VACUOUS, reason=nothing)
    entries = _ENGINES.get(type(payload), ())
    if options.engine is not None:
        entries = tuple(e for e in entries if e[0] == options.engine)
    entries = tuple(e for e in entries if e[0] not in options.without)
    if not entries:
        return Outcome(obligation, Verdict.UNKNOWN, reason=f"no engine for {obligation.property}")
    runs: list[EngineRun] = []
    answers: list[Answer] = []
    for name, module, function in entries:
        started = time.perf_counter()
        answer = _run(module, function, obligation, options)
        runs.append(EngineRun(name, answer.answer, (time.perf_counter() - started) * 1e3, answer.detail))
        answers.append(answer)
        if _settled(runs, answers):
            break
    return _combine(obligation, options, runs, answers)


def _run(module: str, function: str, obligation: Obligation, options: Options) -> Answer:
    """One engine's answer; a fault inside it is a reason for unknown, not the end of the run."""
    try:
        engine = cast("Engine", getattr(import_module(f"cutecheck.model.prove.engines.{module}"), function))
        return engine(obligation, options)
    except ZeroDivisionError:  # plain evaluation at a parameter value the source rules out, but does not state
        return unknown("divides by a value that may be 0")
    except Exception as error:
        return unknown(f"{module}: {type(error).__name__}: {error}")


def _settled(runs: list[EngineRun], answers: list[Answer]) -> bool:
    """Two engines agree that it holds, or one shows a counterexample and a second has spoken, or they differ.

    What brute force shows is evaluated already, and replay evaluates it again: the second is not waited for.
    """
    holds = sum(a.answer == "holds" for a in answers)
    shown = sum(a.answer == "fails" and bool(a.values) for a in answers)
    fails = sum(a.answer == "fails" for a in answers)
    evaluated = answers[-1].answer == "fails" and bool(answers[-1].values) and runs[-1].engine == _BRUTE[0]
    return evaluated or holds >= 2 or (shown > 0 and fails + holds >= 2) or (fails > 0 and holds > 0)


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
    if (holds and fails) or len({dict(a.measure)["excess"] for a in fails if "excess" in dict(a.measure)}) > 1:
        return _disagreement(base, answers)
    if fails:
        return _worst(_refutation(base, obligation, fails), answers, options)
    if satisfiable(obligation, options) is False:
        return replace(base, verdict=Verdict.VACUOUS, reason=_NONE_MEET)
    reasons = _merged(*((a.detail,) for a in answers if a.answer == "unknown" and a.detail))
    if base.number("excess"):
        return replace(base, verdict=Verdict.DISAGREE, reason="an access that holds has excess wavefronts")
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
    """A counterexample that replays refutes. One that names parameters only is completed by search at those."""
    shown = [a for a in fails if a.values]
    for answer in shown:
        witness = replayed(obligation, answer)
        if witness is not None and _confirms(witness, answer):
            witness = in_small_numbers(obligation, answer, witness)
            return replace(base, verdict=Verdict.REFUTED, witness=witness, measure=answer.measure or _numbers(witness))
        if witness is not None:
            return replace(base, verdict=Verdict.DISAGREE, witness=witness, reason="replay measures other numbers")
    for answer in shown:
        bound = at(obligation, dict(answer.values))
        completed = brute.run(bound, Options())
        if completed.answer == "fails":
            values = tuple(sorted({**dict(answer.values), **dict(completed.values)}.items()))
            witness = replayed(obligation, replace(completed, values=values))
            if witness is not None:
                witness = in_small_numbers(obligation, replace(completed, values=values), witness)
                return replace(base, verdict=Verdict.REFUTED, witness=witness, measure=completed.measure)
        elif completed.answer == "unknown":
            return replace(base, reason=f"fails for {_text(answer.values)}, no counterexample found there")
    if not shown:
        return replace(base, reason="an engine says it fails, none found a counterexample")
    return replace(
        base,
        verdict=Verdict.DISAGREE,
        reason="a counterexample did not replay: internal error",
        witness=Witness("not replayed", values=shown[0].values),
    )


def _worst(outcome: Outcome, answers: list[Answer], options: Options) -> Outcome:
    """A count of wavefronts that one engine alone gives as the worst: no instruction takes more, by another engine."""
    counted = sum(a.answer == "fails" and bool(a.measure) for a in answers)
    excess = outcome.number("excess")
    asked = isinstance(outcome.obligation.objects, p.BankAccess) and options.engine is None
    if outcome.verdict is not Verdict.REFUTED or not asked or counted > 1 or excess is None:
        return outcome
    if "z3-bv" in options.without:
        return outcome
    started = time.perf_counter()
    answer = _ask_worst(outcome.obligation, excess, options)
    run = EngineRun(WORST, answer.answer, (time.perf_counter() - started) * 1e3, answer.detail)
    outcome = replace(outcome, runs=(*outcome.runs, run))
    if answer.answer == "holds":
        return replace(outcome, reductions=(*outcome.reductions, f"no instruction takes more than {excess} in excess"))
    costlier = replayed(outcome.obligation, answer) if answer.answer == "fails" else None
    numbers = () if costlier is None else _numbers(costlier)
    if dict(numbers).get("excess", 0) > excess:
        # Only residues have seen every instruction, where nothing was over-approximated.
        pairs = zip(outcome.runs, answers, strict=False)  # the last run is the one above
        if any(r.engine == "residues" and a.answer == "fails" and not a.detail for r, a in pairs):
            return replace(outcome, verdict=Verdict.DISAGREE, witness=costlier, reason="a costlier instruction exists")
        return replace(outcome, witness=costlier, measure=numbers, reason="the costliest instruction is not known")
    return replace(outcome, reason=f"that no instruction takes more is the word of one engine: {answer.detail}")


def _ask_worst(obligation: Obligation, excess: int, options: Options) -> Answer:
    try:
        from cutecheck.model.prove.engines.worst import at_most

        return at_most(obligation, excess, options)
    except Exception as error:
        return unknown(f"worst: {type(error).__name__}: {error}")


def _numbers(witness: Witness) -> tuple[tuple[str, int], ...]:
    return tuple((n, v) for n, v in witness.values if n in _MEASURED and isinstance(v, int))


def _confirms(witness: Witness, answer: Answer) -> bool:
    """The numbers that the replay measured are the engine's, as far as both have them."""
    measured = dict(witness.values)
    return all(measured.get(n, v) == v for n, v in answer.measure if n in _MEASURED)


def _text(values: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values)


def _by_instances(obligation: Obligation, options: Options, outcome: Outcome) -> Outcome:
    """Where finite parameters matter, the exact set of values for which the property fails, or holds."""
    if outcome.verdict not in (Verdict.REFUTED, Verdict.UNKNOWN):
        return outcome
    names = finite_parameters(obligation, _INSTANCES)
    if not names:
        return outcome
    by_verdict: dict[Verdict, list[str]] = {}
    first: dict[Verdict, Outcome] = {}
    for numbers, instance in instances(obligation, names):
        answer = _prove(instance, options)
        by_verdict.setdefault(answer.verdict, []).append(_text(numbers.items()))
        first.setdefault(answer.verdict, answer)
    proved = by_verdict.get(Verdict.PROVED, [])
    words = {Verdict.PROVED: "proved", Verdict.REFUTED: "refuted"}
    parts = [
        f"{words.get(v, v.value)} for {'; '.join(texts)}"
        for v, texts in sorted(by_verdict.items(), key=lambda item: item[0] is Verdict.PROVED)
    ]
    if len(by_verdict) == 1 and proved:
        best = first[Verdict.PROVED]
        reductions = (*best.reductions, f"{len(proved)} instances, one by one")
        return replace(best, obligation=obligation, scope=outcome.scope, reductions=reductions)
    scope = f"proved for {'; '.join(proved)}" if proved else outcome.scope
    return replace(outcome, reason=", ".join(parts), scope=scope)


def _disagreement(base: Outcome, answers: list[Answer]) -> Outcome:
    text = ", ".join(f"{run.engine} says {run.answer}" for run in base.runs)
    failing = next(a for a in answers if a.answer == "fails")
    return replace(
        base,
        verdict=Verdict.DISAGREE,
        reason=f"engines differ ({text}): internal error",
        witness=Witness("counterexample of one engine", values=failing.values),
    )
