"""Coordinates of predicates and the addresses they guard: both as functions of thread, block and loop indices.

Run-time strides become powers of a large number, so that two sums of products are equal at every stride if they are
equal at these: no coefficient that occurs in a kernel reaches the number (Kronecker's substitution).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeGuard

from cutecheck.facts import Event, Predicate, Span, TensorFact, Unknown
from cutecheck.facts.core import Bound
from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Dyn, Int, as_expr, known_value, wrap
from cutecheck.model.layout import AnyLayout, Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.vectors import Mode, leaves, mode_sizes

_BASE = 1 << 24
_WORDS = ((1 << 32) - 1, (1 << 64) - 1)
INDICES = ("threadIdx.", "blockIdx.")


@record(frozen=True, slots=True)
class Guarded:
    """A partition of a global tensor by a tiled copy, with the modes of the whole tensor.

    ``extents`` and ``strides`` of the whole tensor's modes, ``tile`` the extents of what was partitioned, ``offset`` of
    the thread's first element; one mode a leaf. Modes that were sliced away before (``m(_, head, _)``) are left out.
    """

    extents: tuple[Int, ...]
    strides: tuple[Int, ...]
    tile: tuple[Int, ...]
    offset: Expr
    kept: tuple[int, tuple[int, ...]] | None = None  # how many modes the whole tensor has, and which of them these are
    left: tuple[tuple[Int, Int], ...] = ()  # extents and strides of the others


def guarded(tensor: TensorFact) -> Guarded | None:
    """The parts of a global operand; None where the whole tensor is not a flat layout of run-time or static modes."""
    root, tile = tensor.root_layout, tensor.tile_layout
    if tensor.space != "gmem" or not isinstance(root, Layout) or tile is None:
        return None
    if isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
        return None
    modes = leaves(root.shape, root.stride)
    rank = len(root.shape) if isinstance(root.shape, tuple) else 1
    sizes = mode_sizes(tile)
    if modes is None or len(modes) != rank:
        return None
    kept = _kept([s for _, s in modes], tile, sizes)
    left: tuple[tuple[Int, Int], ...] = ()
    if kept is not None:
        left = tuple((e, s) for i, (e, s) in enumerate(modes) if i not in kept)
        modes, rank = [modes[i] for i in kept], len(kept)
    if len(sizes) < rank:
        return None
    return Guarded(
        tuple(e for e, _ in modes), tuple(s for _, s in modes), tuple(sizes[:rank]), as_expr(tensor.offset),
        None if kept is None else (len(root.shape) if isinstance(root.shape, tuple) else 1, tuple(kept)), left,
    )  # fmt: skip


def _kept(strides: list[Int], tile: AnyLayout, sizes: list[Int]) -> list[int] | None:
    """Which modes of the whole tensor the tile's first ones go along, by their strides; None where all may be."""
    flat: list[list[Mode] | None] = []
    if isinstance(tile, Layout) and isinstance(tile.shape, tuple) and isinstance(tile.stride, tuple):
        flat = [leaves(s, d) for s, d in zip(tile.shape, tile.stride, strict=True)]
    found: list[int] = []
    for size, mode in zip(sizes, flat, strict=False):
        if mode is None or len(mode) != 1:
            return None
        later = range(found[-1] + 1 if found else 0, len(strides))
        alike = [i for i in later if as_expr(strides[i]) == as_expr(mode[0][1])]
        if not alike and known_value(size) != 1:
            break
        found += alike[:1] or later[:1]
    return found if 0 < len(found) < len(strides) else None


def symbols(expressions: Iterable[Expr]) -> dict[str, Expr]:
    """A power of a large number for every run-time variable that is no thread or block index."""
    names = sorted({v.name for e in expressions for v in e.variables() if not v.name.startswith(INDICES)})
    return {n: ex.const(_BASE**i) for i, n in enumerate(names, 1)}


