"""Blocks that store to one place what they have loaded from different ones, at the numbers of the kernel's launch."""

from __future__ import annotations

import re
from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.beyond_mode import modes_of
from cutecheck.rules.derive.launched import Blocks, blocks_of, by_block, come_there
from cutecheck.rules.derive.targets import atom_of_event, is_own

Block = tuple[int, int, int]
Places = dict[Block, tuple[int, ...]]  # where each block that comes there starts
_GLOBAL = ("gmem", "coord")
_IN_LOOP = re.compile(r"(?!iteration#)[A-Za-z_]\w*#\d+$")  # what a loop or branch changes


@record(frozen=True, slots=True)
class _Load:
    """What is loaded, and where by block; ``alone``: along the modes that no loop goes along."""

    tensor: TensorFact
    places: Places
    alone: Places


@record(frozen=True, slots=True)
class SamePlace:
    """Two blocks, and what they load differently."""

    one: Block
    other: Block
    load: TensorFact


def same_place(made: Event | Call, target: TensorFact, context: Context) -> SamePlace | None:
    """Two blocks whose tile of ``target`` starts at one place, where no load tells apart just the blocks that it does.

    Blocks that load the same of one matrix, and differ in another alone, may compute the same of the first, each for
    itself. Nothing is said of a kernel that loads what it stores, adds to it, or loads from where it cannot be told.
    """
    blocks = blocks_of(made, context)
    if blocks is None or len(blocks.at) == 1 or (isinstance(made, Event) and (is_own(made) or _adds(made))):
        return None
    loads = _loads(made, target, blocks, context)
    stored = _places(made, target, blocks, context) if loads else None
    if not loads or stored is None or len(stored) < len(blocks.at):
        return None
    sharing: dict[tuple[int, ...], list[Block]] = {}
    for block, place in stored.items():
        sharing.setdefault(place, []).append(block)
    if len(sharing) == len(stored) or any(_alike(load.alone, sharing) for load in loads):
        return None
    for group in sharing.values():
        for other in group[1:]:
            load = next((x.tensor for x in loads if x.places[group[0]] != x.places[other]), None)
            if load is not None:
                return SamePlace(group[0], other, load)
    return None


def _alike(places: Places, sharing: dict[tuple[int, ...], list[Block]]) -> bool:
    """A load is of one place for all blocks that share theirs, and of another one for others."""
    seen: set[tuple[int, ...]] = set()
    for group in sharing.values():
        starts = {places[b] for b in group}
        if len(starts) > 1 or starts & seen:
            return False
        seen |= starts
    return True


def _loads(made: Event | Call, target: TensorFact, blocks: Blocks, context: Context) -> list[_Load]:
    """All that the kernel copies from global memory, by block; nothing where that is not known of each."""
    memo = cast("dict[tuple[str, str], list[_Load]]", context.memo.setdefault("loads by block", {}))
    key = made.kernel, made.arch
    copies = [
        e for e in context.facts.events
        if (e.kernel, e.arch, e.kind) == (*key, "copy") and len(e.operands) > 1 and e.operands[0].space in _GLOBAL
    ]  # fmt: skip
    if any(e.operands[0].buffer is not None and e.operands[0].buffer == target.buffer for e in copies):
        return []
    if key not in memo:
        found = [
            (e.operands[0], _places(e, e.operands[0], blocks, context), _alone(e, e.operands[0], blocks, context))
            for e in copies
        ]
        known = [
            _Load(t, alone if places is None else places, alone) for t, places, alone in found
            if alone is not None and len(alone) == len(blocks.at)
        ]  # fmt: skip
        memo[key] = known if len(known) == len(found) else []
    return memo[key]


def _starts(tensor: TensorFact) -> list[Expr] | None:
    """Where the tensor starts, along each mode as far as these are known."""
    modes = modes_of(tensor)
    if modes is not None:
        return [at for _, at, _ in modes]
    offsets = tensor.offset if isinstance(tensor.offset, tuple) else (tensor.offset,)
    return [as_expr(n) for n in offsets if isinstance(n, (int, Dyn))] if all(map(_is_number, offsets)) else None


def _is_number(n: object) -> bool:
    return isinstance(n, (int, Dyn))


def _alone(made: Event | Call, tensor: TensorFact, blocks: Blocks, context: Context) -> Places | None:
    """Where it starts along the modes that no loop of the block goes along: in all that the block does."""
    of_loops = {loop.item for loop in made.loops if loop.item}
    starts = _starts(tensor)
    if starts is None:
        return None
    fixed = [e for e in starts if not any(v.name in of_loops or _IN_LOOP.match(v.name) for v in e.variables())]
    return _by_block(made, fixed, blocks, context)


def _places(made: Event | Call, tensor: TensorFact, blocks: Blocks, context: Context) -> Places | None:
    """Where the tensor starts in each block that comes there, for its first thread, in the first pass of all loops."""
    starts = _starts(tensor)
    return None if starts is None else _by_block(made, starts, blocks, context)


def _by_block(made: Event | Call, starts: list[Expr], blocks: Blocks, context: Context) -> Places | None:
    first = frozenset({loop.item for loop in made.loops} | {"threadIdx.x", "threadIdx.y", "threadIdx.z"})
    memo = cast("dict[object, Places | None]", context.memo.setdefault("places by block", {}))
    key = made.kernel, made.arch, tuple(starts), first & {v.name for e in starts for v in e.variables()}, made.guards
    if key not in memo:
        memo[key] = _known(made, starts, blocks, first)
    return memo[key]


def _known(made: Event | Call, starts: list[Expr], blocks: Blocks, first: frozenset[str]) -> Places | None:
    found = [by_block(e, blocks, first=first) for e in starts]
    known = [f for f in found if f is not None]
    comes = come_there(made.guards, blocks, ())
    if comes is None or len(known) < len(found):
        return None
    try:
        return {b: tuple([f(*b) for f in known]) for b in blocks.at if comes(*b)}
    except ZeroDivisionError:
        return None


def _adds(event: Event) -> bool:
    atom = atom_of_event(event)
    return atom is not None and ("REDUCE" in atom.op.upper() or "ATOMIC" in atom.op.upper())


__all__ = ["SamePlace", "same_place"]
