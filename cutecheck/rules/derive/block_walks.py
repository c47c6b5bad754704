"""The block indices that walk the modes of a tensor in global memory, and how far each of their steps goes."""

from __future__ import annotations

from cutecheck.facts import TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr, Var
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.model.prove.properties import ZERO
from cutecheck.rules.derive.coordinates import INDICES, units_of
from cutecheck.rules.derive.vectors import leaves

Walks = dict[str, int]  # a block index, and how far each of its steps goes


def walks(tensor: TensorFact) -> list[Walks | None] | None:
    """Of each mode of the whole tensor, the block indices that walk it; None for a mode in which others may.

    Coordinates of TMA say it themselves; of an offset each term goes along the mode with the largest stride that it
    reaches.
    """
    root = tensor.root_layout
    if not isinstance(root, Layout) or isinstance(tensor.offset, Unknown):
        return None
    if not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple) or len(root.shape) < 2:
        return None
    if tensor.space == "coord":
        return _coordinates(tensor, root.stride)
    modes = leaves(root.shape, root.stride)
    if modes is None or len(modes) != len(root.shape):
        return None
    if tensor.space != "gmem" or isinstance(tensor.offset, (tuple, ScaledBasis)):
        return None
    told = units_of([s for _, s in modes])
    if told is None:
        return None
    values, units = told
    known = [u for u in units if u]
    found: list[Walks | None] = [{} for _ in modes]
    within = [ZERO for _ in modes]  # what goes on inside of a tile
    terms = [t for own in as_expr(tensor.offset).terms for t in Expr((own,)).substitute(values).terms]
    for monomial, factor in terms:
        unit = max((u for u in known if u <= abs(factor)), default=None)
        if monomial and unit is None:
            return None
        if monomial and unit is not None:
            mode, term = units.index(unit), Expr(((monomial, factor),))
            if _goes_inside(term):
                within[mode] = ex.add(within[mode], term)
            else:
                _add(found, mode, term, unit)
    return [
        walk if walk is None or inside == ZERO or _stays_in(inside, walk, unit) else None
        for walk, inside, unit in zip(found, within, units, strict=True)
    ]


def _goes_inside(term: Expr) -> bool:
    """Steps that no block index takes, nor threads alone, and of which it is known how far they go."""
    variables = term.variables()
    return not any(v.name.startswith(INDICES) for v in variables) and None not in ex.bounds(term)


def _stays_in(inside: Expr, walk: Walks, unit: int | None) -> bool:
    """Whether steps inside of a tile come to no other block's."""
    exact = {
        v.name: ex.var(v.name, Domain(lo, hi // v.domain.step * v.domain.step, v.domain.step, v.domain.values))
        for v in inside.variables() for lo, hi in [v.domain.bounds()] if hi is not None
    }  # fmt: skip
    lo, hi = ex.bounds(inside.substitute(exact))
    if not walk or unit is None or lo is None or hi is None:
        return not walk
    return hi - lo < min(walk.values()) * unit


def _coordinates(tensor: TensorFact, strides: tuple[object, ...]) -> list[Walks | None] | None:
    offset = tensor.offset
    if not isinstance(offset, tuple):
        return None
    found: list[Walks | None] = []
    for stride in strides:
        if not isinstance(stride, ScaledBasis) or len(stride.path) != 1 or stride.value != 1:
            return None
        at = offset[stride.path[0]] if stride.path[0] < len(offset) else 0
        if not isinstance(at, (int, Dyn)):
            return None
        mode: list[Walks | None] = [{}]
        for term in as_expr(at).terms:
            if term[0]:
                _add(mode, 0, Expr((term,)), 1)
        found.append(mode[0])
    return found


def _add(found: list[Walks | None], mode: int, term: Expr, unit: int) -> None:
    """One term of an offset; what is neither of a thread alone nor a step of a block index leaves the mode open."""
    if all(v.name.startswith("threadIdx.") for v in term.variables()):
        return
    ((monomial, factor),) = term.terms
    only = monomial[0] if len(monomial) == 1 else None
    mine = found[mode]
    if mine is None or not isinstance(only, Var) or not only.name.startswith("blockIdx.") or factor % unit:
        found[mode] = None
        return
    mine[only.name] = mine.get(only.name, 0) + factor // unit


def alone(walk: Walks | None) -> tuple[str, int] | None:
    """The one block index that walks a mode."""
    return next(iter(walk.items())) if walk is not None and len(walk) == 1 else None


def in_same_tile(one: TensorFact, other: TensorFact, mode: int, by: tuple[str, int]) -> bool:
    """Whether two parts of a tensor, the first walked by this index in such steps along a mode, lie in one tile."""
    mine, theirs = walks(one), walks(other)
    if mine is None or theirs is None or len(theirs) <= mode or alone(theirs[mode]) != by or one.space != "gmem":
        return False
    if not isinstance(one.root_layout, Layout) or not isinstance(one.offset, (int, Dyn)):
        return False
    if not isinstance(other.offset, (int, Dyn)):
        return False
    told = units_of([s for _, s in leaves(one.root_layout.shape, one.root_layout.stride) or ()])
    if told is None or one.root_layout != other.root_layout:
        return False
    values, units = told
    apart = ex.sub(as_expr(one.offset), as_expr(other.offset)).substitute(values).constant
    unit = None if apart is None else max((u for u in units if 0 < u <= abs(apart)), default=None)
    if apart is None or unit is None or units.index(unit) != mode:
        return apart is not None
    return abs(apart) // unit < by[1]


__all__ = ["Walks", "alone", "in_same_tile", "walks"]
