"""Are the hypotheses satisfiable, and does the goal follow from one of them alone?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from cutecheck.model import ints
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Condition, Undecided, decide
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.domains import first_values, meets, size_of, variable_domains
from cutecheck.model.prove.obligation import Obligation

_TRIES = 4096
_MOST = 1 << 12  # answers kept
_MET: dict[tuple[object, ...], bool] = {}  # by hypotheses and parameters: most obligations of a kernel have the same


def satisfiable(obligation: Obligation, options: Options) -> bool | None:
    """Some values of the parameters meet every hypothesis; None when not decided.

    Small values are tried first; where they do not settle it, Z3 does.
    """
    domains = variable_domains(obligation)
    if any(size_of(d) == 0 for d in domains.values()):
        return False
    if not obligation.hypotheses:
        return True
    tried = {
        _some_meet(tuple(names), tuple(group), tuple(domains[n] for n in names))
        for names, group in _apart(obligation.hypotheses)
    }
    if False in tried:
        return False
    if tried == {True}:
        return True
    from cutecheck.model.prove.engines.integers import hypotheses_satisfiable

    return hypotheses_satisfiable(obligation, options)


def others_met(whole: Obligation, less: Obligation, options: Options) -> bool | None:
    """Some values meet the hypotheses of ``whole`` that ``less`` has left out; None when not decided."""
    kept = set(less.hypotheses)
    others = tuple(h for h in whole.hypotheses if h not in kept)
    key = others, whole.params
    found = _MET.get(key)
    if found is None:
        found = satisfiable(replace(whole, objects=(), hypotheses=others), options)
        if found is not None:  # which may be for want of time
            if len(_MET) >= _MOST:
                _MET.clear()
            _MET[key] = found
    return found


def _apart(hypotheses: tuple[Condition, ...]) -> Iterator[tuple[list[str], list[Condition]]]:
    """Hypotheses in groups that share no variable, with their variables: each group is met, or not, for itself."""
    groups: list[tuple[set[str], list[Condition]]] = []
    for h in hypotheses:
        names = {v.name for e in (h.lhs, h.rhs) for v in e.variables()}
        shared = [g for g in groups if g[0] & names]
        groups = [g for g in groups if not g[0] & names]
        groups.append((names.union(*(g[0] for g in shared)), [*(c for g in shared for c in g[1]), h]))
    return ((sorted(names), among) for names, among in groups)


@lru_cache(maxsize=4096)  # most questions about a kernel have these of its launch
def _some_meet(names: tuple[str, ...], group: tuple[Condition, ...], domains: tuple[Domain, ...]) -> bool | None:
    """Whether small values meet these conditions; None where none of those tried do and there are others."""
    each = max(2, int(_TRIES ** (1 / max(1, len(names)))))
    choices = [first_values(domain, each) for domain in domains]
    for combination in itertools.islice(itertools.product(*choices), _TRIES):
        if meets(group, dict(zip(names, combination, strict=True))):
            return True
    whole = all((size_of(domain) or each + 1) <= each for domain in domains)
    return False if whole and math.prod(map(len, choices)) <= _TRIES else None


def goal_conditions(payload: object) -> tuple[Condition, ...]:
    """The payload as plain conditions, where it is nothing more."""
    if isinstance(payload, p.Holds):
        return payload.conditions
    if isinstance(payload, p.Divides):
        return tuple(
            Condition(ints.Rel.DIVIDES, ints.as_expr(m.divisor), ints.as_expr(m.dividend)) for m in payload.modes
        )
    if isinstance(payload, p.AtomCounts):
        return tuple(Condition(ints.Rel.EQ, ints.as_expr(c.actual), ints.as_expr(c.required)) for c in payload.counts)
    return ()


def follows_from_one(obligation: Obligation) -> bool:
    """A goal that is not decided by itself follows from a single hypothesis: then it is assumed, not proved."""
    for goal in goal_conditions(obligation.objects):
        if isinstance(decide(goal), Undecided) and any(decide(goal, (h,)) is True for h in obligation.hypotheses):
            return True
    return False
