"""An obligation at concrete values of some parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from cutecheck.model.expr import Domain, Expr, const
from cutecheck.model.ints import Dyn, Sym, wrap
from cutecheck.model.prove.domains import meets, variable_domains
from cutecheck.model.prove.obligation import Obligation


def bind(value: Any, numbers: Mapping[str, int]) -> Any:
    """``value`` (a payload, layout, tuple, integer, expression) with variables replaced by numbers."""
    if isinstance(value, Expr):
        return value.substitute({n: const(x) for n, x in numbers.items()})
    if isinstance(value, (Dyn, Sym)):
        return wrap(bind(value.expr, numbers), isinstance(value, Dyn))
    if isinstance(value, tuple):
        return tuple(bind(v, numbers) for v in value)
    if is_dataclass(value) and not isinstance(value, (type, Domain)):
        changed = {f.name: bind(getattr(value, f.name), numbers) for f in fields(value)}
        return replace(value, **changed)
    return value


def at(obligation: Obligation, numbers: Mapping[str, int]) -> Obligation:
    """The obligation with these variables bound, in payload and hypotheses."""
    return replace(
        obligation,
        objects=bind(obligation.objects, numbers),
        hypotheses=bind(obligation.hypotheses, numbers),
        params=tuple((n, d) for n, d in obligation.params if n not in numbers),
    )


def finite_parameters(obligation: Obligation, limit: int) -> tuple[str, ...]:
    """Parameters and variables with finite sets that the question mentions, when they stay within ``limit`` cases."""
    domains = variable_domains(obligation)
    thread = getattr(obligation.objects, "thread", None)
    names = tuple(n for n, d in domains.items() if n != thread and d.values)
    count = math.prod(len(domains[n].values or ()) for n in names)
    return names if names and count <= limit else ()


def instances(obligation: Obligation, names: tuple[str, ...]) -> Iterator[tuple[dict[str, int], Obligation]]:
    """Every combination of the finite parameters that does not contradict the hypotheses by itself."""
    domains = variable_domains(obligation)
    for combination in itertools.product(*(domains[n].values or () for n in names)):
        numbers = dict(zip(names, combination, strict=True))
        if meets(obligation.hypotheses, numbers):
            yield numbers, at(obligation, numbers)
