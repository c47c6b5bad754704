"""Rows one change away from another: where CuTe's conditions begin and end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Dyn, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.tests.model.differential.generator import Generator
from cutecheck.tests.model.differential.spelling import Row


def neighbour(g: Generator, row: Row) -> Row | None:
    """The row with one argument changed at one leaf: another number, or static made run-time, or one mode less."""
    places = [i for i, a in enumerate(row.args) if isinstance(a, (int, Dyn, tuple, Layout, ComposedLayout))]
    if row.targs and (not places or g.chance(0.2)):
        i = g.rng.randrange(len(row.targs))
        changed = max(0, row.targs[i] + g.rng.choice([-1, 1, 2]))
        return None if row.fn == "recast_layout" else replace(row, targs=(*row.targs[:i], changed, *row.targs[i + 1 :]))
    if not places:
        return None
    i = g.rng.choice(places)
    return replace(row, args=(*row.args[:i], _changed(g, row.args[i]), *row.args[i + 1 :]))


def _changed(g: Generator, value: Any) -> Any:
    if isinstance(value, Layout):
        if (
            isinstance(value.shape, tuple)
            and isinstance(value.stride, tuple)
            and len(value.shape) > 1
            and g.chance(0.1)
        ):
            return Layout(value.shape[:-1], value.stride[:-1])
        if g.chance(0.5):
            return Layout(_changed(g, value.shape), value.stride)
        return Layout(value.shape, _changed(g, value.stride))
    if isinstance(value, ComposedLayout):
        if isinstance(value.a, Swizzle) and g.chance(0.2):
            return replace(value, a=g.swizzle())
        if isinstance(value.offset, (int, Dyn)) and g.chance(0.2):
            return replace(value, offset=g.integer(g.rng.choice([0, 1, 8, 12])))
        return replace(value, b=_changed(g, value.b))
    if isinstance(value, tuple):
        if not value:
            return (1,)
        i = g.rng.randrange(len(value))
        return (*value[:i], _changed(g, value[i]), *value[i + 1 :])
    if isinstance(value, ScaledBasis):
        return ScaledBasis(_changed(g, value.value), value.path)
    if isinstance(value, (int, Dyn)):
        number = known_value(value)
        if number is None:
            return value
        if g.chance(0.2):
            return number if isinstance(value, Dyn) else Dyn.of(number)
        other = g.rng.choice([number + 1, max(1, number - 1), 2 * number, max(1, number // 2), number + 2, 3 * number])
        return Dyn.of(other) if isinstance(value, Dyn) else other
    return value
