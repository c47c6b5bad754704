"""Parameter values that brute force tries: all of a finite space, of an infinite one those that tell most."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from cutecheck.model.expr import Domain
from cutecheck.model.prove.domains import first_values

_APART = 4  # values of one parameter that are tried while the others stay
_TOGETHER = 256  # parameter values tried of an infinite space besides


def all_values(domains: Mapping[str, Domain], limit: int) -> Iterator[dict[str, int]]:
    """Every combination of a space of at most ``limit`` values a parameter, smallest values first."""
    return _product(domains, limit)


def some_values(domains: Mapping[str, Domain]) -> Iterator[dict[str, int]]:
    """A few combinations of an infinite space: each parameter alone from two corners, then the smallest together.

    One parameter out of step is what most often breaks a property; a product of many would never reach the first ones.
    """
    near = {name: first_values(d, _APART) for name, d in domains.items()}
    if not all(near.values()):
        return
    for corner in ({n: v[0] for n, v in near.items()}, {n: v[-1] for n, v in near.items()}):
        yield corner
        for name, values in near.items():
            yield from ({**corner, name: value} for value in values if value != corner[name])
    each = max(2, int(_TOGETHER ** (1 / max(1, len(domains)))))
    yield from itertools.islice(_product(domains, each), _TOGETHER)


def _product(domains: Mapping[str, Domain], each: int) -> Iterator[dict[str, int]]:
    choices = [first_values(d, each) for d in domains.values()]
    return (dict(zip(domains, combination, strict=True)) for combination in itertools.product(*choices))
