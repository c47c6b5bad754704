"""What is wrong with predicates: their number, the coordinates they are computed from, the limits of these."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cutecheck.facts import Event, Predicate, TensorFact, Unknown
from cutecheck.facts.core import Bound
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import Condition, Dyn, Int, Rel, Sym, as_expr, known_value
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import Holds
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of, thread_count
from cutecheck.rules.derive.coordinates import (
    INDICES,
    Guarded,
    advance,
    beyond,
    block_modes,
    bounded_mode,
    goes_on,
    guarded,
    left_of,
    loop_modes,
    split_modes,
    tile_of_other_pass,
    unvaried,
)
from cutecheck.rules.derive.guards import inner, of_grid
from cutecheck.rules.derive.instructions import Astray, astray
from cutecheck.rules.derive.tile_starts import foreign
from cutecheck.rules.derive.vectors import mode_sizes


@record(frozen=True, slots=True)
class Fault:
    """A message, the label of its place, and what helps."""

    message: str
    label: str
    help: str


def counts(event: Event) -> list[tuple[str, Int, Int]]:
    """(mode of the destination, predicates, instructions) of each mode but the first; empty when not known.

    The DSL's predicates have the repetitions of the instruction within the first mode as a mode of their own.
    """
    atom = atom_of(event.tiled)
    if event.kind != "copy" or event.predicate is None or len(event.operands) < 2 or atom is None:
        return []
    given, destination = event.predicate.layout, event.operands[1].layout
    if isinstance(given, Unknown) or isinstance(destination, Unknown):
        return []
    have, want = mode_sizes(given), mode_sizes(destination)
    pairs = [(f"mode {i}", a, b) for i, (a, b) in enumerate(zip(have[-len(want) + 1 :], want[1:], strict=False), 1)]
    if not event.span.is_python:
        # as many modes as the destination: code differs in what it means by the first of them
        return pairs if len(have) == len(want) - 1 else []
    repeats = _repeats(destination, known_value(atom.num_val_dst))
    if repeats is None:
        return []
    if len(have) != len(want):
        pairs = [("all other modes", _times(have[1:]), _times(want[1:]))]
    elif _times(have[1:]) == _times(want[1:]) and sorted(map(str, have)) != sorted(map(str, (repeats, *want[1:]))):
        pairs = []  # the same predicates in the same order under other modes
    return [("instructions of mode 0", have[0], repeats), *pairs]


def _repeats(layout: AnyLayout, values: int | None) -> int | None:
    """Instructions within the first mode, which the DSL reads off its second part: (values of one, instructions)."""
    first = layout.shape[0] if isinstance(layout.shape, tuple) else layout.shape
    if isinstance(first, tuple):
        return known_value(_times(mode_sizes(Layout(first, (0,) * len(first)))[1:]))
    size = None if isinstance(first, ScaledBasis) else known_value(first)
    return None if size is None or not values or size % values else size // values


def _times(sizes: Sequence[Int]) -> Int:
    """The product."""
    total: Int = 1
    for size in sizes:
        total = total * size
    return total


def refused(event: Event, pairs: list[tuple[str, Int, Int]]) -> str:
    """What the DSL says to it: it compares the first mode, and the number of all others together."""
    if not event.span.is_python:
        return ""
    known = [(known_value(a) or 0, known_value(b) or 0) for _, a, b in pairs]
    first, rest = known[0], known[1:]
    same = first[0] == first[1] and math.prod(a for a, _ in rest) == math.prod(b for _, b in rest)
    return "; the DSL accepts it silently" if same else " (the DSL: expects pred to have compatible shape)"


def fault_of(
    event: Event, asked: Sequence[Predicate], tensor: TensorFact, part: Guarded, context: Context
) -> Fault | None:
    """The first fault; ``asked``: what is assigned to the elements of the predicate tensor at one place."""
    if event.predicate is not None and _is_a_part(event.predicate):
        return None
    asked = [_of_kept_modes(p, part) for p in asked]
    predicate, threads = asked[0], thread_count(event)
    if len(predicate.bounds[0].coordinates) != len(part.extents):
        return None
    apart = None if threads is None else astray(event, asked, tensor, part, threads)
    if apart is not None and threads is not None:
        other = _in_other_order(asked, part)
        if other and astray(event, other, tensor, part, threads) is None:
            asked, predicate, apart = other, other[0], None
    if apart is not None and not any(apart.instruction):
        return elsewhere(apart, f"thread {apart.thread}", "that of thread 0", tensor)
    stuck = unvaried(predicate, part)
    if stuck is not None:
        return Fault(
            f"the predicates of `{tensor.name}` are one element for every `{stuck}`: the last one written decides "
            "for all",
            f"the element does not depend on `{stuck}`",
            "give the predicate tensor a stride along the mode whose coordinate is compared",
        )
    if apart is not None:
        which = ", ".join(map(str, apart.instruction[1:] if not apart.instruction[0] else apart.instruction))
        return elsewhere(apart, f"instruction ({which})", "that of the first", tensor)
    return next(_of_limits(event, [_guarded_too(event, p, part) for p in asked], tensor, part, context), None)


def _is_a_part(predicate: TensorFact) -> bool:
    """Of predicates of the whole matrix, lazily computed, a part that a block or thread takes: their coordinates begin
    there, and not where those begin that they were written with."""
    if not isinstance(predicate.offset, (int, Dyn, Sym)):
        return False
    return any(v.name.startswith(INDICES) for v in as_expr(predicate.offset).variables())


def _of_kept_modes(predicate: Predicate, part: Guarded) -> Predicate:
    """A predicate of the whole matrix's coordinates, of which a slice (of a batch) has left out some."""
    bounds = tuple(own for b in predicate.bounds if (own := of_kept(b, part)) is not None)
    return predicate if len(bounds) < len(predicate.bounds) else replace(predicate, bounds=bounds)


