"""The blocks of a kernel's launch, where the host says how large its tensors are: each tile by its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import cast

from cutecheck.facts import Call, Event, Guard, Launch
from cutecheck.model.expr import Expr
from cutecheck.model.expr_compile import compiled
from cutecheck.model.ints import Condition, Rel, as_expr
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner, of_limits, same_threads_in_all_blocks

_AXES = "xyz"
_THREADS = frozenset({"threadIdx.x", "threadIdx.y", "threadIdx.z"})
_MOST = 4096  # blocks that are looked at
_MANY = 1 << 24  # what is not known of a grid: so many multiprocessors that each has one tile
_DECIDED = re.compile(r"(?:\w+\.)*const_expr\(")  # by the DSL when it traces the kernel
_PASS = re.compile(r"iteration#\d+$")  # of the loop from tile to tile, as far as it is counted


@record(frozen=True, slots=True)
class Blocks:
    """The tiles that a launch takes, one a block: of a persistent kernel as if the grid had as many blocks.

    ``numbers``: the extents and strides, which are the host's, and the grid. ``at``: x, y and z of each block.
    """

    launch: Launch
    numbers: Mapping[str, int]
    at: tuple[tuple[int, int, int], ...]


def blocks_of(made: Event | Call, context: Context) -> Blocks | None:
    """The blocks of the kernel's launch; None where it has several, or too many blocks, or its host names no number."""
    memo = cast("dict[tuple[str, str, bool], Blocks | None]", context.memo.setdefault("blocks of launches", {}))
    single = isinstance(made, Call)  # tiles of constants are those of examples, too, which keep one of all
    key = made.kernel, made.arch, single
    if key not in memo:
        found = [x for x in context.index.launches_of.get(made.kernel, []) if x.arch in ("", made.arch)]
        known = [x for x in found if x.origin == "launch" and x.grid and not x.unbound]
        known = [x for x in known if x.numbers or (single and _is_static(x))]
        memo[key] = _blocks(known[0]) if len(known) == 1 else None
    return memo[key]


def _is_static(launch: Launch) -> bool:
    """Its tensors, too, are as large as the program says, where nothing of the grid is a number of the host."""
    return all(as_expr(n).constant is not None for n in launch.grid)


def _blocks(launch: Launch) -> Blocks | None:
    numbers = dict(launch.numbers)
    sizes = []
    for n in launch.grid:
        grid = as_expr(n)
        more = {v.name: _MANY for v in grid.variables() if v.name not in numbers}
        value = number_of(grid, numbers | more)
        # min(tiles, multiprocessors): with more of these it is as many
        if value is None or (more and number_of(grid, numbers | dict.fromkeys(more, 2 * _MANY)) != value):
            return None
        sizes.append(value)
    sizes += [1] * (len(_AXES) - len(sizes))
    many = sizes[0] * sizes[1] * sizes[2]
    if not 0 < many <= _MOST or len(sizes) != len(_AXES) or launch.cluster_shape not in ((), (1, 1, 1)):
        return None
    numbers |= {f"gridDim.{a}": n for a, n in zip(_AXES, sizes, strict=True)}
    places = product(range(sizes[2]), range(sizes[1]), range(sizes[0]))
    return Blocks(launch, numbers, tuple((x, y, z) for z, y, x in places))


def number_of(e: Expr, numbers: Mapping[str, int]) -> int | None:
    """The value at these numbers; None where it hangs on others."""
    try:
        return e.evaluate(numbers)
    except (KeyError, ValueError, ZeroDivisionError):
        return None


def by_block(e: Expr, blocks: Blocks, free: Iterable[str] = (), first: Iterable[str] = ()) -> Callable[..., int] | None:
    """The value in each block: a function of its x, y and z, and of the ``free`` variables; None where it is not known.

    In the first pass of the loop from tile to tile, and where the variables ``first`` are zero.
    """
    names = {v.name for v in e.variables()}
    indices = [f"blockIdx.{a}" for a in _AXES]
    zero = {n for n in names if _PASS.match(n)} | set(first)
    taken = (*indices, *free)
    rest = names - set(taken)
    numbers = {n: blocks.numbers.get(n, 0) for n in rest if n in blocks.numbers or n in zero}
    if len(numbers) < len(rest):
        return None
    try:
        function = compiled(e, (*taken, *numbers))
    except (KeyError, ValueError):
        return None
    values = tuple(numbers.values())
    return lambda *given: function(*given, *values)


def come_there(guards: Iterable[Guard], blocks: Blocks, free: tuple[str, ...]) -> Callable[..., bool] | None:
    """Whether a thread of a block comes there; None where that is not known. Without ``free`` variables conditions
    that pick threads, or ask for the end of a matrix in the tile, count as met, and others are thread 0's."""
    asked: list[tuple[Rel, Callable[..., int], Callable[..., int]]] = []
    for guard in inner(guards):
        if _DECIDED.match(guard.text) or (guard.turns and not free):
            continue
        if not free and (same_threads_in_all_blocks(guard) or _of_threads(guard) or of_limits(guard)):
            continue
        parts = 1 + len(re.findall(r"&&|\band\b", guard.text))
        if len(guard.holds) < parts or (re.search(r"\|\||\bor\b", guard.text) and not guard.negated):
            return None
        for c in guard.holds:
            sides = _sides(c, blocks, free)
            if sides is None:
                return None
            asked.append((c.rel, *sides))
    return lambda *at: all(_holds(rel, lhs(*at), rhs(*at)) for rel, lhs, rhs in asked)


def _of_threads(guard: Guard) -> bool:
    """It picks threads, by their index alone."""
    names = {v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()}
    return bool(guard.holds) and names <= _THREADS


def _sides(c: Condition, blocks: Blocks, free: tuple[str, ...]) -> tuple[Callable[..., int], Callable[..., int]] | None:
    first = () if free else _THREADS
    lhs, rhs = by_block(c.lhs, blocks, free, first), by_block(c.rhs, blocks, free, first)
    return None if lhs is None or rhs is None or c.rel not in _ANSWERS else (lhs, rhs)


_ANSWERS: Mapping[Rel, Callable[[int, int], bool]] = {
    Rel.LT: lambda a, b: a < b,
    Rel.LE: lambda a, b: a <= b,
    Rel.EQ: lambda a, b: a == b,
    Rel.NE: lambda a, b: a != b,
}


def _holds(rel: Rel, lhs: int, rhs: int) -> bool:
    return _ANSWERS[rel](lhs, rhs)


__all__ = ["Blocks", "blocks_of", "by_block", "come_there", "number_of"]
