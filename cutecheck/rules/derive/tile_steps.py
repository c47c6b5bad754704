"""By which stride a kernel steps from tile to tile of a matrix, and by which from row to row within one."""

from __future__ import annotations

import re

from cutecheck.facts import TensorFact
from cutecheck.model.expr import Var
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.rules.derive.vectors import leaves

_FEWEST = 8  # rows of a tile; so many times a number is not so by chance
_STRIDE = re.compile(r"stride|(?:^|[._>])ld(?=[_A-Z]|[a-z]{0,3}(?:#|$))")  # names of numbers that are strides


def other_step(tensor: TensorFact) -> tuple[Var, Var, int] | None:
    """The stride that a tile's start is a multiple of, by an index and its rows, where its rows have another one; that,
    and how many rows there are.

    Only where both are run-time numbers that are named as strides, no mode has the first as its stride, and the start
    has no such multiple of the second.
    """
    whole, bits = tensor.root_layout, tensor.root_bits
    if tensor.space != "gmem" or not isinstance(whole, Layout) or not bits or tensor.root_start_bits is None:
        return None
    modes = leaves(whole.shape, whole.stride) or ()
    own = {v.name for _, stride in modes for v in as_expr(stride).variables()}
    for extent, stride in modes:
        many, by = known_value(extent), _named(as_expr(stride).terms)
        if many is None or many < _FEWEST or by is None:
            continue
        starts = [
            [a for a in monomial if isinstance(a, Var) and _STRIDE.search(a.name)]
            for monomial, factor in as_expr(tensor.root_start_bits).terms
            if abs(factor) == many * int(bits) and len(monomial) > 1
        ]
        others = [found[0] for found in starts if len(found) == 1 and found[0].name not in own]
        if others and not any(v.name == by.name for found in starts for v in found):
            return others[0], by, many
    return None


def _named(terms: tuple[tuple[tuple[object, ...], int], ...]) -> Var | None:
    """The variable that a stride is, if it is one that is named so."""
    match terms:
        case (((Var() as only,), 1),) if _STRIDE.search(only.name):
            return only
    return None