def of_kept(bound: Bound, part: Guarded) -> Bound | None:
    """One whose coordinates are those of the modes that are left; None where they are others."""
    many, kept = part.kept or (len(part.extents), range(len(part.extents)))
    if len(bound.coordinates) == many:
        return replace(bound, coordinates=tuple(bound.coordinates[i] for i in kept))
    return bound if len(bound.coordinates) == len(part.extents) else None


def _in_other_order(asked: Sequence[Predicate], part: Guarded) -> list[Predicate]:
    """The same predicates with their coordinates in the order of the matrix's modes, where the limits say that they are
    in another one (of an identity tensor of the transposed matrix); empty where they do not say so."""
    order: dict[int, int] = {}
    for bound in (b for p in asked for b in p.bounds):
        mode = bounded_mode(bound.value, bound.coordinates)
        own = [d for d, e in enumerate(part.extents) if left_of(bound.limit, e) is not None]
        if mode is None or len(own) != 1 or order.setdefault(own[0], mode) != mode:
            return []
    modes = range(len(part.extents))
    if sorted(order) != list(modes) or sorted(order.values()) != list(modes) or all(order[d] == d for d in modes):
        return []
    return [
        replace(
            p, bounds=tuple(replace(b, coordinates=tuple(b.coordinates[order[d]] for d in modes)) for b in p.bounds)
        )
        for p in asked
    ]


def _guarded_too(event: Event, predicate: Predicate, part: Guarded) -> Predicate:
    """What a condition around the copy bounds, too: rows by ``if (row < m)``, columns by the predicate tensor."""
    around = [g for g in inner(event.guards) if g.bounds and g.complete]
    more = tuple(own for g in around for b in g.bounds if (own := of_kept(b, part)) is not None)
    return predicate if event.predicate is None or not more else replace(predicate, bounds=(*predicate.bounds, *more))


