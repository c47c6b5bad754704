"""The copies, MMAs and sites of the Python DSL, compiled by the DSL itself and held against the same predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cutecheck.exec.isa import dsl_calls, predict
from cutecheck.exec.isa.counts import Key
from cutecheck.exec.isa.dsl_calls import DslKernel, UnspellableError
from cutecheck.exec.isa.dsl_compile import DslBench, emitted
from cutecheck.exec.isa.from_facts import NoCallError, call_of
from cutecheck.exec.isa.probe import IsaCall
from cutecheck.exec.isa.tier import ArchResult, Fact, IsaOptions, IsaResult, archs, judged
from cutecheck.facts import Site
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError


@dataclass(frozen=True, slots=True)
class DslOutcome:
    """The results with the DSL's runs added; ``version`` is the DSL's, ``unavailable`` why it could not be asked."""

    results: tuple[IsaResult, ...]
    version: str = ""
    unavailable: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    call: IsaCall
    predicted: Counter[Key]
    kernel: DslKernel


def by_dsl(results: Sequence[IsaResult], bench: DslBench, options: IsaOptions | None = None) -> DslOutcome:
    """The results, those of Python sources with one more run an architecture: what the DSL's compiler emits.

    Compiles configurations derived from the scanned sources: only for a user who asked for it.
    """
    options = options or IsaOptions()
    planned = {id(r): _plan(r.fact) for r in results if r.fact.span.is_python}
    wanted: dict[str, dict[DslKernel, None]] = {}
    for plan in planned.values():
        if isinstance(plan, _Plan):
            for arch in archs(plan.call, options.archs):
                wanted.setdefault(arch, {})[plan.kernel] = None
    version = missing = ""
    found = {}
    for arch, group in wanted.items():
        made = emitted(list(group), arch, bench)
        version, missing = made.version or version, missing or made.unavailable
        found[arch] = dict(zip(group, made.kernels, strict=True))
    out = []
    for r in results:
        plan = planned.get(id(r), "")
        if isinstance(plan, _Plan):
            runs = tuple(
                replace(judged(arch, plan.call, plan.predicted, found[arch][plan.kernel]), compiler="dsl")
                for arch in archs(plan.call, options.archs)
            )
            out.append(replace(r, predicted=r.predicted or plan.predicted, runs=(*r.runs, *runs)))
        elif plan and not r.runs:
            out.append(replace(r, unavailable="; ".join(dict.fromkeys((r.unavailable, plan)))))
        else:
            out.append(r)
    return DslOutcome(tuple(out), version, missing)


def _plan(fact: Fact) -> _Plan | str:
    if isinstance(fact, Site) and (fact.status != "resolved" or fact.value is None):
        return "its value is not resolved"
    try:
        call = call_of(fact)
        return _Plan(call, predict.instructions(call, dsl=True), dsl_calls.kernel(call_of(fact, numbers=False)))
    except (NoCallError, UnspellableError, predict.NoPredictionError) as error:
        return str(error)
    except (CuteError, NotModelledError, UndecidedError) as error:
        return f"its prediction: {error}"


__all__ = ["ArchResult", "DslOutcome", "by_dsl"]
