"""Threads of a block that copy different elements to one place."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Event, Guard, TensorFact, Unknown
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.some_threads import comes, known_on_threads
from cutecheck.rules.derive.targets import atom_of_event, is_own

_NUMBERS = (8 * 1_000_003, 8 * 999_983)  # strides and extents of run time, which no sum of others comes to
_NOT_BY_THREADS = ("TMA", "BULK", "TMEM", "RED")


def to_one_place(event: Event) -> tuple[int, int] | None:
    """Two threads whose parts of the target start at one element, and have one layout, and whose parts of the source do
    not: whatever conditions there are is known of each."""
    threads = None if event.threads is None else known_value(event.threads)
    atom = atom_of_event(event)
    plain = event.kind == "copy" and len(event.operands) == 2 and event.predicate is None and not event.predicated
    if not plain or threads is None or not 1 < threads <= LARGEST_BLOCK or is_own(event) or event.reason is not None:
        return None
    source, target = event.operands
    if source.space not in ("gmem", "smem") or target.space not in ("gmem", "smem"):
        return None
    if atom is not None and any(word in atom.op for word in _NOT_BY_THREADS):
        return None
    guards = inner(event.guards)
    start, end = _start(source), _start(target)
    if start is None or end is None or not all(known_on_threads(g) for g in guards):
        return None
    found = {_shared(start, end, threads, guards, number) for number in _NUMBERS}
    return found.pop() if len(found) == 1 else None


def _shared(start: Expr, end: Expr, threads: int, guards: Sequence[Guard], number: int) -> tuple[int, int] | None:
    """The first two threads that meet in one place, where all numbers that are open are this one."""
    others = {v.name: _sample(v, number) for e in (start, end) for v in e.variables() if v.name != THREAD}
    came: dict[int, tuple[int, int]] = {}
    for thread in range(threads):
        if not comes(thread, tuple(guards)):
            continue
        at = {**others, THREAD: thread}
        try:
            here, there = start.evaluate(at), end.evaluate(at)
        except (KeyError, ZeroDivisionError, ValueError):
            return None
        other, before = came.setdefault(there, (thread, here))
        if before != here:
            return other, thread
    return None


def _sample(v: Var, number: int) -> int:
    lo, hi = v.domain.bounds()
    if v.domain.values is not None:
        return min(v.domain.values)
    return lo if lo is not None and hi is not None else max(number, lo or 0)


def _start(tensor: TensorFact) -> Expr | None:
    """Where a thread's part starts; None where it hangs on what is each thread's own, or is not known."""
    if isinstance(tensor.layout, Unknown) or not isinstance(tensor.offset, (int, Dyn)) or not tensor.buffer:
        return None
    where = as_expr(tensor.offset)
    own = any(PER_THREAD in v.name or (v.name.startswith("threadIdx.") and v.name != THREAD) for v in where.variables())
    return None if own else where


__all__ = ["to_one_place"]
