"""Run-time conditions around a copy, by what they may depend on."""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecheck.facts import Guard

_THREAD = re.compile(r"thread|tid|thr_idx|lane|elect|warp|group|producer|consumer|role|leader|\bidx\b", re.IGNORECASE)


def selects_threads(guards: Iterable[Guard]) -> bool:
    """True where a condition may leave some threads of the block out, by the names in it."""
    return any(_THREAD.search(g.text) for g in guards)


def inner(guards: Iterable[Guard]) -> list[Guard]:
    """The conditions of the kernel itself: those around its launch leave out none of its threads and tiles."""
    return [g for g in guards if not g.host]


_DEVICE = re.compile(r"smem|shared|device|prop|attr|arch|major|capability|\bsm|\bcc\b", re.IGNORECASE)


def asks_device(guards: Iterable[Guard]) -> bool:
    """True where a condition may ask which device it runs on, by the names in it."""
    return any(_DEVICE.search(g.text) for g in guards)
