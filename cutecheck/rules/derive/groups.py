"""Groups of cp.async: how many are committed between a copy and a wait, and what the wait leaves open."""

from __future__ import annotations

import math
from typing import cast

from cutecheck.facts import Call, Event, Loop, TensorFact, Unknown
from cutecheck.model.ints import Dyn, Sym, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.uses import Use, in_assembly, uniform

_WAITS = ("cp_async_wait", "cp_async_wait_group")
COMMITS = ("cp_async_fence", "cp_async_commit_group", "commit")  # the last is inline assembly


@record(frozen=True, slots=True)
class Pending:
    """A wait that leaves ``allowed`` groups open when ``committed`` are, at most, since the copy began."""

    wait: Call
    allowed: int
    committed: int


def pending(filled: Use, read: Use, context: Context) -> Pending | None:
    """The last wait before ``read`` is first reached, where no wait since ``filled`` can have waited for it.

    ``filled`` is the first cp.async into what is read. None where anything is not known: a wait of another kind, a wait
    or commit that a loop of unknown length repeats, a read under a condition that the copy is not under (its first time
    may come later), or a copy of the same loop into another stage.
    """
    if not _judged(filled, read):
        return None
    first, last = filled.event.order, read.event.order
    between = [c for c in steps(context).get(read.event.arch, ()) if first < c.order < last]
    found = None
    for wait in between:
        if wait.function in COMMITS:
            continue
        allowed = left_open(wait)
        if allowed is None:
            return None
        committed = 0
        for call in between:
            if call.function in COMMITS and call.order < wait.order:
                times = _times(call.loops, read.event.loops)
                if times is None:
                    return None
                committed += times
        if committed > allowed or waits_for_all(wait):
            return None
        found = Pending(wait, allowed, committed)
    return found


def never_committed(filled: Use, read: Use, context: Context) -> Call | None:
    """A wait for groups in the loop around both, of which none is made there: it never waits for ``filled``."""
    around = next((loop for loop in read.event.loops if loop in filled.event.loops), None)  # the outermost
    inside = [c for c in steps(context).get(read.event.arch, ()) if around in c.loops]
    waits = [c for c in inside if c.function not in COMMITS]
    if around is None or not waits or len(waits) != len(inside):
        return None
    return waits[-1] if all(not waits_for_all(w) and left_open(w) is not None for w in waits) else None


def waits_for_all(wait: Call) -> bool:
    """``cp_async_wait<0>`` of C++ is ``cp.async.wait_all``, which needs no groups."""
    return wait.function == "cp_async_wait" and left_open(wait) == 0


def unknown_fill(read: Use, context: Context) -> bool:
    """Before the read something is copied to where cutecheck cannot say."""
    key = (read.event.enclosing, read.event.arch)
    return any(e.order < read.event.order for e in _blind(context).get(key, ()))


def _judged(filled: Use, read: Use) -> bool:
    guards = {(g.span, g.negated) for g in filled.event.guards}
    if not {(g.span, g.negated) for g in read.event.guards} <= guards:
        return False
    common = set(filled.event.loops) & set(read.event.loops)
    return not common or uniform(filled) == uniform(read)


def _times(loops: tuple[Loop, ...], around: tuple[Loop, ...]) -> int | None:
    """How often a call is reached before the first pass through ``around`` gets past it, at most."""
    trips = [loop.trips for loop in loops if loop not in around]
    return None if None in trips else math.prod(cast("list[int]", trips))


def left_open(wait: Call) -> int | None:
    """Groups that a wait leaves open; None for another kind of wait."""
    return groups_left(wait) if wait.function in _WAITS else None


def groups_left(wait: Call) -> int | None:
    """The one number that a wait is given: so many groups may still be open after it."""
    numbers = [a for a in wait.arguments if isinstance(a, (int, Dyn, Sym)) and not isinstance(a, bool)]
    return known_value(numbers[0]) if len(numbers) == 1 else None


def steps(context: Context) -> dict[str, list[Call]]:
    """Waits and commits by architecture, as they are reached."""
    if "groups" not in context.memo:
        found: dict[str, list[Call]] = {}
        meant = [c for c in context.facts.calls if isinstance(c.result, Unknown) and c.result.reason == "a barrier"]
        followed = {name_of(c.enclosing) for c in meant} - {*_WAITS, *COMMITS}
        commits = {name_of(c.enclosing) for c in meant if c.function in COMMITS[:-1]}
        for call in meant:
            inner = name_of(call.enclosing)
            if call.function in ("barrier", "commit") and inner in (*_WAITS, *COMMITS):
                continue  # the assembly of a function that was counted where it is called
            if call.function in followed and call.function not in (*_WAITS, *COMMITS):
                continue  # a helper with a wait in its name: what it calls is counted
            if call.function == COMMITS[-1] and call.function in commits:
                continue  # a helper of this name: its assembly is counted
            if "wait" in call.function or call.function in COMMITS or in_assembly(call):
                found.setdefault(call.arch, []).append(call)
        for calls in found.values():
            calls.sort(key=lambda c: c.order)
        context.memo["groups"] = found
    return cast("dict[str, list[Call]]", context.memo["groups"])


def name_of(symbol: str) -> str:
    """Of a function, without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]


def _blind(context: Context) -> dict[tuple[str, str], list[Event]]:
    if "blind" not in context.memo:
        found: dict[tuple[str, str], list[Event]] = {}
        for event in context.facts.events:
            if event.kind == "copy" and len(event.operands) > 1 and _nowhere(event.operands[1]):
                found.setdefault((event.enclosing, event.arch), []).append(event)
        context.memo["blind"] = found
    return cast("dict[tuple[str, str], list[Event]]", context.memo["blind"])


def _nowhere(tensor: TensorFact) -> bool:
    if tensor.space == "unknown":
        return True
    return tensor.space == "smem" and (tensor.buffer is None or isinstance(tensor.offset, Unknown))
