"""Run-time conditions around a copy, by what they may depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Event, Guard

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
