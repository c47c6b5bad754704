"""Barriers of the block, and waits for a thread's own copies, that a condition on the index keeps some threads from."""

from __future__ import annotations

import re

from cutecheck.facts import Call, Event, Guard
from cutecheck.model.ints import known_value
from cutecheck.model.prove.domains import condition_value
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.blocks import several
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.uses import order, uses_of
from cutecheck.rules.derive.waits import by_cp_async

_AND, _OR = re.compile(r"&&|\band\b"), re.compile(r"\|\||\bor\b|\?")
_BLOCK = ("__syncthreads", "syncthreads", "sync_threads")
_WAITS = ("cp_async_wait", "cp_async_wait_group")


def known_on_threads(guard: Guard) -> bool:
    """A condition of which all is followed, on the thread's index alone."""
    if _OR.search(guard.text) or len(guard.holds) < 1 + len(_AND.findall(guard.text)):
        return False
    names = {v.name for c in guard.holds for v in (*c.lhs.variables(), *c.rhs.variables())}
    return names == {THREAD}


def kept_from(guards: tuple[Guard, ...], threads: int) -> tuple[Guard, int] | None:
    """A condition that keeps threads of the block back, and the first of them."""
    for guard in inner(guards) if threads <= LARGEST_BLOCK else ():
        if not known_on_threads(guard):
            continue
        for thread in range(threads):
            try:
                holds = [
                    condition_value(c.rel, c.lhs.evaluate({THREAD: thread}), c.rhs.evaluate({THREAD: thread}))
                    for c in guard.holds
                ]
            except (KeyError, ZeroDivisionError, ValueError):
                break
            if not all(holds):
                return guard, thread
    return None


def missed_barrier(call: Call, context: Context) -> tuple[Guard, int] | None:
    """``__syncthreads()`` that some threads never come to, while copies that they make, too, come before and after."""
    if not _of_block(call):
        return None
    kept = _kept(call, context)
    if kept is None:
        return None
    others = [c for c in context.facts.calls if _of_block(c) and _same(c, call) and c.span != call.span]
    if any(_other_branch(kept[0], c.guards) for c in others):
        return None
    shared = [e for e in context.facts.events if _same(e, call) and not _under(kept[0], e.guards) and any(uses_of(e))]
    before, after = any(e.order < call.order for e in shared), any(e.order > call.order for e in shared)
    looped = any(set(e.loops) & set(call.loops) for e in shared)
    return kept if (before and after) or looped else None


def _of_block(call: Call) -> bool:
    """``__syncthreads()``, and what the DSL has for it: ``sync_threads()``, ``barrier()`` of all threads.

    In C++ ``barrier`` is any step of a barrier in assembly that is not followed.
    """
    return call.function in _BLOCK or (call.function == "barrier" and call.span.is_python and not call.arguments)


def missed_wait(call: Call, context: Context) -> tuple[Guard, int] | None:
    """A wait for cp.async that some threads never make, which have made such copies and make no other wait."""
    if call.function not in _WAITS:
        return None
    kept = _kept(call, context)
    if kept is None:
        return None
    waits = [c for c in context.facts.calls if _same(c, call) and "wait" in c.function and c.loops == call.loops]
    if any(not _under(kept[0], c.guards) for c in waits):
        return None
    for event in context.facts.events:
        mine = _same(event, call) and not _under(kept[0], event.guards) and _comes(kept[1], event.guards)
        if mine and any(by_cp_async(u) for u in uses_of(event)) and _reads_after(call, event, context):
            return kept
    return None


def _comes(thread: int, guards: tuple[Guard, ...]) -> bool:
    """Whether what conditions say of the thread's index alone lets it through."""
    for c in (c for g in inner(guards) for c in g.holds):
        if {v.name for v in (*c.lhs.variables(), *c.rhs.variables())} != {THREAD}:
            continue
        try:
            if not condition_value(c.rel, c.lhs.evaluate({THREAD: thread}), c.rhs.evaluate({THREAD: thread})):
                return False
        except (ZeroDivisionError, ValueError):
            continue
    return True


def _reads_after(call: Call, copy: Event, context: Context) -> bool:
    """What the copy brings is read after the wait, in its loop."""
    filled = next(u for u in uses_of(copy) if by_cp_async(u))
    later = order(context).uses.get((copy.enclosing, copy.arch, filled.tensor.buffer or ""), [])
    return any(not u.written and u.event.order > call.order and u.event.loops[: len(call.loops)] == call.loops
               for u in later)  # fmt: skip


def _kept(call: Call, context: Context) -> tuple[Guard, int] | None:
    blocks = {known_value(e.threads) if e.threads is not None else None for e in context.facts.events if _same(e, call)}
    flat = not any(several(e.block) for e in context.facts.events if _same(e, call))
    threads = next(iter(blocks)) if len(blocks) == 1 else None
    if not call.kernel or threads is None or not flat:
        return None
    return kept_from(call.guards, threads)


def _same(a: Call | Event, b: Call) -> bool:
    return (a.kernel, a.arch) == (b.kernel, b.arch)


def _under(guard: Guard, guards: tuple[Guard, ...]) -> bool:
    return any((g.span, g.negated) == (guard.span, guard.negated) for g in guards)


def _other_branch(guard: Guard, guards: tuple[Guard, ...]) -> bool:
    return any(g.span == guard.span and g.negated != guard.negated for g in guards)
