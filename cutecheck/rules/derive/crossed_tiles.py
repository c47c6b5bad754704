"""Operands whose rows are taken by what says the other mode of the result: by any expression of block indices.

``tile_walks`` follows indices that walk a mode in steps. Kernels that number their blocks anew (``x / n``, ``x % n``)
compute both coordinates of a tile, and take all tiles by these: there the expressions themselves are compared. So are
the coordinates that a scheduler gives each of the kernel's roles: these are the same where they have the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.rules.derive.coordinates import units_of
from cutecheck.rules.derive.vectors import leaves

_MODES = 2
_BLOCK = ("blockIdx.", "clusterIdx.", "clusterCtaIdx.")
_FRESH = re.compile(r"#\d+")


def crossed(operand: TensorFact, partner: TensorFact, result: TensorFact, mode: int) -> Expr | None:
    """What says which rows of an operand a block takes, where it says the result's other mode, and not this one.

    Where the rows of both operands go the other way, the result is stored transposed.
    """
    known = _rows(operand, partner, result)
    if known is None:
        return None
    rows, others, mine = known
    own, other = mine[mode], mine[1 - mode]
    if others != other:
        return None
    apart = {t for t, _ in rows.terms}.isdisjoint(t for t, _ in own.terms)
    return rows if rows.terms and own.terms and rows == other and apart else None


def nowhere(operand: TensorFact, partner: TensorFact, result: TensorFact, mode: int) -> Expr | None:
    """What says which rows of an operand a block takes, where nothing says this mode of the result: all blocks store
    to the same rows, or columns, of many."""
    known = _rows(operand, partner, result)
    if known is None:
        return None
    rows, others, mine = known
    root = result.root_layout
    extent = root.shape[mode] if isinstance(root, Layout) and isinstance(root.shape, tuple) else 1
    if mine[mode].terms or not isinstance(extent, Dyn) or others != mine[1 - mode]:
        return None
    apart = {t for t, _ in rows.terms}.isdisjoint(t for t, _ in others.terms)
    return rows if rows.terms and others.terms and apart else None


def _rows(operand: TensorFact, partner: TensorFact, result: TensorFact) -> tuple[Expr, Expr, list[Expr]] | None:
    """Of the rows of both operands, and of each mode of the result, what hangs on the block, or on what a scheduler
    says: numbers of one name that both the operands' rows and the result's coordinates hang on, and their siblings."""
    theirs, others, mine = _coordinates(operand), _coordinates(partner), _coordinates(result)
    if theirs is None or others is None or mine is None or len(mine) < _MODES:
        return None
    rows = theirs[0], others[0]
    both = _named(rows) & _named(mine)
    members = {b.rpartition(".")[0] for b in both} - {""}
    both |= {n for n in _named(rows) | _named(mine) if n.rpartition(".")[0] in members}
    return _of(rows[0], both), _of(rows[1], both), [_of(c, both) for c in mine]


def _named(coordinates: Iterable[Expr]) -> set[str]:
    """Numbers of a kernel's own that coordinates hang on, without the numbers of their walks."""
    found = {v.name for c in coordinates for v in c.variables() if "#" in v.name and PER_THREAD not in v.name}
    return {_FRESH.sub("", n) for n in found}


def _of(coordinate: Expr, scheduled: set[str]) -> Expr:
    """Those terms that hang on the block, or on one of these numbers."""
    names = {v.name: (_FRESH.sub("", v.name), v.domain) for v in coordinate.variables() if "#" in v.name}
    plain = coordinate.substitute({name: ex.var(*known) for name, known in names.items()})
    terms = (t for t in plain.terms if any(_says(v.name, scheduled) for v in Expr((t,)).variables()))
    return Expr(tuple(terms))


def _says(name: str, scheduled: set[str]) -> bool:
    return name.startswith(_BLOCK) or name in scheduled


def _coordinates(tensor: TensorFact) -> list[Expr] | None:
    """Of each mode of the whole tensor the coordinate of a tile; None where not known."""
    root = tensor.root_layout
    if not isinstance(root, Layout) or not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple):
        return None
    if tensor.space == "coord":
        return _of_tma(tensor, root.stride)
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
            if unit is None or not any(v.name.startswith(_BLOCK) for v in Expr(((monomial, factor),)).variables()):
                continue
            if factor % unit:
                return None
            at = units.index(unit)
            found[at] = ex.add(found[at], Expr(((monomial, factor // unit),)))
    return found


def _of_tma(tensor: TensorFact, strides: tuple[object, ...]) -> list[Expr] | None:
    if isinstance(tensor.offset, Unknown) or not isinstance(tensor.offset, tuple):
        return None
    found = []
    for stride in strides:
        if not isinstance(stride, ScaledBasis) or len(stride.path) != 1 or stride.value != 1:
            return None
        at = tensor.offset[stride.path[0]] if stride.path[0] < len(tensor.offset) else 0
        if not isinstance(at, (int, Dyn)):
            return None
        found.append(as_expr(at))
    return found


__all__ = ["crossed", "nowhere"]