def units_of(strides: Sequence[object]) -> tuple[dict[str, Expr], list[int]] | None:
    """What stands for the run-time variables of strides (``symbols``), and with it the strides as numbers that can be
    told apart, 0 aside; None where some cannot."""
    given = [as_expr(s) for s in strides if isinstance(s, (int, Dyn))]
    values = symbols(given)
    units = [s.substitute(values).constant for s in given]
    numbers = [u for u in units if u is not None]
    known = [u for u in numbers if u]
    if len(numbers) < len(strides) or len(set(known)) != len(known) or any(u < 0 for u in known):
        return None
    return values, numbers


def block_modes(part: Guarded) -> dict[int, str]:
    """Modes of the whole tensor that a block index walks in steps of the tile: mode -> name of the index."""
    return _walked(part, {v.name for v in part.offset.variables() if v.name.startswith("blockIdx.")})


def split_modes(part: Guarded) -> dict[int, str]:
    """Modes that a part of a block index walks in steps of the tile: ``blockIdx.x % tiles``, ``blockIdx.x / tiles``."""
    parts: dict[Op, str] = {}
    terms = []
    for factors, many in part.offset.terms:
        for f in factors:
            if isinstance(f, Op) and f.kind in ("div", "mod") and str(f.args[0]).startswith("blockIdx."):
                parts.setdefault(f, f"blockIdx.{len(parts)}")
        terms.append((factors, many))
    if not parts:
        return {}
    offset = ex.const(0)
    for factors, many in terms:
        term = ex.const(many)
        for f in factors:
            term = ex.mul(term, ex.var(parts[f]) if isinstance(f, Op) and f in parts else ex.atom_expr(f))
        offset = ex.add(offset, term)
    names = {name: str(atom) for atom, name in parts.items()}
    walked = block_modes(replace(part, offset=offset))
    return {m: names[name] for m, name in walked.items() if name in names}


def goes_on(part: Guarded, index: str) -> bool:
    """Whether blocks go on along an index in a loop, by the grid's size there: what ends it says how many tiles."""
    size = index.replace("blockIdx", "gridDim")
    products = [{v.name for f in factors for v in variables_of(f)} for factors, _ in part.offset.terms]
    return any(size in names and any("#" in n for n in names) for names in products)


def variables_of(factor: Var | Op) -> Iterable[Var]:
    return (factor,) if isinstance(factor, Var) else (v for a in factor.args for v in a.variables())


def loop_modes(part: Guarded) -> dict[int, str]:
    """Modes that a number which loops change walks in steps of the tile, either way: mode -> its name."""
    return _walked(part, _loop_names(part))


def loop_names(part: Guarded) -> dict[str, int]:
    """All numbers that loops change and that walk a mode in steps of the tile, several along one, too."""
    return {name: mode for name in _loop_names(part) for mode in _walked(part, {name})}


def _loop_names(part: Guarded) -> set[str]:
    sizes = {v.name for n in (*part.extents, *part.strides) for v in as_expr(n).variables()}
    names = {v.name for v in part.offset.variables()} - sizes
    return {n for n in names if "#" in n and PER_THREAD not in n and not n.startswith((*INDICES, "*"))}  # *: memory's


def forwards(part: Guarded, mode: int) -> str | None:
    """A number that loops change, with which the tile goes on along a mode: its name; None where it goes back."""
    name = loop_modes(part).get(mode)
    step = _step_of(part, name)
    return name if step is not None and step > 0 else None


def _step_of(part: Guarded, name: str | None) -> int | None:
    every = symbols([part.offset, *(as_expr(s) for s in part.strides)])
    return _by(part.offset, {n: e for n, e in every.items() if n != name}, name) if name is not None else None


