"""The last tile of a mode whose end a kernel guards: grids without a block for it, stores that take all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cutecheck.facts import Event, Launch, TensorFact
from cutecheck.facts.core import Bound
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Monomial, Op, Var
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.coordinates import guarded
from cutecheck.rules.derive.guards import inner, same_in_all_blocks
from cutecheck.rules.derive.vectors import leaves

_TWO = 2  # operands of a copy
_ASKS = re.compile(r"%|\*.*[!=]=|[!=]=.*\*")  # m % 64 == 0, tiles * 64 != m


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
    launches = _launches(event, context)
    for _, index, tile in _open_modes(event, launches):
        for bound in _bounds(event, context):
            extent = _limit(bound, index)  # the mode's own, or that of another tensor with as many tiles
            ends = (
                _ends(bound, extent, index) and ex.divisor(extent) % tile and not _asked(event, launches, extent, tile)
            )
            if ends and not _left_to_others(event, extent, context) and _rounds_down(launches, extent, index, tile):
                return RoundedDown(launches[0], event.operands[1], index, extent, tile)
    return None


def stored_whole(event: Event, context: Context) -> tuple[Event, Expr] | None:
    """Another copy that goes as far as a mode does, which ``event`` stores a whole last tile of; and the extent.

    Under no condition but those that all threads of a block answer alike, and that the other is under, too.
    """
    if event.predicated or event.kind != "copy" or len(event.operands) < _TWO or event.operands[1].space != "gmem":
        return None
    launches = _launches(event, context)
    open_ = [x for x in _open_modes(event, launches) if not _rounds_down(launches, *x)]
    fixed = [x for x in _fixed_modes(event.operands[1]) if not _asked(event, launches, *x)]
    if (open_ or fixed) and _padded(event.operands[1]):
        return None
    around = [g for g in inner(event.guards) if not same_in_all_blocks(g)]
    if any(g.bounds or not g.alike for g in around):
        return None
    own = {(g.span, g.negated) for g in around}
    for other in context.facts.events if open_ or fixed else ():
        if (other.kernel, other.arch, other.kind) != (event.kernel, event.arch, "copy") or other is event:
            continue
        if not own <= {(g.span, g.negated) for g in inner(other.guards)}:
            continue
        if any(loop.trips is None and loop not in other.loops for loop in event.loops):
            continue  # it may end where the mode does
        tensors = [t for t in other.operands[:2] if t.space == "gmem"]
        bounds = list(_bounds(other, context))
        for extent, index, tile in open_:
            alike = any((extent, index, tile) in _modes(t) for t in tensors)
            if alike and any(_ends(b, extent, index) for b in bounds):
                return other, extent
        for extent, tile in fixed:
            alike = any((extent, tile) in _fixed_modes(t) for t in tensors)
            if alike and any(as_expr(b.limit) == extent and not _of_blocks(b) for b in bounds):
                return other, extent
    return None


def _padded(target: TensorFact) -> bool:
    """Whether its rows are whole tiles apart, though they need not be as long: memory of the program's own, with room
    for all of the last tiles."""
    root = target.root_layout
    modes = leaves(root.shape, root.stride) if isinstance(root, Layout) else None
    tiles = [*(tile for _, _, tile in _modes(target)), *(tile for _, tile in _fixed_modes(target))]
    strides = [as_expr(stride) for _, stride in modes or () if isinstance(stride, Dyn)]
    return any(ex.divisor(stride) % tile == 0 for stride in strides for tile in tiles)


def _of_blocks(bound: Bound) -> bool:
    return any(v.name.startswith("blockIdx.") for v in as_expr(bound.value).variables())


def _fixed_modes(tensor: TensorFact) -> list[tuple[Expr, int]]:
    """Modes of a run-time extent of which all blocks have the first tile: the extent, and the tile's."""
    part = guarded(tensor)
    walked = walks(from_its_start(tensor)) if part is not None and part.kept is None else None
    if part is None or walked is None:
        return []
    return [
        (extent.expr, tile)
        for extent, tile, walk in zip(part.extents, part.tile, walked, strict=False)
        if isinstance(extent, Dyn) and isinstance(tile, int) and tile > 1 and walk == {}
        if ex.divisor(extent.expr) % tile
    ]


