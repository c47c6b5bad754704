"""Grids whose axes have the blocks of other extents than their indices walk, by one index alone."""

from __future__ import annotations

from cutecheck.facts import Event, Launch, TensorFact
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.block_walks import alone, walks
from cutecheck.rules.derive.swapped_tiles import equal, names_of
from cutecheck.rules.derive.tile_walks import extent_of
from cutecheck.rules.derive.walked import named


@record(frozen=True, slots=True)
class OtherGrid:
    """``index`` walks a mode of ``extent`` elements, and the grid has there what ``blocks`` asks for."""

    launch: Launch
    target: TensorFact
    index: str
    extent: str
    blocks: str
    along: str  # the axis with the blocks for the extent; empty: there is none


def other_grid(event: Event, context: Context) -> OtherGrid | None:
    """What a kernel stores is walked by an index along one extent, and all launches have as many blocks along it as an
    extent asks for that no tensor has along this index.

    The blocks for the first are along another axis, whose index walks it nowhere; or there are none.
    """
    launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
    launches = [x for x in launches if x.arch in ("", event.arch)]
    if event.kind != "copy" or len(event.operands) < 2 or event.operands[1].space != "gmem" or not launches:
        return None
    target = event.operands[1]
    if sum(by is not None and by[1] > 1 for by in map(alone, walks(target) or ())) > 1:
        return None  # tiles of two extents are compared with each other, with the grid of both
    tensors = [
        t for e in context.facts.events if (e.kernel, e.arch, e.kind) == (event.kernel, event.arch, "copy")
        for t in e.operands[:2] if t.space == "gmem" and _rank(t)
    ]  # fmt: skip
    for mode, walk in enumerate(walks(target) or ()):
        by, mine = alone(walk), names_of(target, mode)
        axis = "xyz".index(by[0][-1]) if by is not None else 3
        counts = [named(x.grid[axis]) for x in launches if axis < len(x.grid)]
        if by is None or len(mine) != 1 or len(counts) < len(launches) or any(c != counts[0] for c in counts):
            continue
        blocks = counts[0]
        if len(blocks) != 1 or blocks & mine or equal(event, mine, blocks) or _walked(tensors, by[0], blocks):
            continue
        axes = [a for a in range(3) if all(a < len(x.grid) and named(x.grid[a]) == mine for x in launches)]
        if len(axes) > 1 or any(_walked(tensors, f"blockIdx.{'xyz'[a]}", mine | blocks) for a in axes):
            continue
        known = any(blocks <= names_of(t, m) for t in tensors for m in range(_rank(t)))
        if axes or (known and not any(mine & named(n) for x in launches for n in x.grid)):
            along = "xyz"[axes[0]] if axes else ""
            text = next(iter(blocks)).partition("#")[0]
            return OtherGrid(launches[0], target, by[0], extent_of(target, mode), text, along)
    return None


def _rank(tensor: TensorFact) -> int:
    root = tensor.root_layout
    return len(root.shape) if isinstance(root, Layout) and isinstance(root.shape, tuple) else 0


def _walked(tensors: list[TensorFact], index: str, names: set[str]) -> bool:
    """Whether a block index takes part in walking a mode with such an extent, or it is not known what does."""
    for t in tensors:
        walk = walks(t) or [None] * _rank(t)
        for mode in range(_rank(t)):
            by = walk[mode] if names & names_of(t, mode) else {}
            if index in (str(t.offset) if by is None else by):
                return True
    return False


__all__ = ["OtherGrid", "other_grid"]
