"""By which stride a kernel steps from tile to tile of a matrix, and by which from row to row within one."""

from __future__ import annotations

import re

from cutecheck.facts import Event, TensorFact
from cutecheck.model.expr import Var
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.unwrapped import unwrapped
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
            for monomial, factor in unwrapped(as_expr(tensor.root_start_bits)).terms
            if abs(factor) == many * int(bits) and len(monomial) > 1
        ]
        others = [found[0] for found in starts if len(found) == 1 and found[0].name not in own]
        if others and not any(v.name == by.name for found in starts for v in found):
            return others[0], by, many
    return None


def of_another(step: tuple[Var, Var, int], event: Event, tensor: TensorFact, context: Context) -> bool:
    """Whether one of the two strides is that of another matrix: rows of that are as far apart as the tiles here start,
    or its tiles start by as many of the strides that the rows have here.

    Else both may be this matrix's own: of heads, say, or lines of images, of which a block has as many as rows.
    """
    tiles, rows, many = step
    for e in context.facts.events:
        for other in e.operands if (e.kernel, e.arch) == (event.kernel, event.arch) else ():
            if other.space != "gmem" or not other.root_bits or other.buffer in (None, tensor.buffer):
                continue
            whole, start = other.root_layout, other.root_start_bits
            modes = (leaves(whole.shape, whole.stride) if isinstance(whole, Layout) else None) or ()
            own = {v.name for _, stride in modes for v in as_expr(stride).variables()}
            terms = unwrapped(as_expr(start)).terms if start is not None else ()
            starts = {
                a.name for monomial, factor in terms if abs(factor) == many * int(other.root_bits) and len(monomial) > 1
                for a in monomial if isinstance(a, Var)
            }  # fmt: skip
            if tiles.name in own or (rows.name in own and rows.name in starts):
                return True
    return False


def _named(terms: tuple[tuple[tuple[object, ...], int], ...]) -> Var | None:
    """The variable that a stride is, if it is one that is named so."""
    match terms:
        case (((Var() as only,), 1),) if _STRIDE.search(only.name):
            return only
    return None
