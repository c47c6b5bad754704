"""Grids that round the number of tiles down along a mode of which the kernel guards the end."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Event, Launch, TensorFact
from cutecheck.facts.core import Bound
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.tile_walks import alone, walks


@record(frozen=True, slots=True)
class RoundedDown:
    """``index`` walks a mode of ``extent`` elements in tiles of ``tile``, and has ``extent / tile`` blocks."""

    launch: Launch
    target: TensorFact
    index: str
    extent: Expr
    tile: int


def rounded_down(event: Event, context: Context) -> RoundedDown | None:
    """A tile that is stored in part where its mode ends, by blocks of which there is none for that tile.

    All launches round down, and nothing says that the mode is a multiple of the tile.
    """
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem":
        return None
    target = event.operands[1]
    launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
    root = target.root_layout
    if not launches or not isinstance(root, Layout) or not isinstance(root.shape, tuple):
        return None
    for extent, walk in zip(root.shape, walks(target) or (), strict=False):
        by = alone(walk)
        if by is None or not isinstance(extent, Dyn) or ex.divisor(extent.expr) % by[1] == 0:
            continue
        axis = "xyz".index(by[0][-1])
        if not all(axis < len(x.grid) and _is_quotient(x.grid[axis], extent.expr, by[1]) for x in launches):
            continue
        if _asked(event, launches, extent.expr):
            continue
        if any(_ends(bound, extent.expr, by[0]) for bound in _bounds(event, context)):
            return RoundedDown(launches[0], target, by[0], extent.expr, by[1])
    return None


def _is_quotient(blocks: Int, extent: Expr, tile: int) -> bool:
    terms = as_expr(blocks).terms
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return False
    only = terms[0][0][0]
    return isinstance(only, Op) and only.kind == "div" and only.args[0] == extent and only.args[1].constant == tile


def _bounds(event: Event, context: Context) -> Iterator[Bound]:
    """What must hold of coordinates for the copy to happen: in conditions around it, or in its predicate."""
    for guard in inner(event.guards):
        if not guard.negated:
            yield from guard.bounds
    if event.predicated:
        for predicate in context.facts.predicates:
            if predicate.enclosing == event.enclosing and predicate.arch == event.arch:
                yield from predicate.bounds


def _ends(bound: Bound, extent: Expr, index: str) -> bool:
    """The mode's end, of a coordinate that the block index moves."""
    return as_expr(bound.limit) == extent and any(v.name == index for v in as_expr(bound.value).variables())


def _asked(event: Event, launches: list[Launch], extent: Expr) -> bool:
    """The host asks whether the extent is a multiple, or the source says that it is."""
    names = {v.name for v in extent.variables()}
    conditions = [h.condition for h in event.hypotheses]
    asked = [g for x in launches for g in x.guards] + [g for g in event.guards if g.host]
    texts = [*(g.text for g in asked if "%" in g.text), *(str(c) for c in conditions if "%" in str(c))]
    return any(name in text for name in names for text in texts)
