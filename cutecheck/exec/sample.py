"""Run-time values put in for names, so that a result that is a formula can be compared at a point."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Var
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import ComposedLayout, Layout

# small and different from each other: a layout's offsets are all compared
_TRIED = (16, 24, 40, 8, 56, 48, 72, 32, 6, 10, 3, 5, 7, 1, 2)


def names(value: object) -> Iterator[Var]:
    """The run-time variables of a value."""
    if isinstance(value, Dyn):
        yield from value.expr.variables()
    elif isinstance(value, ScaledBasis):
        yield from names(value.value)
    elif isinstance(value, tuple):
        for v in value:
            yield from names(v)
    elif isinstance(value, Layout):
        yield from names((value.shape, value.stride))
    elif isinstance(value, ComposedLayout):
        yield from names((value.a, value.offset, value.b))


def point(value: object) -> dict[str, int]:
    """A number for each variable, within its domain and the same in every run; variables differ where they can."""
    out: dict[str, int] = {}
    for variable in sorted(names(value), key=lambda v: v.name):
        if variable.name not in out:
            out[variable.name] = _number(variable.name, variable.domain, set(out.values()))
    return out


def _number(name: str, domain: Domain, taken: set[int]) -> int:
    start = zlib.crc32(name.encode()) % 5
    tried = [*_TRIED[start:], *_TRIED[:start]]
    low = domain.bounds()[0] or 0
    step = abs(domain.step) or 1
    multiples = [-(-low // step) * step + step * i for i in range(len(_TRIED))]
    found = [n for n in (*tried, *multiples, *(domain.values or ())) if n in domain]
    return next((n for n in found if n not in taken), found[0] if found else low)


def at(value: Any, values: Mapping[str, int]) -> Any:
    """The value with numbers for its variables; run-time integers stay run-time."""
    if isinstance(value, Dyn):
        return Dyn(value.expr.substitute({name: ex.const(n) for name, n in values.items()}))
    if isinstance(value, ScaledBasis):
        return ScaledBasis(at(value.value, values), value.path)
    if isinstance(value, tuple):
        return tuple(at(v, values) for v in value)
    if isinstance(value, Layout):
        return Layout(at(value.shape, values), at(value.stride, values))
    if isinstance(value, ComposedLayout):
        return ComposedLayout(at(value.a, values), at(value.offset, values), at(value.b, values))
    return value
