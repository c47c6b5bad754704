"""Which element of the matrix each instruction of a guarded copy moves, and which one its predicate asks about.

Addresses are taken apart into coordinates of the matrix: run-time strides are powers of a large number, and what does
not come apart within one tile is not judged.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from cutecheck.facts import Event, Predicate, TensorFact, Unknown
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import CuteError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import AnyLayout
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.records import record
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.derive.coordinates import INDICES, Guarded, bounded_mode, symbols
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.vectors import mode_sizes

_MOST = 4096  # instructions, elements of a predicate tensor, or passes of the loops that fill it


@record(frozen=True, slots=True)
class Astray:
    """A predicate that asks about another element than its instruction moves.

    Along ``mode`` of the matrix, ``instruction`` of ``thread`` moves what is ``moved`` elements behind the first
    instruction's of thread 0, and asks about what is ``asked`` behind.
    """

    mode: int
    thread: int
    instruction: tuple[int, ...]
    asked: int
    moved: int


class _Apart(Exception):
    """What is needed is not known, or an address does not come apart."""


def astray(event: Event, asked: Sequence[Predicate], tensor: TensorFact, part: Guarded, threads: int) -> Astray | None:
    """The first predicate, thread by thread and then instruction by instruction, that is about another element."""
    for passes in (True, False):  # of loops around the copy; they may walk further than a tile
        try:
            return _Walk(event, asked, tensor, part, passes).first(threads)
        except (_Apart, KeyError, ZeroDivisionError, ValueError, IndexError, TypeError, CuteError, UndecidedError):
            continue
    return None


class _Walk:
    """One copy: addresses of its instructions, and what was assigned to the elements of its predicate tensor."""

    def __init__(
        self, event: Event, asked: Sequence[Predicate], tensor: TensorFact, part: Guarded, passes: bool
    ) -> None:
        if isinstance(tensor.layout, Unknown):
            raise _Apart
        self.event, self.asked, self.part = event, asked, part
        strides = [as_expr(s) for s in part.strides]
        compared = _looped([as_expr(b.value) for p in asked for b in p.bounds])
        shared = _looped([part.offset]) & compared
        self.points = list(_points(sorted(shared, key=str))) if passes else [{}]
        known = symbols([part.offset, *strides])
        self.values = {n: v for n, v in known.items() if n not in {v.name for v in shared}}
        self.offset = part.offset.substitute(self.values)
        self.steps = [s.substitute(self.values).constant for s in strides]
        self.layout: AnyLayout = tensor.layout
        self.slice = None if tensor.thread is None else as_expr(tensor.thread)
        self.repeats = _static(mode_sizes(tensor.layout)[1:])
        self.vectors = self._vectors(tensor.layout)
        self.modes = [
            (m, i) for i, b in enumerate(asked[0].bounds) if (m := bounded_mode(b.value, b.coordinates)) is not None
        ]
        used = [part.offset, *(as_expr(b.value) for p in asked for b in p.bounds)]
        if any(per_thread(v.name) for e in used for v in e.variables()):
            raise _Apart
        if any(len(p.bounds) != len(asked[0].bounds) for p in asked):
            raise _Apart

    def _vectors(self, layout: AnyLayout) -> tuple[int, int]:
        """How many instructions the first mode has, and the values of one."""
        values = known_value(mode_sizes(layout)[0])
        atom = atom_of(self.event.tiled)
        if self.event.predicate is None and values is not None:
            if atom is None and not all(g.bounds and g.complete for g in inner(self.event.guards)):
                raise _Apart  # which threads of the block take part is not the copy's to say
            return 1, values  # a condition on the first of values that go together asks for extents that they divide
        if values is not None and self.event.tiled is None and self.event.span.is_python:
            return values, 1  # ``basic_copy_if``: each element by itself
        if values is None or atom is None:
            raise _Apart
        each = known_value(atom.num_val_src)
        if not each:
            raise _Apart
        return (values // each, each) if values % each == 0 else (1, values)

    def first(self, threads: int) -> Astray | None:
        """Thread by thread at the first instruction, then every instruction of the first thread and the last."""
        instructions = list(itertools.product(range(self.vectors[0]), *map(range, self.repeats)))
        if not instructions or len(instructions) > _MOST or not self.modes:
            return None
        table = self._table()
        those = self._threads(threads)
        ends = [(t, i) for t in sorted({those[0], those[-1]}) for i in instructions]
        order = [(self.points[0], (t, instructions[0])) for t in those]
        order += list(itertools.product(self.points, ends))
        if len(order) > 4 * _MOST:
            return None
        moved, wanted, places = [], [], []
        for point, (thread, instruction) in order:
            found = self._asked(table, instruction, point, thread)
            if found is None:
                continue
            at = {**dict.fromkeys((v.name for v in self.offset.variables()), 0), **point, THREAD: thread}
            moved.append(self.offset.evaluate(at) + self._behind(instruction))
            wanted.append(found)
            places.append((thread, instruction))
        if not moved:
            return None
        least = min(moved)
        coordinates = [self._apart(a - least) for a in moved]
        for (thread, instruction), mine, theirs in zip(places, coordinates, wanted, strict=True):
            for (mode, _), value, start in zip(self.modes, theirs, wanted[0], strict=True):
                ahead = mine[mode] - coordinates[0][mode]
                if value - start != ahead:
                    return Astray(mode, thread, instruction, value - start, ahead)
        return None

    def _behind(self, instruction: tuple[int, ...]) -> int:
        """Elements from the thread's first to the instruction's first."""
        vector, *rest = instruction
        here = as_expr(cast("int", self.layout(vector * self.vectors[1], *rest))).substitute(self.values).constant
        if here is None:
            raise _Apart
        return here

    def _apart(self, distance: int) -> dict[int, int]:
        """Coordinates of the matrix, from an address behind the first one of the tile."""
        found: dict[int, int] = {}
        if None in self.steps:
            raise _Apart
        for step, mode in sorted(((s, m) for m, s in enumerate(cast("list[int]", self.steps))), reverse=True):
            tile = known_value(self.part.tile[mode])
            if tile == 1:
                found[mode] = 0
                continue
            if step <= 0 or tile is None:
                raise _Apart
            found[mode], distance = divmod(distance, step)
            if found[mode] >= tile:
                raise _Apart
        if distance:
            raise _Apart
        return found

    def _threads(self, count: int) -> list[int]:
        """The threads of the block that take the copy's slices: of ``get_slice(threadIdx.x - 128)`` not the first."""
        if count > LARGEST_BLOCK:
            raise _Apart
        if self.slice is None or str(self.slice) == THREAD or {v.name for v in self.slice.variables()} != {THREAD}:
            return list(range(count))
        found: dict[int, int] = {}
        for thread in range(LARGEST_BLOCK):
            found.setdefault(self.slice.evaluate({THREAD: thread}), thread)
        return [found[i] for i in range(count)]

    def _table(self) -> dict[int, tuple[Predicate, dict[str, int]]]:
        """By the offset of an element of the predicate tensor: what was assigned last, in which pass of its loops."""
        found: dict[int, tuple[Predicate, dict[str, int]]] = {}
        if self.event.predicate is None:
            return found
        for asked in self.asked:
            if asked.element is None:
                raise _Apart
            element = as_expr(asked.element)
            for point in _points(sorted(_looped([element, *(as_expr(b.value) for b in asked.bounds)]), key=str)):
                found[element.evaluate(point)] = (asked, point)
        return found

    def _asked(
        self, table: Mapping[int, tuple[Predicate, dict[str, int]]], instruction: tuple[int, ...],
        point: dict[str, int], thread: int,
    ) -> list[int] | None:  # fmt: skip
        """The coordinate that is compared along each mode; None where the predicate comes from elsewhere."""
        predicate, inner = self.asked[0], point
        tensor = self.event.predicate
        if tensor is not None:
            at = self._element(tensor, instruction)
            if at is None or at not in table:
                return None
            predicate, inner = table[at]
        values = []
        for _, index in self.modes:
            value = as_expr(predicate.bounds[index].value).substitute(self.values)
            zero = dict.fromkeys((v.name for v in value.variables()), 0)
            values.append(value.evaluate({**zero, **inner, THREAD: thread}))
        return values

    def _element(self, tensor: TensorFact, instruction: tuple[int, ...]) -> int | None:
        """Offset of the predicate that decides for an instruction."""
        if isinstance(tensor.layout, Unknown) or isinstance(tensor.offset, (Unknown, tuple)):
            raise _Apart
        sizes = _static(mode_sizes(tensor.layout))
        if tuple(sizes) == tuple(self.repeats) and self.vectors[0] == 1:
            coordinate = instruction[1:]
        elif tuple(sizes) == (self.vectors[0], *self.repeats):
            coordinate = instruction
        elif not any(instruction):
            coordinate = (0,) * len(sizes)
        else:
            return None  # predicates of another shape are CUT603's
        start = known_value(cast("int", tensor.offset))
        at = known_value(cast("int", tensor.layout(*coordinate)))
        return None if at is None or start is None else start + at


def _looped(expressions: Sequence[Expr]) -> frozenset[Var]:
    """Variables of loops with few passes; not indices of threads and blocks."""
    found = set()
    for v in (v for e in expressions for v in e.variables()):
        lo, hi = v.domain.bounds()
        if not v.name.startswith(INDICES) and lo == 0 and hi is not None and 0 < hi < _MOST and v.domain.values is None:
            found.add(v)
    return frozenset(found)


def _points(variables: Sequence[Var]) -> Iterator[dict[str, int]]:
    """All values of a few variables."""
    ranges = [range(cast("int", v.domain.bounds()[1]) + 1) for v in variables]
    if math.prod(map(len, ranges)) > _MOST:
        raise _Apart
    names = [v.name for v in variables]
    return (dict(zip(names, p, strict=True)) for p in itertools.product(*ranges))


def _static(sizes: Sequence[object]) -> list[int]:
    known = [known_value(cast("int", s)) for s in sizes]
    if None in known:
        raise _Apart
    return [int(cast("int", k)) for k in known]
