"""Run-time conditions around a copy, by what they may depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Event, Guard
from cutecheck.model.expr import Expr, Var, bounds
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.prove.domains import PER_THREAD

_THREAD = re.compile(r"thread|tid|thr_idx|lane|elect|warp|group|producer|consumer|role|leader|\bidx\b", re.IGNORECASE)


def selects_threads(guards: Iterable[Guard]) -> bool:
    """True where a condition may leave some threads of the block out, by the names in it."""
    return any(_THREAD.search(g.text) for g in guards)


def inner(guards: Iterable[Guard]) -> list[Guard]:
    """The conditions of the kernel itself: those around its launch leave out none of its threads and tiles."""
    return [g for g in guards if not g.host]


def same_in_all_blocks(guard: Guard) -> bool:
    """A condition on the pass of a loop alone, which all threads of all blocks answer alike: ``if (i + 1 < tiles)``."""
    parts = 1 + len(re.findall(r"&&|\|\||\band\b|\bor\b", guard.text))
    names = [v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()]
    return guard.turns and len(guard.holds) >= parts and not any("Idx." in n for n in names)


def of_grid(guard: Guard) -> bool:
    """Which tile a block takes is compared with how many there are, ``tile_x < gridDim.x``: it leaves out no part."""
    parts = 1 + len(re.findall(r"&&|\|\||\band\b|\bor\b", guard.text))
    return len(guard.holds) >= parts and all(
        c.rel is Rel.LT and _counts(c.rhs) and _picks_blocks(c) for c in guard.holds
    )


def _counts(e: Expr) -> bool:
    """``gridDim.x``, or a number of tiles: ``(rows + 127) / 128``."""
    factors = e.terms[0][0] if len(e.terms) == 1 and e.terms[0][1] == 1 else ()
    if len(factors) != 1 or isinstance(factors[0], Var):
        return len(factors) == 1 and isinstance(factors[0], Var) and factors[0].name.startswith("gridDim.")
    size = factors[0].args[1].constant if factors[0].kind == "div" else None
    return size is not None and ((), size - 1) in factors[0].args[0].terms


def _picks_blocks(c: Condition) -> bool:
    names = [v.name for v in c.lhs.variables()]
    return any(n.startswith("blockIdx.") for n in names) and not any("threadIdx." in n for n in names)


def of_limits(guard: Guard) -> bool:
    """Comparisons with run-time ends, which all threads answer alike where these are far away: ``row < m - row0``."""
    parts = 1 + len(re.findall(r"&&|\band\b", guard.text))
    if guard.negated or len(guard.holds) < parts or re.search(r"\|\||\bor\b", guard.text):
        return False
    for c in guard.holds:
        near = all(v.name.startswith("threadIdx.") or v.domain.bounds()[1] is not None for v in c.lhs.variables())
        alike = not any(v.name.startswith("threadIdx.") or PER_THREAD in v.name for v in c.rhs.variables())
        if c.rel not in (Rel.LT, Rel.LE) or not near or not alike or bounds(c.rhs)[1] is not None:
            return False
    return True


_BLOCK = re.compile(r"block|\bbid|cta|cluster|rank|tile|coord|split|batch|head", re.IGNORECASE)


def same_threads_in_all_blocks(guard: Guard) -> bool:
    """A condition that picks threads, by its names, and says nothing of the block: ``if (warp == 0)``."""
    names = [v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()]
    if any(n.startswith("blockIdx.") for n in names):
        return False
    return same_in_all_blocks(guard) or (selects_threads([guard]) and not _BLOCK.search(guard.text))


def leaves_out_blocks(guard: Guard, event: Event) -> bool:
    """``if (row0 >= m || col0 >= n) return;`` before all loops: of blocks, by its names; in others the copy happens."""
    spans = [loop.span for loop in event.loops]
    before = guard.span < event.span or event.enclosing != event.kernel  # its helpers may stand above a kernel
    first = all(s.path == guard.span.path and guard.span < s for s in spans) and before
    return guard.negated and not guard.turns and first and not selects_threads([guard])


_DEVICE = re.compile(r"smem|shared|device|prop|attr|arch|major|capability|\bsm|\bcc\b", re.IGNORECASE)


def asks_device(guards: Iterable[Guard]) -> bool:
    """True where a condition may ask which device it runs on, by the names in it."""
    return any(_DEVICE.search(g.text) for g in guards)
