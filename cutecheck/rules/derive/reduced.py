"""Reductions of what a thread has of a row, and the lanes of its warp that have the rest of it.

Which elements the values of a fragment are is told by what fills it: copies of parts of a tensor whose layout is
static or has run-time strides, or products, by the thread-value layout of the accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.access import WARP
from cutecheck.model.algebra import get, size
from cutecheck.model.ints import CuteError, Dyn, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.tiled.mma import TiledMMA
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import symbols
from cutecheck.rules.derive.vectors import leaves

_MOST = 1024  # values of a fragment
_Coordinates = list[list[tuple[int, ...]]]  # of each lane's values


@record(frozen=True, slots=True)
class Missed:
    """A lane that has elements of the row which lane 0 reduces, out of reach of its shuffles; how many there are; and
    what fills the fragment."""

    lane: int
    many: int
    reached: int
    by: Event


def missed(call: Call, context: Context) -> Missed | None:
    """What a reduction lacks; None where it lacks nothing, or what fills the fragment is not known."""
    tensor, offsets = call.arguments[0], dict(call.keywords).get("offsets")
    if not isinstance(tensor, TensorFact) or not isinstance(offsets, tuple) or tensor.buffer is None:
        return None
    values = _values(tensor)
    if not values or not offsets:
        return None
    reached = {0}
    for offset in offsets:
        reached |= {lane ^ offset for lane in reached}
    found: set[frozenset[int]] = set()
    by = None
    for event in context.facts.events:
        if (event.kernel, event.arch, event.block) != (call.kernel, call.arch, event.block):
            continue
        filled = _filled(event, tensor.buffer)
        if filled is None:
            continue
        try:
            row = _row(event, filled, values, reached)
        except (KeyError, ZeroDivisionError, ValueError, IndexError, TypeError, CuteError, UndecidedError):
            row = None
        if row is None:
            return None
        found.add(row)
        by = event
    if len(found) != 1 or by is None:
        return None
    (row,) = found
    out = sorted(row - reached)
    return Missed(out[0], len(row), len(reached), by) if out else None


def _values(tensor: TensorFact) -> list[int]:
    """The offsets of a fragment's values, where loops are in their first pass."""
    if not isinstance(tensor.layout, Layout) or not isinstance(tensor.offset, (int, Dyn)):
        return []
    first = as_expr(tensor.offset)
    at = first.evaluate(dict.fromkeys((v.name for v in first.variables()), 0))
    found = _offsets(tensor.layout)
    return [at + n for n in found] if len(found) > 1 else []


def _offsets(layout: Layout) -> list[int]:
    """In the order of a layout's elements; none where they are not known."""
    many = known_value(size(layout))
    numbers = [layout(i) for i in range(many)] if many is not None and many <= _MOST else []
    known = [known_value(n) for n in numbers if isinstance(n, (int, Dyn))]
    return [n for n in known if n is not None] if len(known) == len(numbers) and None not in known else []


def _filled(event: Event, buffer: str) -> TensorFact | None:
    """The part of a fragment that an event fills: what a copy copies to, or the accumulators of a product."""
    into = event.operands[1:2] if event.kind == "copy" else event.operands[:1] + event.operands[3:]
    return next((t for t in into if t.buffer == buffer), None)


def _row(event: Event, filled: TensorFact, values: Sequence[int], reached: set[int]) -> frozenset[int] | None:
    """The lanes that have elements of the row which lane 0 reduces; None where its values are no part of one row.

    Nor where the lanes that it reaches have a part of the row without gaps: it may have a maximum for each such part.
    """
    places, start = _offsets(filled.layout) if isinstance(filled.layout, Layout) else [], filled.offset
    if not places or not isinstance(start, int) or len(set(places)) < len(places):
        return None
    index = {place + start: i for i, place in enumerate(places)}
    taken = [index[v] for v in values if v in index]
    if len(taken) < 2:
        return None
    at = _of_product(event.tiled, taken) if event.kind == "gemm" else _of_copy(event.operands[0], taken)
    if at is None:
        return None
    own = at[0]
    modes = range(len(own[0]))
    kept = [m for m in modes if len({c[m] for c in own}) == 1]
    if not kept or len(kept) == len(modes):
        return None
    row = tuple(own[0][m] for m in kept)
    found = {tuple(c[m] for m in modes if m not in kept) for lane in reached for c in at[lane]}
    along = [{f[m] for f in found} for m in range(len(modes) - len(kept))]
    ranges = [s for s in along if len(s) > 1]
    if len(ranges) == 1 and len(ranges[0]) == max(ranges[0]) - min(ranges[0]) + 1:
        return None
    return frozenset(lane for lane, cs in enumerate(at) if any(tuple(c[m] for m in kept) == row for c in cs))


def _of_product(tiled: object, taken: Sequence[int]) -> _Coordinates | None:
    """Rows and columns of accumulators; those of other instructions are the same lanes' in the same way."""
    if not isinstance(tiled, TiledMMA):
        return None
    layout, rows = tiled.atom.c_tv, known_value(get(tiled.atom.shape_mnk, 0))
    threads, many = known_value(size(get(layout, 0))), known_value(size(get(layout, 1)))
    if threads is None or threads < WARP or not rows or not many:
        return None
    return [[_of_atom(layout(lane, i % many), rows, i // many) for i in taken] for lane in range(WARP)]


def _of_atom(element: object, rows: int, instruction: int) -> tuple[int, ...]:
    if not isinstance(element, int):
        raise ValueError(element)
    return element % rows, element // rows, instruction


def _of_copy(source: TensorFact, taken: Sequence[int]) -> _Coordinates | None:
    """Coordinates in the whole tensor, block indices and loops at 0."""
    root, start = source.root_layout, source.offset
    if not isinstance(root, Layout) or not isinstance(source.layout, Layout) or source.space not in ("gmem", "smem"):
        return None
    modes = leaves(root.shape, root.stride)
    if modes is None or not isinstance(start, (int, Dyn)) or len(modes) < 2:
        return None
    offset = as_expr(start)
    steps = [as_expr(n) for i in taken if isinstance(n := source.layout(i), (int, Dyn))]
    strides = [as_expr(d) for _, d in modes]
    every = symbols([offset, *steps, *strides])
    units = [s.substitute(every).constant for s in strides]
    order = sorted((u, m) for m, u in enumerate(units) if u)[::-1]
    if len(steps) < len(taken) or len(order) < len(units) or len({u for u, _ in order}) < len(order):
        return None
    found: _Coordinates = []
    for lane in range(WARP):
        values = {name: e.constant or 0 for name, e in every.items()}
        names = {v.name for e in (offset, *steps) for v in e.variables()} - set(values)
        values |= {n: lane if n == "threadIdx.x" else 0 for n in names}
        base = offset.evaluate(values)
        found.append([_apart(base + s.evaluate(values), order, len(units)) for s in steps])
    return found


def _apart(address: int, order: Sequence[tuple[int, int]], modes: int) -> tuple[int, ...]:
    at = [0] * modes
    for unit, mode in order:
        at[mode], address = divmod(address, unit)
    if address:
        raise ValueError(address)
    return tuple(at)


__all__ = ["Missed", "missed"]