def elsewhere(apart: Astray, which: str, first: str, tensor: TensorFact) -> Fault:
    return Fault(
        f"the predicates of `{tensor.name}` are computed for other elements than the copy moves: along mode "
        f"{apart.mode}, {which} moves the element {apart.moved} past {first}, and asks about the one "
        f"{apart.asked} past it",
        "another partition than the copy's",
        "partition the identity tensor with the copy that it guards, tiled as the matrix is, and index it with the "
        "instruction's own coordinate",
    )


def _goes_along(asked: Sequence[Predicate], index: str, part: Guarded) -> bool:
    """A coordinate is made with this number, or with one that the copy is not at (of another call of its function)."""
    mine = {v.name for v in part.offset.variables()} - {index}
    values = (as_expr(c) for p in asked for b in p.bounds for c in (b.value, *b.coordinates))
    return any("#" in v.name and v.name not in mine for value in values for v in value.variables())


def _of_limits(
    event: Event, asked: Sequence[Predicate], tensor: TensorFact, part: Guarded, context: Context
) -> Iterator[Fault]:
    """Limits that are not those of the modes they are compared with."""
    predicate = asked[0]
    bounds = {m: b for b in predicate.bounds if (m := bounded_mode(b.value, b.coordinates)) is not None}
    limits = {m: b.limit for m, b in bounds.items()}
    for one in dict.fromkeys((predicate, asked[-1])):  # of unrolled loops the last instruction goes farthest
        yield from _one_too_far(event, one, tensor, part, context)
    yield from _of_other_modes(event, predicate, tensor, part, context)
    for mode, limit in sorted(limits.items()):
        own = part.extents[mode]
        other = None if left_of(limit, own) is not None else _other_mode(limit, mode, part)
        whose = foreign(limit, mode, part, event, context) if other is None else None
        part_of = "what is left of " if {v.name for v in as_expr(limit).variables()} & _BLOCKS else ""
        if whose is not None and differ(event, limit, own, context):
            yield Fault(
                f"the predicates of `{tensor.name}` compare mode {mode} with `{limit}`, {part_of}an extent of "
                f"`{whose}`; its own is `{own}`",
                f"`{limit}` is {part_of}no extent of this tensor",
                f"compare mode {mode} with {part_of}`{own}`",
            )
    for mode, index in sorted(loop_modes(part).items()):
        extent, tile = part.extents[mode], part.tile[mode]
        whole = mode in limits and left_of(limits[mode], extent) == 0 and not _goes_along(asked, index, part)
        if whole and open_end(event, extent, tile, context):
            yield _whole(tensor, mode, limits[mode], index.partition("#")[0])
        if mode in limits and event.predicate is None:  # one that was computed before may be of another pass
            late = tile_of_other_pass(bounds[mode], part, mode, index)
            where = "before" if (late or 0) > 0 else "behind"
            if late:
                yield Fault(
                    f"the predicates of `{tensor.name}` compare mode {mode} with `{limits[mode]}`, what is left of its "
                    f"extent from another tile on, which starts {abs(late)} {where} the one that is copied",
                    "what is left for another tile",
                    f"compare with `{extent}` less the start of the tile that is copied",
                )
    for mode, index in sorted(block_modes(part).items()):
        extent, tile = part.extents[mode], part.tile[mode]
        if mode in limits:
            taken = left_of(limits[mode], extent)
            if taken is None or index in {v.name for v in as_expr(extent).variables()}:
                continue  # an extent that is itself what is left from the block on: `min(64, rows - row0)`
            step = advance(bounds[mode].value + taken, index)
            if step is None or step == known_value(tile):
                continue
            if taken == 0 and step == 0:
                yield _whole(tensor, mode, limits[mode], index)
            elif taken == 0:
                yield Fault(
                    f"the coordinates of `{tensor.name}`'s predicates are tiled otherwise than the matrix: along mode "
                    f"{mode} they advance by {step} with `{index}`, the tile by {tile}",
                    f"{step} for each `{index}`, the tile has {tile}",
                    "tile the identity tensor as the matrix is tiled",
                )
            else:
                moved = f"by {tile}" if step == 0 else f"by {tile} each, coordinate and limit by {step}"
                yield Fault(
                    f"the predicates of `{tensor.name}` compare mode {mode} with `{limits[mode]}`, but `{index}` moves "
                    f"the tile along this mode, {moved}",
                    f"what is left of `{extent}` for another tile",
                    f"compare with `{extent}` less the start of the tile, {tile} * `{index}`",
                )
        elif goes_on(part, index) or _counted(event, index, context):
            continue
        elif predicate.complete and limits and not _elsewhere_bounded(event) and open_end(event, extent, tile, context):
            yield _unbound(tensor, mode, part)
    yield from _of_split_modes(event, predicate, limits, part, tensor, context)


