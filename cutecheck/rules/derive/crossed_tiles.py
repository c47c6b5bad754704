"""Operands whose rows are taken by what says the other mode of the result: by any expression of block indices.

``tile_walks`` follows indices that walk a mode in steps. Kernels that number their blocks anew (``x / n``, ``x % n``)
compute both coordinates of a tile, and take all tiles by these: there the expressions themselves are compared.
"""

from __future__ import annotations

from cutecheck.facts import TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.rules.derive.coordinates import units_of
from cutecheck.rules.derive.vectors import leaves

_MODES = 2


def crossed(operand: TensorFact, partner: TensorFact, result: TensorFact, mode: int) -> Expr | None:
    """What says which rows of an operand a block takes, where it says the result's other mode, and not this one.

    Where the rows of both operands go the other way, the result is stored transposed.
    """
    theirs, others, mine = _of_blocks(operand), _of_blocks(partner), _of_blocks(result)
    if theirs is None or others is None or mine is None or len(mine) < _MODES:
        return None
    rows, own, other = theirs[0], mine[mode], mine[1 - mode]
    if others[0] != other:
        return None
    apart = {t for t, _ in rows.terms}.isdisjoint(t for t, _ in own.terms)
    return rows if rows.terms and own.terms and rows == other and apart else None


def _of_blocks(tensor: TensorFact) -> list[Expr] | None:
    """Of each mode of the whole tensor the part of the coordinate that hangs on the block; None where not known."""
    root = tensor.root_layout
    if not isinstance(root, Layout) or not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple):
        return None
    if tensor.space == "coord":
        return _of_coordinates(tensor, root.stride)
    modes = leaves(root.shape, root.stride)
    if tensor.space != "gmem" or modes is None or len(modes) != len(root.shape):
        return None
    told = units_of([s for _, s in modes])
    if told is None or not isinstance(tensor.offset, (int, Dyn)):
        return None
    values, units = told
    known = [u for u in units if u]
    found = [ex.const(0) for _ in modes]
    for own in as_expr(tensor.offset).terms:
        for monomial, factor in Expr((own,)).substitute(values).terms:
            unit = max((u for u in known if u <= abs(factor)), default=None)
            if unit is None or not _hangs_on_block(Expr(((monomial, factor),))):
                continue
            if factor % unit:
                return None
            at = units.index(unit)
            found[at] = ex.add(found[at], Expr(((monomial, factor // unit),)))
    return found


def _of_coordinates(tensor: TensorFact, strides: tuple[object, ...]) -> list[Expr] | None:
    if isinstance(tensor.offset, Unknown) or not isinstance(tensor.offset, tuple):
        return None
    found = []
    for stride in strides:
        if not isinstance(stride, ScaledBasis) or len(stride.path) != 1 or stride.value != 1:
            return None
        at = tensor.offset[stride.path[0]] if stride.path[0] < len(tensor.offset) else 0
        if not isinstance(at, (int, Dyn)):
            return None
        terms = tuple(t for t in as_expr(at).terms if _hangs_on_block(Expr((t,))))
        found.append(Expr(terms))
    return found


def _hangs_on_block(term: Expr) -> bool:
    return any(v.name.startswith("blockIdx.") for v in term.variables())


__all__ = ["crossed"]
