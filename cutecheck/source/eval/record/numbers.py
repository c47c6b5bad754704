"""Other numbers for a run of a persistent kernel than those of its first run.

A block of a persistent kernel takes one tile after another: by the size of the grid, and as many as there are. At the
numbers of a first run it has one tile, whose loop goes round the stages a whole number of times. What is not carried
over to the next tile shows at others: some tiles a block, of an odd number of steps each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import lcm

from cutecheck.model.expr import Expr, Op, Var, atom_expr
from cutecheck.source.eval.record.past import GRID, INDEX
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import EACH, MEMORY, OUTER, Loop, Numbers, of_grid, run_time
from cutecheck.source.eval.record.running import TILES_OF_DSL

Value = Callable[[Expr, Numbers], int | None]  # of an expression, under other numbers

_ODD = (7, 9, 11, 5, 13, 3)  # steps of each: odd, so that barriers come round to the other phase; more than most stages
_LEAST = (3, 5)  # where a pass has many steps: more than two stages
_ODD_OF_FEW = (5, 7, 9, 3)  # where the stages go on from tile to tile, and several tiles come round them
_MOST = 1024  # of numbers that are tried
_WIDEST = 1 << 15  # ... where none of these will do
_TILES = 1 << 30  # as many as are looked for: rows, heads and batches multiply
_AXES = "xyz"
_FEW_BLOCKS = 12  # where no single condition says how many tiles there are
_WIDER = (4, 16, 64)  # where a block had too many still
_NARROWER = (4, 16)  # where it had one alone: what looks for the next tile goes through more of them in the first run
_FEW_PASSES = 2
_STAGES = 3  # of which a thread that waits for each once has not come round
_MORE = (*_ODD, 6, 8, 10)  # of work that blocks share, rounded up
_FEWEST = 2  # stages of a kernel in C++
_SHORT = (12, 9, 8, 6)  # passes of a loop that has too many of them
_RELATIONS = ("lt", "le", "eq", "ne")


def several_tiles(run: Replaying, divisors: Mapping[str, int] | None = None) -> list[Numbers]:
    """Numbers at which a block of a persistent kernel has some tiles, the likeliest first; none of other kernels.

    ``divisors``: what divides them, as roles need that were not run yet.
    """
    loops = run.rounds.loops

    def value(e: Expr, numbers: Numbers) -> int | None:
        return run.number(e, others=numbers)

    grid = [x for x in loops.values() if of_grid(x)]
    outer = [x for x in loops.values() if x.eventful and x.around and x.names()]
    if not grid and not run.responses and not any(x.long for x in outer):
        return []
    numbers: Numbers = {}
    axis = _axis(grid)
    if grid:
        numbers |= {f"{GRID}{a}": 1 for a in _AXES if a != axis}
    inner = [x for x in loops.values() if x.eventful and not x.around and not of_grid(x) and x.names()]
    odd = _ODD_OF_FEW if any(x.scheduled for x in grid) else _ODD
    for loop in inner:
        numbers |= _passes(loop, odd, numbers, value, divisors or {})
    # what looks for a tile may be too long because all that the loop around it goes through is
    searches = run.by_source and any(x.long and not x.eventful for x in grid)
    for loop in (x for x in loops.values() if x not in inner and (x.long or (searches and x in outer))):
        numbers |= _passes(loop, (OUTER,), numbers, value, divisors or {})
    numbers |= _multiples(run, numbers, divisors or {})
    if not grid:
        return [numbers] if numbers else []
    for loop in grid:
        tiles = TILES_OF_DSL if run.by_source or loop.scheduled else OUTER if inner or loop.around else _ODD[0]
        found = _fewer_blocks(loop, numbers, value, tiles, f"{GRID}{axis}")
        if found is not None:
            widths = [found, *(found * n for n in _WIDER)]
            if run.by_source and not loop.eventful:
                widths[1:1] = [found // n for n in _NARROWER if found >= n]
            return [numbers | {f"{GRID}{axis}": n} for n in widths]
    return [numbers | {f"{GRID}{axis}": _FEW_BLOCKS * n} for n in (1, *_WIDER)]


def _multiples(run: Replaying, numbers: Numbers, divisors: Mapping[str, int]) -> Numbers:
    """Numbers that no loop has chosen, as the next multiples of what divides them: as many tiles, all whole."""
    found: Numbers = {}
    for v in run.rounds.divisors:
        old = None if v.name in numbers or v.name.startswith((*INDEX, GRID, MEMORY)) else run.number(atom_expr(v))
        by = lcm(v.domain.divisor(), divisors.get(v.name, 1))
        if v.name in divisors and old and old % by and (more := -(-old // by) * by) in v.domain:
            found[v.name] = more
    return found


def with_grid(tried: Iterable[Numbers], last: Numbers, narrower: bool) -> list[Numbers]:
    """Those of some numbers at which the grid has fewer blocks than at these, or at least as many."""
    names = [n for n in last if n.startswith(GRID)]
    return [t for t in tried if any(t.get(n, 0) < last[n] for n in names) is narrower]


def _axis(grid: Iterable[Loop]) -> str:
    """That of the grid along which a block goes from tile to tile: x, if more than one may be."""
    names = {n for loop in grid for n in loop.names()}
    return next((a for a in _AXES if f"{GRID}{a}" in names), _AXES[0])


def fewer_passes(run: Replaying, dear: bool = False, divisors: Mapping[str, int] | None = None) -> Numbers:
    """Numbers at which loops with steps that have too many passes at those of a run have few: as a list of blocks says.

    Not of loops from tile to tile. ``dear``: the passes were no more than are run, but too long for one run.
    ``divisors``: what divides them, as roles need.
    """

    def value(e: Expr, numbers: Numbers) -> int | None:
        return run.number(e, others=numbers)

    numbers: Numbers = {}
    for loop in run.rounds.loops.values():
        if loop.eventful and (loop.long or dear) and not loop.around and not of_grid(loop) and loop.names():
            targets = _LEAST if dear else _MORE if divisors else _ODD
            numbers |= _passes(loop, targets, numbers, value, divisors or {})
    return numbers


def longer_loops(run: Replaying) -> Numbers:
    """Numbers at which loops with steps, that have one pass or two at those of a run, have more.

    A block whose share of the work is one tile goes round no stages: ``range(first, min(first + share, tiles))``.
    """

    def value(e: Expr, numbers: Numbers) -> int | None:
        return run.number(e, others=numbers)

    numbers: Numbers = {}
    for loop in run.rounds.loops.values():
        few = _few(loop, numbers, value) if loop.eventful and loop.names() else None
        if few:
            more = _passes(loop, _ODD, numbers, value, {})
            numbers |= more if few(more) is False else {}
    return numbers


def round_again(run: Replaying) -> Numbers:
    """Numbers at which a thread comes round stages each of which it waited for once at those of the run."""
    waits = Counter(
        (p.buffer, p.offset) for s in run.steps if (s.kind, s.function) == ("barrier", "wait") for p in s.places[:1]
    )
    stages = Counter(buffer for buffer, _ in waits)
    once = [b for b in stages if all(n == 1 for (buffer, _), n in waits.items() if buffer == b)]
    seen = max((stages[b] for b in once), default=0)
    numbers: Numbers = {}
    if seen < (_STAGES if run.by_source else _FEWEST):
        return numbers
    divisors = {v.name: by for v, by in run.rounds.divisors.items()}
    for loop in run.rounds.loops.values():
        ends = _ends(loop) if loop.eventful and not loop.around and not of_grid(loop) else None
        now = [run.number(e) for e in ends] if ends else []
        if len(now) == 2 and None not in now and now[1] - now[0] == seen:  # type: ignore[operator]
            numbers |= _scaled(run, ends or (), seen, 2 * seen + 1)
        elif loop.eventful and not loop.around and not of_grid(loop) and not ends and len(loop.asked) == seen + 1:
            more = tuple(n for n in _MORE if n > seen)
            numbers |= _passes(loop, more, numbers, lambda e, others: run.number(e, others=others), divisors)
    return numbers


def more_passes(run: Replaying) -> list[Numbers]:
    """Numbers, each of one name, at which a loop with steps has more than the pass or two that it has at those of the
    run: the first rows of a causal mask have one block of keys. At some of them a block may have nothing to do."""
    found: list[Numbers] = []
    for loop in run.rounds.loops.values():
        if not loop.eventful or loop.around or of_grid(loop) or not 0 < len(loop.asked) - 1 <= _FEW_PASSES:
            continue
        for side in (side for e in loop.asked[0] for side in _sides(e)):
            for v in sorted(side.variables(), key=lambda v: v.name):
                if v.name.startswith((*INDEX, GRID)):
                    continue
                step = max(1, lcm(v.domain.divisor(), run.rounds.divisors.get(v, 1)))
                many = _number(side, v, _MORE, {}, lambda e, others: run.number(e, others=others), step)
                if many is not None:
                    found.append(_of_buffer(v.name, many, side))
    return found


def shorter_loop(run: Replaying, start: Expr, stop: Expr, passes: int) -> Numbers:
    """Numbers at which a loop that has too many passes at those of the run has few: as many as rows, say."""
    return next((found for n in _SHORT if (found := _scaled(run, (start, stop), passes, n))), {})


def _scaled(run: Replaying, ends: tuple[Expr, ...], passes: int, wanted: int) -> Numbers:
    """A number that is so much greater that a loop has as many passes as are wanted."""
    for v in sorted(ends[1].variables(), key=lambda v: v.name):
        old = None if v.name.startswith((*INDEX, GRID, MEMORY)) else run.number(atom_expr(v))
        if old is None or old * wanted % passes:
            continue
        numbers = {v.name: old * wanted // passes}
        first, last = (run.number(e, others=numbers) for e in ends)
        fits = numbers[v.name] in v.domain
        if fits and first is not None and last is not None and last - first == wanted:
            return numbers
    return {}


def _ends(loop: Loop) -> tuple[Expr, ...] | None:
    """What a loop begins and ends at that is told how often it runs."""
    ends = [a.args for e in loop.asked[0] for m, _ in e.terms for a in m if isinstance(a, Op) and a.kind == "opaque"]
    return ends[0] if len(loop.asked) == 1 and len(ends) == 1 and len(ends[0]) == 2 else None


def _few(loop: Loop, numbers: Numbers, value: Value) -> Callable[[Numbers], bool | None] | None:
    """Of a loop that is told how often it runs, and has one pass or two, whether it has no more at other numbers."""
    ends = _ends(loop)
    if ends is None:
        return None

    def few(others: Numbers) -> bool | None:
        first, last = (value(e, numbers | others) for e in ends)
        return None if first is None or last is None else last - first <= _FEW_PASSES

    return few if few({}) else None


def _fewer_blocks(loop: Loop, numbers: Numbers, value: Value, passes: int, along: str) -> int | None:
    """A grid of so many blocks that the first has so many tiles: asked behind one tile, it is as if it were wider."""

    def at(e: Expr, blocks: int) -> bool | None:
        found = value(e, numbers | {along: blocks})
        return None if found is None else bool(found)

    for e in (e for one in loop.asked[1:2] for e in one if along in run_time(e)):
        one = at(e, 0)
        for n in (*range(passes, 1, -1), passes + 1) if one is not None else ():
            for blocks in range(_MOST // n, 0, -1):
                if at(e, (n - 1) * blocks) == one and at(e, n * blocks) == (not one):
                    return blocks
        last = _MOST
        while one is not None and last < _TILES and at(e, last) == one:
            last *= 2
        if last == _MOST or at(e, last) != (not one):
            continue
        before = last // 2  # there are so many tiles and more
        while one is not None and last - before > 1:
            middle = (before + last) // 2
            before, last = (middle, last) if at(e, middle) == one else (before, middle)
        for n in (*range(passes, 1, -1), passes + 1):
            wide: int = -(-last // n)
            if (n - 1) * wide < last:
                return wide
    return None


def _passes(
    loop: Loop, targets: tuple[int, ...], numbers: Numbers, value: Value, divisors: Mapping[str, int]
) -> Numbers:
    """A number at which a loop has so many passes, a multiple of what it was divided by."""
    for e in (e for one in loop.asked[:1] for e in one):
        for side in _sides(e):
            for v in sorted(side.variables(), key=lambda v: v.name):
                if v.name.startswith((*INDEX, GRID)) or v.name in numbers:
                    continue
                found = _number(
                    side, v, targets, numbers, value, max(1, lcm(v.domain.divisor(), divisors.get(v.name, 1)))
                )
                if found is not None:
                    return _of_buffer(v.name, found, side)
    return {}


def _of_buffer(name: str, number: int, side: Expr) -> Numbers:
    """Of numbers in memory all are alike then; each is so much more than the one before if that is what is asked."""
    if not name.startswith(MEMORY):
        return {name: number}
    buffer = name.partition("[")[0]
    asked = [v.name for v in side.variables() if v.name.partition("[")[0] == buffer]
    if len(asked) < 2:
        return {name: number, buffer: number}
    return {n: number * (int(n[len(buffer) + 1 : -1]) + 1) for n in asked} | {buffer + EACH: number}


def _sides(e: Expr) -> Iterator[Expr]:
    """What a condition compares with a constant, without what is added to it."""
    for monomial, _ in e.terms:
        for atom in monomial:
            if isinstance(atom, Op) and atom.kind == "opaque" and atom.label in _RELATIONS:
                for side in atom.args:
                    bare = Expr(tuple(t for t in side.terms if t[0]))
                    if run_time(bare):
                        yield bare


def _number(
    side: Expr, v: Var, targets: tuple[int, ...], numbers: Numbers, value: Value, step: int
) -> int | None:  # fmt: skip
    lo, hi = v.domain.bounds()
    best: tuple[int, int] | None = None
    found = None
    wide = (n for n in range(-(-16 // step) * step, _MOST + 1, max(step, 8) if max(step, 8) % step == 0 else step))
    coarse = lcm(_MOST, step)  # of rows that are read in chunks
    for n in (*range(step, 2 * max(targets) + 1, step), *wide, *range(coarse, _WIDEST + 1, coarse)):
        if found is not None and n > _MOST:
            break
        if (lo is not None and n < lo) or (hi is not None and n > hi) or (v.domain.values and n not in v.domain.values):
            continue
        got = value(side, numbers | _of_buffer(v.name, n, side))
        if got is None or abs(got) not in targets:
            continue
        rank = targets.index(abs(got)), -(n & -n)
        if best is None or rank < best:
            best, found = rank, n
    return found


def undivided(runs: Iterable[Replaying]) -> dict[str, int]:
    """What divides run-time numbers in conditions of some role, where a number is no multiple of it.

    One role may round it down, another up: a host passes multiples, perhaps, and they are as many.
    """
    found: dict[Var, int] = {}
    values: dict[Var, int | None] = {}
    for run in runs:
        for v, by in run.rounds.divisors.items():
            found[v] = lcm(found.get(v, 1), by)
            values[v] = run.number(atom_expr(v))
    return {v.name: by for v, by in found.items() if (value := values[v]) is None or value % by}
