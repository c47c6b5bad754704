"""Masks of the blocks of a cluster that a TMA copy brings its bytes to: by the block that makes it."""

from __future__ import annotations

from itertools import product
from math import lcm, prod

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.facts.index import place_of
from cutecheck.model.algebra import size
from cutecheck.model.expr import Expr, Op
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.tma_box import tensor_map_of

_AXES = "xyz"
_RANK, _PLACE, _SHAPE, _BLOCK = "block_rank_in_cluster", "block_id_in_cluster.", "cluster_shape.", "blockIdx."
_MOST = 16  # blocks of a cluster
_MANY = 46080  # of what the host says: so that there are even numbers of tiles of all usual sizes
Values = dict[str, int]


@record(frozen=True, slots=True)
class Astray:
    """A block whose mask is wrong, and why."""

    rank: int
    mask: int
    why: str


def astray(call: Call, context: Context) -> tuple[Event, Astray] | None:
    """A multicast whose mask leaves out its own block, names blocks that are none or need another tile, or too many."""
    mask, shape = call.arguments[0], shape_of(call, context)
    if not isinstance(mask, (int, Dyn)) or shape is None:
        return None
    events = (e for e in context.facts.events if e.span == call.span and e.order < call.order)
    event = max((e for e in events if place_of(e) == place_of(call)), key=_order, default=None)
    found = None if event is None else tensor_map_of(event.tiled)
    atom = None if event is None else atom_of_event(event)
    if (
        event is None
        or found is None
        or event.kind != "copy"
        or atom is None
        or "SM90_TMA_LOAD_MULTICAST" not in atom.op
    ):
        return None
    if any(_of_place(side) for g in event.guards for c in g.holds for side in (c.lhs, c.rhs)):
        return None  # some blocks alone copy
    blocks = _blocks(shape)
    masks = [_value(as_expr(mask), b) for b in blocks]
    if any(m is None for m in masks):
        return None
    bits = [[r for r in range(_MOST) if (m or 0) >> r & 1] for m in masks]
    of = known_value(found.num_multicast) if found.num_multicast is not None else None
    tiles = [_tile(event.operands[0], b) for b in blocks]
    parts = [_part(event, b) for b in blocks]
    for rank, named in enumerate(bits):
        why = (
            _wrong(rank, named, of, tiles, sum(map(len, bits)))
            or _same_part(rank, named, of, parts)
            or _same_place(rank, named, event, blocks)
        )
        if why:
            return event, Astray(rank, masks[rank] or 0, why)
    return None


def _wrong(rank: int, named: list[int], of: int | None, tiles: list[tuple[int, ...] | None], every: int) -> str:
    if any(r >= len(tiles) for r in named):
        return f"which names block {max(named)} of a cluster of {len(tiles)}"
    mine = tiles[rank]
    other = next((r for r in named if mine is not None and tiles[r] is not None and tiles[r] != mine), None)
    if other is not None:
        return f"which names block {other}, that needs the tile at {tiles[other]}, and this one is at {mine}"
    if rank not in named:
        return "which leaves out this block itself: its own part of the tile never comes"
    if of is not None and of > 1 and every != of * len(tiles):
        return (
            f"which names {len(named)} block(s), and the copy brings each block a part of 1/{of} of the tile for {of}"
        )
    return ""


def _same_part(rank: int, named: list[int], of: int | None, parts: list[tuple[int, ...] | None]) -> str:
    """Of blocks that bring each other one tile each brings another part."""
    if of is None or len(named) != of or of < 2 or parts[rank] is None:
        return ""
    other = next((r for r in named if r != rank and parts[r] == parts[rank]), None)
    if other is None:
        return ""
    return f"which names block {other}, that brings the same part of the tile as this one: another part never comes"


def _same_place(rank: int, named: list[int], event: Event, blocks: list[Values]) -> str:
    """Of blocks that bring each other what lies whole tiles apart, by their places alone, each brings it to one place.

    What loops and the host say, all blocks of a cluster share; parts of one tile have places of their own.
    """
    mine, there = _by_place(event, blocks[rank]), _destination(event, blocks[rank])
    for r in (r for r in named if r != rank and there is not None and _destination(event, blocks[r]) == there):
        theirs = _by_place(event, blocks[r])
        if any(None not in (a, b) and a != b for a, b in zip(mine, theirs, strict=True)):
            return f"which names block {r}, that brings another tile to the same place"
    return ""


def _by_place(event: Event, block: Values) -> tuple[int | None, ...]:
    """Along each mode, how many whole tiles the block's place in its cluster moves it; None where more says it."""
    return tuple(_whole_tiles(at, _whole_tile(event), block) for at in _coordinates(event.operands[0]) or ())


def _whole_tiles(at: Expr, whole: int, block: Values) -> int | None:
    by_place = tuple(t for t in at.terms if _of_place(Expr((t,))))
    others = Expr(tuple(t for t in at.terms if t not in by_place))
    if not whole or any(n % whole for _, n in others.terms):
        return None
    if any(v.name.startswith(_BLOCK) for v in others.variables()):
        return None
    moved = _value(Expr(by_place), {n: v for n, v in block.items() if not n.startswith(_BLOCK)})
    return None if moved is None else moved // whole