def _of_split_modes(
    event: Event, predicate: Predicate, limits: dict[int, Int], part: Guarded, tensor: TensorFact, context: Context
) -> Iterator[Fault]:
    """Modes that a part of a block index walks, of which the one is compared and the other is not."""
    walked = split_modes(part)
    asked = [m for m in walked if m in limits and left_of(limits[m], part.extents[m]) is not None]
    if not asked or not predicate.complete or _elsewhere_bounded(event):
        return
    for mode in sorted(set(walked) - set(limits)):
        if open_end(event, part.extents[mode], part.tile[mode], context):
            yield _unbound(tensor, mode, part)


def _unbound(tensor: TensorFact, mode: int, part: Guarded) -> Fault:
    extent, tile = part.extents[mode], part.tile[mode]
    return Fault(
        f"the predicates of `{tensor.name}` do not bound mode {mode}: its extent `{extent}` need not be a "
        f"multiple of the tile's {tile}",
        f"mode {mode} is not compared",
        f"compare mode {mode} with `{extent}` too, or state `// cutecheck: assume {extent} % {tile} == 0`",
    )


def _of_other_modes(
    event: Event, predicate: Predicate, tensor: TensorFact, part: Guarded, context: Context
) -> Iterator[Fault]:
    """Coordinates that are compared with the extent of another mode than their own."""
    asked = [(m, b.limit) for b in predicate.bounds if (m := bounded_mode(b.value, b.coordinates)) is not None]
    for mode, limit in sorted(asked, key=lambda a: a[0]):
        own, other = part.extents[mode], _other_mode(limit, mode, part)
        if other is None or left_of(limit, own) is not None or not differ(event, other.extent, own, context):
            continue
        if any(m == mode and left_of(n, own) is not None for m, n in asked) and other.mode in {m for m, _ in asked}:
            continue  # besides its own, and the other mode is asked for, too
        part_of = "" if left_of(limit, other.extent) == 0 else "what is left of "
        yield Fault(
            f"the predicates of `{tensor.name}` compare mode {mode} with `{limit}`, {part_of}the extent of "
            f"{other.name}, not `{own}`",
            f"`{limit}` is {part_of}the extent of {other.name}",
            "give the limits in the order of the matrix's modes",
        )


@record(frozen=True, slots=True)
class _Mode:
    """One of a tensor's modes, its number among those that are left (-1: it was sliced away), and how it is called."""

    mode: int
    extent: Int
    name: str


def _other_mode(limit: Int, mode: int, part: Guarded) -> _Mode | None:
    """The mode whose extent a limit is, or of which it is what blocks leave."""
    every = [(d, e, f"mode {d}") for d, e in enumerate(part.extents) if d != mode]
    every += [(-1, e, "a mode that was sliced away") for e, _ in part.left if known_value(e) is None]
    return next((_Mode(*m) for m in every if left_of(limit, m[1]) is not None), None)


