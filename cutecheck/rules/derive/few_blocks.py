"""Grids that have fewer blocks along an index than the mode that it alone walks has tiles."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Monomial, Op
from cutecheck.model.expr.arithmetic import build
from cutecheck.model.ints import Dyn, Int, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.rules.derive.coordinates import units_of
from cutecheck.rules.derive.vectors import leaves

_TILES = (24, 48, 240)  # at which a number of blocks is compared that hangs on an extent of run time


def covered(blocks: Int, tile: int, extent: Int) -> tuple[int, int, int] | None:
    """The blocks, what they cover, and an extent that is more; None where they cover all, or that is not known.

    Of an extent that is one number of run time, and blocks that follow from it alone: many tiles, of which the last is
    whole.
    """
    most, many = known_value(extent), known_value(blocks)
    if most is not None and many is not None:
        return (many, many * tile, most) if many * tile < most else None
    whole, counted = as_expr(extent), as_expr(blocks)
    one, other = ({v.name for v in e.variables()} for e in (whole, counted))
    if len(one) != 1 or len(other) != 1 or {_named(n) for n in one} != {_named(n) for n in other}:
        return None
    found = []
    for tiles in _TILES:
        try:
            at = dict.fromkeys(one | other, tiles * tile)
            found.append((counted.evaluate(at), whole.evaluate(at)))
        except (KeyError, ZeroDivisionError, ValueError):
            return None
    if any(most != tiles * tile or not 0 < many < tiles for (many, most), tiles in zip(found, _TILES, strict=True)):
        return None
    many, most = found[0]
    return many, many * tile, most


def by_own_index(tensor: TensorFact) -> TensorFact | None:
    """A tensor whose block is told by its pair and its place in that (``blockIdx.x / 2``, ``% 2``), by its own index
    instead; None of all others."""
    if tensor.space != "gmem" or not isinstance(tensor.offset, Dyn):
        return None
    whole = as_expr(tensor.offset)
    joined = _joined(whole)
    return None if joined == whole else replace(tensor, offset=Dyn(joined))


def _joined(e: Expr) -> Expr:
    """With ``f * n * (x / n) + f * (x % n)`` as ``f * x``, where ``x`` is a block index."""
    terms = dict(e.terms)
    for monomial, factor in e.terms:
        for part in monomial:
            if not (isinstance(part, Op) and part.kind == "mod" and str(part.args[0]).startswith("blockIdx.")):
                continue
            by = part.args[1].constant
            whole = _instead(monomial, part, ex.op("div", *part.args))
            if by is None or whole is None or terms.get(whole) != factor * by or monomial not in terms:
                continue
            del terms[whole], terms[monomial]
            joined = _instead(monomial, part, part.args[0]) or ()
            terms[joined] = terms.get(joined, 0) + factor
    return build(terms)


def _instead(monomial: Monomial, part: Op, other: Expr) -> Monomial | None:
    """The product with another factor in the place of one; None where that is no product."""
    rest = list(monomial)
    rest.remove(part)
    match ex.mul(Expr(((tuple(rest), 1),)), other).terms:
        case ((product, 1),):
            return product
    return None


def reach(tensor: TensorFact, mode: int) -> int | None:
    """How many elements a block's tile has along a mode of the whole tensor, by the strides of its own layout."""
    root, tile = tensor.root_layout, tensor.tile_layout
    if not isinstance(root, Layout) or not isinstance(tile, Layout):
        return None
    modes = leaves(root.shape, root.stride)
    told = None if modes is None else units_of([s for _, s in modes])
    if told is None:
        return None
    values, units = told
    last = 0
    for extent, stride in leaves(tile.shape, tile.stride) or ():
        step, many = as_expr(stride).substitute(values).constant, known_value(extent)
        if step is None or many is None:
            return None
        unit = max((u for u in units if 0 < u <= step), default=None)
        if step and unit is not None and units.index(unit) == mode:
            last += (many - 1) * (step // unit)
    return last + 1


def _named(variable: str) -> str:
    """Without the number that tells walks of its function apart."""
    return variable.partition("#")[0]


__all__ = ["by_own_index", "covered", "reach"]