def _walked(part: Guarded, indices: set[str]) -> dict[int, str]:
    strides = [as_expr(s) for s in part.strides]
    every = symbols([part.offset, *strides])
    found: dict[int, str] = {}
    for name in sorted(indices):
        step = _step(part.offset, {n: e for n, e in every.items() if n != name}, name)
        if step is None:
            continue
        walked: dict[int, int] = {}
        for mode, (extent, stride) in enumerate(zip(part.tile, strides, strict=True)):
            size, unit = known_value(extent), stride.substitute(every).constant
            if size is not None and unit and step == size * unit:
                walked[mode] = size
        # one whole row is a step along either mode; of a mode with one tile alone there is no next one: the step
        # leads to another tensor
        extents = {m: known_value(part.extents[m]) for m in walked}
        walked = {m: n for m, n in walked.items() if (e := extents[m]) is None or e > n}
        if len(walked) == 1:
            found[next(iter(walked))] = name
    return found


def _step(offset: Expr, values: dict[str, Expr], name: str) -> int | None:
    """By how much an offset grows from 0 to 1 of an index, the others being 0; either way of what loops change."""
    step = _by(offset, values, name)
    return step if step is None or name.startswith("blockIdx.") else abs(step)


def _by(offset: Expr, values: dict[str, Expr], name: str) -> int | None:
    try:
        offset = offset.substitute(values)
        others = dict.fromkeys((v.name for v in offset.variables()), 0)
        return offset.evaluate({**others, name: 1}) - offset.evaluate({**others, name: 0})
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None


def advance(value: Int, index: str) -> int | None:
    """By how much a coordinate grows with each step of a block index; None where that is not the same everywhere.

    Of ``min(tiles, index + 1)`` it is not: whether the others are small or large numbers must make no difference.
    """
    expression = as_expr(value)
    names = {v.name for v in expression.variables()}
    if index not in names:
        return 0
    try:
        steps = {
            b - a for other in (0, _BASE)
            for a, b in itertools.pairwise(
                expression.evaluate({n: i if n == index else other for n in names}) for i in range(4)
            )
        }  # fmt: skip
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None
    return steps.pop() if len(steps) == 1 else None


def bounded_mode(value: Int, coordinates: tuple[Int, ...]) -> int | None:
    """Which coordinate a comparison is about, by itself or from where the tile starts (``c + 64 * blockIdx.x < n``)."""
    varying = {v.name for c in coordinates for v in as_expr(c).variables()}
    same = []
    for i, c in enumerate(coordinates):
        start = {v.name for v in ex.sub(as_expr(value), as_expr(c)).variables()}
        if not start & varying and not any("threadIdx" in n or PER_THREAD in n for n in start):
            same.append(i)
    exact = [i for i in same if as_expr(coordinates[i]) == as_expr(value)]
    return same[0] if len(same) == 1 else exact[0] if len(exact) == 1 else None


def own_limit(bound: Bound) -> bool:
    """A limit of each thread's own: ``first(0, m) < rows - mine(0)`` asks about both, which is not followed."""
    return any("threadIdx" in v.name or PER_THREAD in v.name for v in as_expr(bound.limit).variables())


def left_of(limit: Int, extent: Int) -> Int | None:
    """What blocks before this one take of an extent, where a limit is what they leave of it: ``m - 64 * blockIdx.x``.

    Zero for the extent itself; None for a limit that is not made of the extent.
    """
    taken = ex.sub(as_expr(extent), as_expr(limit))
    names = {v.name for v in taken.variables()}
    if not names:
        return 0 if taken.constant == 0 else None
    if known_value(extent) is not None or not all(n.startswith("blockIdx.") for n in names):
        return None
    try:
        return extent - limit if taken.evaluate(dict.fromkeys(names, 0)) == 0 else None
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None