def _destination(event: Event, block: Values) -> tuple[int, ...] | None:
    """Where the block's place in its cluster puts what it brings; None where other numbers of its own may say it."""
    at = event.operands[1].offset if len(event.operands) > 1 else None
    if not isinstance(at, (int, Dyn)) or any(v.name.startswith(_BLOCK) for v in as_expr(at).variables()):
        return None
    return _evaluated((as_expr(at),), block)


def _order(event: Event) -> int:
    return event.order


def shape_of(call: Call, context: Context) -> tuple[int, int, int] | None:
    """Blocks of the kernel's clusters along x, y, z, where all its launches agree."""
    launches = [x for x in context.index.launches_of.get(call.kernel, []) if x.origin == "launch"]
    shapes = {x.cluster_shape for x in launches if x.arch in ("", call.arch)}
    shape = next(iter(shapes)) if len(shapes) == 1 else ()
    if not shape or None in shape or len(shape) > len(_AXES):
        return None
    x, y, z = (*(n or 1 for n in shape), 1, 1)[:3]
    return (x, y, z) if 1 < prod((x, y, z)) <= _MOST else None


def _blocks(shape: tuple[int, int, int]) -> list[Values]:
    """The numbers of each block of the first cluster of a grid, in the order of their ranks."""
    found: list[Values] = []
    for z, y, x in product(*(range(n) for n in reversed(shape))):
        at = dict(zip(_AXES, (x, y, z), strict=True))
        values = {_RANK: len(found)}
        for i, axis in enumerate(_AXES):
            values |= {_PLACE + axis: at[axis], _BLOCK + axis: at[axis], _SHAPE + axis: shape[i]}
        found.append(values)
    return found


def _value(expr: Expr, block: Values) -> int | None:
    try:
        return expr.evaluate({v.name: block[v.name] for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _tile(source: TensorFact, block: Values) -> tuple[int, ...] | None:
    """Where the tile of a block starts, as far as its own indices say: which part of it the block loads stays open.

    The part is told by its place in the cluster, so that is left out; what other numbers say all blocks share.
    """
    where = _coordinates(source)
    if where is None or any(_by_remainder(at) for at in where):
        return None
    return _evaluated(where, {axis: value for axis, value in block.items() if axis.startswith(_BLOCK)}, _MANY)


def _part(event: Event, block: Values) -> tuple[int, ...] | None:
    """Where the part of a tile starts that a block brings, in the first pass of all loops, whichever tile that is.

    None where other numbers may say which part that is.
    """
    whole = _whole_tile(event)
    where = tuple(_in_tile(at, whole) for at in _coordinates(event.operands[0]) or ())
    for at in where:
        others = [v for v in at.variables() if v.name not in block]
        if len(others) > len(event.loops) or any("#" not in v.name or v.domain.bounds()[0] != 0 for v in others):
            return None
    return _evaluated(where, block) if where else None


def _whole_tile(event: Event) -> int:
    """What the extents of the tile that all blocks bring together divide; 0 where they are not known."""
    tiler = getattr(event.tiled, "tiler_mn", ())
    known = [known_value(size(mode)) for mode in tiler] if isinstance(tiler, tuple) else []
    return lcm(*(n for n in known if n)) if known and None not in known else 0


def _in_tile(at: Expr, whole: int) -> Expr:
    """Without what moves the start by whole tiles, unless the block's place in its cluster says so."""
    return Expr(tuple(t for t in at.terms if not whole or not t[0] or t[1] % whole or _of_place(Expr((t,)))))


def _of_place(at: Expr) -> bool:
    return any(v.name.startswith((_RANK, _PLACE)) for v in at.variables())


def _coordinates(source: TensorFact) -> tuple[Expr, ...] | None:
    """Where a tensor of coordinates starts; None for others, and for coordinates that are no integers."""
    if source.space != "coord" or not isinstance(source.offset, tuple):
        return None
    known = tuple(as_expr(at) for at in source.offset if isinstance(at, (int, Dyn)))
    return known if len(known) == len(source.offset) else None


def _evaluated(where: tuple[Expr, ...], values: Values, many: int = 0) -> tuple[int, ...] | None:
    """Coordinates under these values, and 0 for other variables; ``many`` for numbers that the host says."""

    def other(name: str) -> int:
        return 0 if "#" in name or name.startswith((_RANK, _PLACE)) else many

    try:
        return tuple(e.evaluate({v.name: values.get(v.name, other(v.name)) for v in e.variables()}) for e in where)
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _by_remainder(expr: Expr) -> bool:
    """Whether a block's index tells its place in the cluster by a remainder (``blockIdx.x % 2``).

    One of a number that the host says, as of the tiles along a mode, does not.
    """
    atoms = [a for monomial, _ in expr.terms for a in monomial if isinstance(a, Op)]
    of_block = any(
        v.name.startswith(_BLOCK) for a in atoms if a.kind != "div" and not _by_host(a) for e in a.args
        for v in e.variables()
    )  # fmt: skip
    return of_block or any(_by_remainder(e) for a in atoms for e in a.args)


def _by_host(atom: Op) -> bool:
    return atom.kind == "mod" and bool(atom.args[1].variables())


__all__ = ["Astray", "astray"]