def from_its_start(tensor: TensorFact) -> TensorFact:
    """With offsets from the first element of the whole tensor."""
    start, bits = tensor.root_start_bits, tensor.root_bits
    if start is None or not bits or not isinstance(tensor.offset, (int, Dyn)):
        return tensor
    whole = as_expr(start)
    if any(factor % int(bits) for _, factor in whole.terms):
        return tensor
    begins = Expr(tuple((factors, factor // int(bits)) for factors, factor in whole.terms))
    return replace(tensor, offset=Dyn(ex.sub(as_expr(tensor.offset), begins)))


def _launches(event: Event, context: Context) -> list[Launch]:
    return [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]


def _open_modes(event: Event, launches: list[Launch]) -> Iterator[tuple[Expr, str, int]]:
    """The modes of what is stored to global memory of which nothing says that they are a multiple of the tile."""
    if event.kind == "copy" and len(event.operands) > 1 and event.operands[1].space == "gmem" and launches:
        for extent, index, tile in _modes(event.operands[1]):
            if not _asked(event, launches, extent, tile):
                yield extent, index, tile


def _modes(tensor: TensorFact) -> list[tuple[Expr, str, int]]:
    """Modes that one block index walks, of a run-time extent that need be no multiple of its steps."""
    root = tensor.root_layout
    if not isinstance(root, Layout) or not isinstance(root.shape, tuple):
        return []
    found = zip(root.shape, map(alone, walks(from_its_start(tensor)) or ()), strict=False)
    return [(e.expr, *by) for e, by in found if by is not None and isinstance(e, Dyn) and ex.divisor(e.expr) % by[1]]


def _rounds_down(launches: list[Launch], extent: Expr, index: str, tile: int) -> bool:
    axis = "xyz".index(index[-1])
    return all(axis < len(x.grid) and _is_quotient(x.grid[axis], extent, tile) for x in launches)


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
    """The mode's end, of a coordinate that the block index moves, or less what the index has moved the tile by."""
    if _limit(bound, index) != extent:
        return False
    return as_expr(bound.limit) != extent or any(v.name == index for v in as_expr(bound.value).variables())


def _limit(bound: Bound, index: str) -> Expr:
    """Where the mode ends: ``m`` also of a coordinate in the tile that is less than ``m - 128 * blockIdx.x``."""
    limit = as_expr(bound.limit)
    return Expr(tuple(t for t in limit.terms if not (t[1] < 0 and _names(t[0], index))))


def _names(monomial: Monomial, index: str) -> bool:
    return len(monomial) == 1 and isinstance(monomial[0], Var) and monomial[0].name == index


def _left_to_others(event: Event, extent: Expr, context: Context) -> bool:
    """Another kernel is launched for what is left of the mode: under a condition on that, or as many blocks."""
    names = {v.name for v in extent.variables()}
    launches = (x for x in context.facts.launches if x.kernel != event.kernel and x.origin == "launch")
    texts = (text for x in launches for text in (*(g.text for g in x.guards), *map(str, x.grid)) if "%" in text)
    return any(re.search(rf"(?<!\w){re.escape(name.partition('#')[0])}(?!\w)", t) for t in texts for name in names)


def _asked(event: Event, launches: list[Launch], extent: Expr, tile: int) -> bool:
    """The host asks whether the extent is a multiple, or the source says that it is; not of a part of the tile."""
    names = {v.name for v in extent.variables()}
    conditions = [h.condition for h in event.hypotheses]
    asked = [g for x in launches for g in x.guards] + [g for g in event.guards if g.host]
    texts = [*(g.text for g in asked if _ASKS.search(g.text)), *(str(c) for c in conditions if "%" in str(c))]
    return any(name in text and not _of_a_part(name, text, tile) for name in names for text in texts)


def _of_a_part(name: str, text: str, tile: int) -> bool:
    """All that it asks of the number are multiples of which the tile has several: ``n % 8 == 0``, of 128."""
    of = re.findall(rf"(?<![\w.]){re.escape(name)}\s*%\s*(\d+)\b", text)
    return len(of) == text.count(name) and all(tile % int(n) == 0 and int(n) < tile for n in of)