def tile_of_other_pass(bound: Bound, part: Guarded, mode: int, index: str) -> int | None:
    """How far the tile that is copied starts behind the one that a limit is what is left from, in each pass of a loop:
    ``rows - m * 64`` for the tile ``m + 1``. None where that is not known, or not the same."""
    stride = as_expr(part.strides[mode]).variables()
    start = ex.sub(as_expr(bound.value), as_expr(bound.coordinates[mode]))
    taken = ex.add(ex.sub(as_expr(part.extents[mode]), as_expr(bound.limit)), start)
    if {v.name for v in taken.variables()} != {index} or len(stride) != 1:
        return None
    by = stride[0].name
    names = {v.name for v in part.offset.variables()} - {by, index}
    found = set()
    try:
        for at, unit in itertools.product(range(1, 4), (_BASE, 3 * _BASE)):
            whole = part.offset.evaluate({**dict.fromkeys(names, 0), by: unit, index: at})
            step = as_expr(part.strides[mode]).evaluate({by: unit})
            if step <= 0 or whole % step:
                return None
            found.add(whole // step - taken.evaluate({index: at}))
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None
    return found.pop() if len(found) == 1 else None


def beyond(bound: Bound, mode: int, extent: Int) -> int | None:
    """By how many coordinates a bound lets more pass than a mode has, from where the tile starts; None if not known."""
    start = ex.sub(as_expr(bound.value), as_expr(bound.coordinates[mode]))
    left = ex.sub(ex.sub(as_expr(bound.limit), start), as_expr(extent))
    if not all(v.name.startswith("blockIdx.") for v in left.variables()):
        return None
    try:
        return left.evaluate({v.name: 0 for v in left.variables()})
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None


def predicates_of(event: Event, context: Context) -> list[list[Predicate]]:
    """What decides which elements a copy moves: its predicate tensor, or comparisons of coordinates around it.

    One list for each place in the source; an unrolled loop assigns to elements one by one.
    """
    where = (event.enclosing, event.arch)
    if event.predicate is not None:
        found: dict[Span, list[Predicate]] = {}
        for p in context.index.predicates_for(event):
            found.setdefault(p.span, []).append(replace(p, bounds=tuple(map(of_words, p.bounds))))
        return list(found.values())
    guards = [g for g in event.guards if g.bounds]
    if not guards:
        return []
    complete = all(g.complete for g in inner(event.guards))
    bounds = tuple(of_words(b) for g in guards for b in g.bounds)
    return [[Predicate("", guards[-1].span, bounds, complete, *where)]]


def of_words(bound: Bound) -> Bound:
    """One whose limit is meant without its wrapping around: ``m - 64 * blockIdx.x`` is unsigned, for the index is.

    Which mode's extent it is what is left of, and from which tile on, is the same where it wraps around.
    """
    whole = as_expr(bound.limit)
    parts = [(factors[0].args[0], n) for factors, n in whole.terms if len(factors) == 1 and _wraps(factors[0])]
    if len(parts) != 1 or parts[0][1] != 1:
        return bound
    others = ex.Expr(tuple(term for term in whole.terms if len(term[0]) != 1 or not _wraps(term[0][0])))
    return replace(bound, limit=wrap(ex.add(others, parts[0][0]), True))


def _wraps(atom: Var | Op) -> TypeGuard[Op]:
    return isinstance(atom, Op) and atom.kind == "and" and atom.args[1].constant in _WORDS


def unvaried(predicate: Predicate, part: Guarded) -> str | None:
    """A loop variable of the coordinates that the element written does not depend on; its name in the source."""
    if predicate.element is None:
        return None
    written = {v.name for v in as_expr(predicate.element).variables()}
    moved = {v.name for v in part.offset.variables()}
    for bound in predicate.bounds:
        for v in as_expr(bound.value).variables():
            lo, hi = v.domain.bounds()
            looped = (
                not v.name.startswith(INDICES) and lo == 0 and hi is not None and hi > lo and v.domain.values is None
            )
            if looped and v.name not in written | moved:
                return v.name.partition("#")[0]
    return None


def open_limits(event: Event, context: Context) -> bool:
    """No predicate, or one that compares with run-time extents only: every thread may then take part."""
    if not event.predicated:
        return True
    bounds = [b for asked in predicates_of(event, context) for p in asked for b in p.bounds]
    return event.predicate is not None and bool(bounds) and all(known_value(b.limit) is None for b in bounds)
