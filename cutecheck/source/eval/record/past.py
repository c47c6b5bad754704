"""Slices of tensors in a kernel run pass by pass: at coordinates that do not exist, and those that are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cutecheck.facts import TensorFact, Unknown
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.expr import Expr, const
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval.values import TensorVal

if TYPE_CHECKING:
    from cutecheck.source.eval.record.running import Running

GRID = "gridDim."
# variables that are no run-time arguments
INDEX = ("threadIdx.", "blockIdx.", "cluster", "block_rank_in_cluster", "block_id_in_cluster")
_FEW = 3  # tiles, from which on a loop goes through them


class Slices:
    """The coordinates at which a run slices its tensors.

    A run has numbers of its own, and others may not go together as they do in it. So what is said of an extent must
    have been decided by the numbers that the extent is made of.
    """

    def __init__(self, replay: Running) -> None:
        self.replay = replay
        self.decided: set[str] = set()  # run-time numbers that conditions were decided by
        self.of_blocks = False  # some were decided by the block's index
        self.extents: set[str] = set()  # run-time numbers that extents of global memory are made of
        self.taken: dict[tuple[str, Expr], set[int]] = {}  # of a buffer with so many tiles; empty: not known
        self.constant: set[Expr] = set()  # numbers of tiles that types say
        self.starts: dict[tuple[str, Expr], dict[int, set[int | None]]] = {}  # where these tiles' slices start
        self.read: dict[str, set[int]] = {}  # where in each buffer copies and products start
        self.by_elements: set[str] = set()  # buffers of which more is read, or elsewhere

    def decide(self, condition: Expr) -> None:
        """A condition was decided by the run's numbers: by those that it still hangs on in the first block."""
        at_first = {v.name: const(0) for v in condition.variables() if v.name.startswith("blockIdx.")}
        self.decided |= run_time_names(condition.substitute(at_first) if at_first else condition)
        self.of_blocks |= bool(at_first)

    def given(self, values: Iterable[object]) -> None:
        """What a kernel is given: the extents of its tensors are numbers that its host chooses."""
        for value in values:
            if isinstance(value, TensorVal):
                self.extents |= extent_names(value.layout)
            elif isinstance(value, (list, tuple)):
                self.given(value)

    def uses(self, facts: Iterable[TensorFact]) -> None:
        """Operands of a copy or product."""
        for f in facts:
            if f.space != "gmem":
                continue
            self.extents |= extent_names(f.root_layout)
            start = None if isinstance(f.offset, (Unknown, tuple)) else self._number(f.offset)
            if start is None:
                self.by_elements.add(f.buffer or "")
            else:
                self.read.setdefault(f.buffer or "", set()).add(start)

    def so_far(self) -> tuple[set[str], bool]:
        return set(self.decided), self.of_blocks

    def at(self, coord: Any, t: TensorVal, made: TensorVal) -> tuple[int, int] | None:
        """A coordinate of a slice (``made``), and the extent of its mode, where there is certainly no such one in it.

        Of shared memory what decided must be numbers that extents of matrices are made of.
        """
        plain = t.layout.b if isinstance(t.layout, ComposedLayout) else t.layout
        if not isinstance(plain, Layout) or t.pointer is None:
            return None
        for at, shape in _coordinates(coord, plain.shape):
            length = size(shape)
            extent = as_expr(length)
            if t.pointer.space == "gmem" and isinstance(length, (int, Dyn)) and self.replay.thread is None:
                self._take(t.pointer.buffer, extent, as_expr(at), self.replay.number(as_expr(at)), made)
                if isinstance(length, int):
                    self.constant.add(extent)
            past = self.replay.past(as_expr(at), extent)
            if past is None:
                continue
            decisive = run_time_names(as_expr(at)) | self.decided
            if self.replay.by_source and t.pointer.space == "smem":  # each grid has blocks with so many tiles
                decisive = {n for n in decisive if not n.startswith(GRID)}
            if not decisive and run_time_names(extent):
                continue  # a number of the program's own, which its host knows to be an extent
            if decisive <= (run_time_names(extent) if t.pointer.space == "gmem" else self.extents):
                return past
        return None

    def _take(self, buffer: str, extent: Expr, at: Expr, value: int | None, made: TensorVal) -> None:
        known = value is not None and not any(v.name.startswith(INDEX) for v in at.variables())
        found = self.taken.setdefault((buffer, extent), {-1})  # a set without -1 is one that is not known
        if not known or not run_time_names(at) <= run_time_names(extent):
            found.clear()
        elif found and value is not None:
            found.add(value)
            self.starts.setdefault((buffer, extent), {}).setdefault(value, set()).add(self._start(made))

    def _start(self, t: TensorVal) -> int | None:
        first, more = self._number(t.offset), self._number(t.pointer.offset if t.pointer is not None else 0)
        return None if first is None or more is None else first + more

    def _number(self, offset: object) -> int | None:
        return self.replay.number(as_expr(offset), True) if isinstance(offset, (int, Dyn, Sym)) else None

    def _copied(self, key: tuple[str, Expr], found: set[int]) -> set[int]:
        """The tiles that are copied or multiplied: the first one may be sliced for its shape alone, and others read
        by another way than these slices."""
        starts = self.starts.get(key, {})
        read = self.read.get(key[0], set())
        tiles = {v for v in found - {-1} if starts.get(v, set()) & read}
        known = key[0] not in self.by_elements and None not in starts.get(0, set())
        if not known or len(tiles) < _FEW or not found - tiles <= {-1, 0}:
            return found
        one, other = sorted(tiles)[:2]
        begin, after = (min(x for x in starts[v] if x is not None and x in read) for v in (one, other))
        step, left = divmod(after - begin, other - one)
        return tiles | ({v for v in range(one) if begin - (one - v) * step in read} if not left else {0})

    def missed(self) -> tuple[tuple[str, int, int], ...]:
        """Of buffers with many tiles, each with the first tile that the whole run has not sliced."""
        if self.of_blocks:
            return ()
        out = []
        for (buffer, extent), sliced in self.taken.items():
            found = self._copied((buffer, extent), sliced) if sliced else sliced
            most = self.replay.number(extent)
            if most is None or len(found - {-1}) < _FEW or not self.decided <= run_time_names(extent):
                continue
            if not self.decided and run_time_names(extent):
                continue  # as many as the program says, which its host knows to be all
            left = sorted(set(range(most)) - found)
            if extent in self.constant and left not in ([0], [most - 1]):
                continue  # a constant may be larger than what is meant
            out += [(buffer, left[0], most)] if left else []
        return tuple(out)

    def whole(self) -> tuple[str, ...]:
        """Buffers of many tiles along one mode, of which the whole run has sliced each one: all are to be used."""
        if self.of_blocks:
            return ()
        out = []
        for (buffer, extent), sliced in self.taken.items():
            most = self.replay.number(extent)
            decided = self.decided <= run_time_names(extent) and (self.decided or not run_time_names(extent))
            if decided and most is not None and most >= _FEW and sliced - {-1} == set(range(most)):
                out.append(buffer)
        return tuple(out)


def _coordinates(coord: Any, shape: Any) -> Iterator[tuple[Any, Any]]:
    """Numbers of a coordinate, each with the shape of its mode."""
    if isinstance(coord, (int, Dyn, Sym)):
        yield coord, shape
    elif isinstance(coord, tuple) and isinstance(shape, tuple) and len(coord) == len(shape):
        for one, mode in zip(coord, shape, strict=True):
            yield from _coordinates(one, mode)


def run_time_names(expr: Expr) -> set[str]:
    """Of what the host decides."""
    return {v.name for v in expr.variables() if not v.name.startswith(INDEX)}


def extent_names(layout: object) -> set[str]:
    """Of what the extents of a tensor are made of."""
    if not isinstance(layout, Layout):
        return set()
    return {n for e in it.flatten_to_tuple(layout.shape) if isinstance(e, Dyn) for n in run_time_names(e.expr)}
