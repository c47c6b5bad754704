"""Modes of a matrix, and matrices of blocks, that start before the elements end which lie side by side there.

A matrix without gaps takes up the product of its extents: ``n`` elements of a row, ``m * n`` of ``m`` such rows. What
comes next, another mode or the matrix of the next block, is so far apart, or farther. Each stride is one product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import cast

from cutecheck.facts import Launch, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.derive.coordinates import variables_of
from cutecheck.rules.derive.vectors import leaves

_BLOCK = "blockIdx."
Atom = Var | Op


@record(frozen=True, slots=True)
class Axis:
    """A mode, or a block index that says where the matrix starts; the extent is None where it is not known."""

    name: str
    extent: Expr | None
    stride: Expr


@record(frozen=True, slots=True)
class LyingOver:
    """``axis`` goes on by less than ``taken``, the elements that ``below`` take up, unless two numbers are equal.

    ``twice``: its stride has this extent where another one was to be.
    """

    axis: Axis
    taken: Expr
    below: tuple[Axis, ...]
    unless: tuple[Expr, Expr]
    twice: str = ""


def lying_over(tensor: TensorFact, launches: Iterable[Launch]) -> LyingOver | None:
    """The first axis that is wrong by a factor, a run-time number; None where nothing is certain."""
    root = tensor.root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) and tensor.space == "gmem" else None
    axes = [
        Axis(f"mode {i}", as_expr(extent), as_expr(stride)) for i, (extent, stride) in enumerate(modes or ())
        if known_value(extent) != 1 and known_value(stride) != 0
    ]  # fmt: skip
    if not axes:
        return None
    axes += _of_blocks(tensor, list(launches))
    taken, below, rest = ex.const(1), [], axes
    while (found := next((a for a in rest if a.stride == taken and a.extent is not None), None)) is not None:
        taken = ex.mul(taken, cast("Expr", found.extent))
        below.append(found)
        rest = [a for a in rest if a is not found]
    if not below or _product(taken) is None:
        return None
    for axis in rest:
        left = _left_out(axis, taken, below)
        if left is not None:
            return LyingOver(axis, taken, tuple(below), (left, ex.const(1)))
        both = _exchanged(axis, taken, below)
        if both is not None:
            return LyingOver(axis, taken, tuple(below), both, str(both[0]))
    return None


def _product(e: Expr) -> tuple[Counter[Atom], int] | None:
    """The factors of one product of natural numbers, and its constant."""
    if len(e.terms) != 1 or e.terms[0][1] <= 0:
        return None
    return Counter(e.terms[0][0]), e.terms[0][1]


def _of_blocks(tensor: TensorFact, launches: list[Launch]) -> Iterator[Axis]:
    """Block indices by which the whole tensor starts elsewhere, each by one number, and no tile of it."""
    if tensor.root_start_bits is None or not tensor.root_bits:
        return
    steps: dict[str, list[Expr | None]] = {}
    start, bits = as_expr(tensor.root_start_bits), int(tensor.root_bits)
    for factors, many in start.terms:
        indices = [v.name for f in factors for v in variables_of(f) if v.name.startswith(_BLOCK)]
        alone = [f for f in factors if isinstance(f, Var) and f.name in indices]
        simple = len(indices) == len(alone) == 1 and many % bits == 0
        others = tuple(f for f in factors if f not in alone)
        for name in set(indices):
            steps.setdefault(name, []).append(Expr(((others, many // bits),)) if simple else None)
    offset = as_expr(tensor.offset) if isinstance(tensor.offset, (int, Dyn)) else start
    own = {v.name for v in ex.sub(ex.mul(offset, ex.const(bits)), start).variables()}
    for name, found in steps.items():
        if len(found) == 1 and found[0] is not None and name not in own:
            yield Axis(name, _blocks(launches, "xyz".index(name[-1])), found[0])


def _blocks(launches: list[Launch], at: int) -> Expr | None:
    found = {as_expr(x.grid[at]) for x in launches if len(x.grid) > at}
    return found.pop() if len(found) == 1 and launches and all(len(x.grid) > at for x in launches) else None


def _left_out(axis: Axis, taken: Expr, below: list[Axis]) -> Expr | None:
    """What the stride lacks of the product, a run-time number, where it is no tile or window of a mode."""
    mine, whole = _product(axis.stride), _product(taken)
    if mine is None or whole is None or not mine[0] or (axis.extent is not None and axis.extent.constant == 1):
        return None
    if mine[0] - whole[0] or whole[1] % mine[1] or not whole[0] - mine[0]:
        return None
    for other in below:
        step = _product(other.stride)
        if step is None or step[0] == mine[0]:
            return None
        if axis.name.startswith(_BLOCK) and not step[0] - mine[0]:
            length = _product(cast("Expr", other.extent))
            if length is None or not (mine[0] - step[0]) - length[0]:
                return None  # each block has a part of the mode
    return Expr(((tuple((whole[0] - mine[0]).elements()), whole[1] // mine[1]),))


def _exchanged(axis: Axis, taken: Expr, below: list[Axis]) -> tuple[Expr, Expr] | None:
    """The extent in the stride that stands there for another one: one that is counted already, or is less than it."""
    mine, whole = _product(axis.stride), _product(taken)
    if mine is None or whole is None:
        return None
    only, missing = list((mine[0] - whole[0]).elements()), list((whole[0] - mine[0]).elements())
    if len(only) != 1 or len(missing) != 1:
        return None
    rounded, extent, up = missing[0], ex.atom_expr(only[0]), False
    if isinstance(rounded, Op) and rounded.kind == "div" and (by := rounded.args[1].constant) is not None:
        up = rounded.args[0] == ex.add(extent, ex.const(by - 1)) and whole[1] == mine[1] * by
    counted = mine[1] == whole[1] and any(a.extent == extent for a in below)
    return (extent, ex.atom_expr(rounded)) if up or counted else None


__all__ = ["Axis", "LyingOver", "lying_over"]
