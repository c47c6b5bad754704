"""Parts of the tiles of a result that no TMA store of a kernel takes, though it stores the others.

Where the tile starts is a multiple of its extents; the parts are as far apart from there as constants say. Of a mode
along which the variables of a coordinate go in steps of 128, the stores of a tile must take all of these 128. A mode
at one and the same constant place of all stores is none that this kernel fills: another one may, as of packed Q, K, V.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import pairwise, product

from cutecheck.facts import Event, Span, TensorFact, Unknown
from cutecheck.facts.core import BULK_STORE
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.tile_walks import stored

_FRESH = re.compile(r"#\d+")
Box = tuple[
    tuple[int, int], ...
]  # of each mode the first element of a tile that is stored, and the first one that is not
_Kind = tuple[tuple[str, ...], tuple[int, ...]]  # what varies of the coordinates, and in which steps


@record(frozen=True, slots=True)
class Hole:
    """A part of a tile of ``tile`` elements along each mode that is never stored."""

    tensor: TensorFact
    tile: tuple[int, ...]
    part: Box

    @property
    def message(self) -> str:
        tile = "x".join(map(str, self.tile))
        return (
            f"TMA stores parts of each {tile} tile of `{self.tensor.name}`, and nothing in the kernel stores "
            f"{self.label}: the result keeps there what was in memory"
        )

    @property
    def label(self) -> str:
        return "(" + ", ".join(f"{lo} .. {hi - 1}" for lo, hi in self.part) + ") of the tile"


def hole(event: Event, context: Context) -> Hole | None:
    """Of the first of the stores to a tensor by TMA, what they all leave out."""
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    stores = [(e, t) for e, t in stored(mine) if _whole(t) == _whole(event.operands[1])]
    if not stores or stores[0][0] is not event or cut_short(context, event) or _otherwise(event, mine, context):
        return None
    places = {e.span for e, _ in stores}
    unclear = [e for e in context.facts.events if e.kind == "copy" and e.arch == event.arch and e.reason is not None]
    if any(e.span in places or e.kernel == event.kernel for e in unclear):
        return None  # it may be another store, or stand for several, of other kernels, too
    found: dict[tuple[tuple[str, ...], tuple[int, ...]], set[Box]] = defaultdict(set)
    for e, t in stores:
        part = _part(t) if e.reason is None else None
        if part is None:
            return None
        found[part[0], part[1]].add(part[2])
    if len(found) != 1:
        return None  # tiles of several kinds, which may complete each other
    (((variables, tile), boxes),) = found.items()
    boxes |= _shared(event, places, (variables, tile), context)
    fixed = {m for m, v in enumerate(variables) if not v and len({b[m] for b in boxes}) == 1}
    first = next(iter(boxes))
    starts = tuple(first[m][0] if m in fixed else 0 for m in range(len(tile)))
    tile = tuple(first[m][1] if m in fixed else n for m, n in enumerate(tile))
    if any(lo < 0 or hi > n for box in boxes for (lo, hi), n in zip(box, tile, strict=True)):
        return None
    cuts = [sorted({starts[mode], n, *(x for box in boxes for x in box[mode])}) for mode, n in enumerate(tile)]
    for cell in product(*(pairwise(c) for c in cuts)):
        if not any(all(lo <= x and y <= hi for (x, y), (lo, hi) in zip(cell, b, strict=True)) for b in boxes):
            return Hole(event.operands[1], tile, cell)
    return None


def _shared(event: Event, places: set[Span], kind: _Kind, context: Context) -> set[Box]:
    """What other kernels store at these places: a store that several make alike is an event of one of them alone."""
    others = (e for e in context.facts.events if e.span in places and e.arch == event.arch and e.kernel != event.kernel)
    parts = [_part(t) for e, t in stored(list(others))]
    return {part[2] for part in parts if part is not None and part[:2] == kind}


def _whole(tensor: TensorFact) -> str:
    return _FRESH.sub("", str(tensor.root_layout))


def _otherwise(event: Event, mine: list[Event], context: Context) -> bool:
    """Something else of the kernel stores to global memory."""
    if any(e.kind == "copy" and len(e.operands) > 1 and e.operands[1].space == "gmem" for e in mine):
        return True
    calls = (c for c in context.facts.calls if (c.kernel, c.arch) == (event.kernel, event.arch))
    return any(c.result == BULK_STORE for c in calls)


def _part(tensor: TensorFact) -> tuple[tuple[str, ...], tuple[int, ...], Box] | None:
    """What varies of the coordinates, the steps that this goes in, and what is stored after such a step."""
    root, offset, layout = tensor.root_layout, tensor.offset, tensor.layout
    if not isinstance(root, Layout) or not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple):
        return None
    box = _box(layout) if isinstance(layout, Layout) else None
    if box is None or isinstance(offset, Unknown) or not isinstance(offset, tuple):
        return None
    variables, steps, bounds = [], [], []
    for extent, stride in zip(root.shape, root.stride, strict=True):
        if not isinstance(stride, ScaledBasis) or len(stride.path) != 1 or stride.value != 1:
            return None
        at = offset[stride.path[0]] if stride.path[0] < len(offset) else 0
        if not isinstance(at, (int, Dyn)):
            return None
        first, varies = _split(as_expr(at))
        step = min((abs(factor) for _, factor in varies.terms), default=None)
        if step is None and isinstance(extent, int):
            step = extent
        span = box.get(stride.path[0], 1)
        if step is None:
            step = first + span  # how far the tensor goes there is not known
        if any(factor % step for _, factor in varies.terms):
            return None
        variables.append(_FRESH.sub("", str(varies)) if varies.terms else "")
        steps.append(step)
        bounds.append((first, first + span))
    return tuple(variables), tuple(steps), tuple(bounds)


def _split(at: Expr) -> tuple[int, Expr]:
    first = sum(factor for monomial, factor in at.terms if not monomial)
    return first, Expr(tuple(t for t in at.terms if t[0]))


def _box(layout: Layout) -> dict[int, int] | None:
    """How many elements a tile has along each coordinate, where these are all of a box."""
    shape, stride = it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride)
    along: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for extent, step in zip(shape, stride, strict=True):
        if isinstance(step, int) and step == 0:
            continue
        if not isinstance(extent, int) or not isinstance(step, ScaledBasis) or len(step.path) != 1:
            return None
        if not isinstance(step.value, int) or step.value < 1:
            return None
        if extent > 1:
            along[step.path[0]].append((step.value, extent))
    found = {}
    for mode, parts in along.items():
        so_far = 1
        for step, extent in sorted(parts):
            if step != so_far:
                return None
            so_far *= extent
        found[mode] = so_far
    return found


__all__ = ["Hole", "hole"]