def _counted(event: Event, index: str, context: Context) -> bool:
    """Another matrix, whose extent is a constant, has as many whole tiles along this index as there are blocks: not
    this extent says how many."""
    launches = [x for x in context.index.launches_of.get(event.kernel, []) if x.origin == "launch"]
    axis = "xyz".find(index[-1])
    blocks = {known_value(x.grid[axis]) if 0 <= axis < len(x.grid) else None for x in launches}
    many = next(iter(blocks)) if len(blocks) == 1 else None
    if many is None:
        return False
    others = (e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch))
    for part in (p for e in others for t in e.operands if (p := guarded(t)) is not None):
        for mode in (m for m, name in block_modes(part).items() if name == index):
            tile, extent = known_value(part.tile[mode]), known_value(part.extents[mode])
            if tile is not None and extent == many * tile:
                return True
    return False


def _whole(tensor: TensorFact, mode: int, limit: Int, index: str) -> Fault:
    return Fault(
        f"the coordinates of `{tensor.name}`'s predicates start at the tile, but mode {mode} is compared with "
        f"`{limit}`, the extent of the whole matrix",
        f"no `{index}` in the coordinate",
        "tile the identity tensor of the whole matrix, or compare with what is left from the tile on",
    )


def _one_too_far(
    event: Event, predicate: Predicate, tensor: TensorFact, part: Guarded, context: Context
) -> Iterator[Fault]:
    """``c <= n`` for ``c < n``: a coordinate passes that its mode does not have."""
    of_modes: dict[int, list[Bound]] = {}
    for bound in predicate.bounds:
        mode = bounded_mode(bound.value, bound.coordinates)
        if mode is not None:
            of_modes.setdefault(mode, []).append(bound)
    for mode, bounds in sorted(of_modes.items()):
        over = [beyond(b, mode, part.extents[mode]) for b in bounds]
        if any(n is not None and n >= (known_value(part.tile[mode]) or n + 1) for n in over):
            continue  # the tensor is one tile of what the limit is of
        if not predicate.complete or _elsewhere_bounded(event) or not all(n is not None and n > 0 for n in over):
            continue
        bound, many = bounds[0], over[0] or 0
        inside = Condition(Rel.LT, as_expr(bound.value), ex.sub(as_expr(bound.limit), ex.const(many)))
        passes = Condition(Rel.LT, as_expr(bound.value), as_expr(bound.limit))
        if _refuted(event, inside, "coordinate that passes", context, passes):
            yield Fault(
                f"the predicates of `{tensor.name}` let the coordinate {part.extents[mode]} of mode {mode} pass, which "
                f"ends before it: the copy goes {many} past the end where the extent is no multiple of the tile's "
                f"{part.tile[mode]}",
                f"passes up to {many} past the extent",
                f"compare by `<` with `{part.extents[mode]}`, not by `<=`",
            )


def _elsewhere_bounded(event: Event) -> bool:
    """A condition around the copy may leave out rows: ``if row < m`` with the thread's row, or one not followed."""
    return any(
        not (g.bounds or g.holds)
        or any("Idx" in v.name for c in g.holds for side in (c.lhs, c.rhs) for v in side.variables())
        for g in inner(event.guards)
        if not (g.bounds and g.complete) and not of_grid(g)  # which bounds those coordinates and no others
    )


_BLOCKS = {f"blockIdx.{axis}" for axis in "xyz"}


def differ(event: Event, limit: Int, extent: Int, context: Context) -> bool:
    """The limit and the mode's extent are not the same number by any hypothesis."""
    condition = Condition(Rel.EQ, as_expr(limit), as_expr(extent))
    return _refuted(event, condition, "limit of the predicate", context)


def open_end(event: Event, extent: Int, tile: Int, context: Context) -> bool:
    """The tile need not divide the extent."""
    condition = Condition(Rel.DIVIDES, as_expr(tile), as_expr(extent))
    return known_value(tile) != 1 and _refuted(event, condition, "whole tiles", context)


def _refuted(event: Event, condition: Condition, what: str, context: Context, *given: Condition) -> bool:
    outcome = context.prove(
        make_obligation(Holds((condition,), what), (event.event_id,), arch=event.arch, span=event.span,
                        hypotheses=[*(h.condition for h in event.hypotheses), *given])
    )  # fmt: skip
    return outcome.verdict is Verdict.REFUTED
