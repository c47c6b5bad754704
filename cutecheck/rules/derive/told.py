"""Bytes that a barrier in shared memory is told to expect, and the TMA loads that tell it, by the barrier itself.

A kernel announces the bytes before its loads, or after them: which of both the first step at a barrier says.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import cast

from cutecheck.facts import Call, Event, Guard
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import (
    ADDS,
    BY_ASSEMBLY,
    announced_bytes,
    array_of,
    bytes_by,
    is_load,
    may_be_load,
)

_EXPECT = "mbarrier.expect"
_OPEN = ("", "?")


@dataclass(frozen=True, slots=True)
class Told:
    """An announcement, and the loads that it is for: those up to the next at its barrier, or since the one before."""

    call: Call
    loads: tuple[Call | Event, ...]
    follow: bool


def told(context: Context) -> dict[tuple[object, str, str], Told | None]:
    """By place, kernel and architecture of each announcement at a known barrier; None where its loads are not known."""
    if "told" not in context.memo:
        steps: dict[tuple[str, str], list[Call | Event]] = defaultdict(list)
        vague: set[tuple[str, str]] = set()
        added = {(c.span, c.arch) for c in context.facts.calls if c.function in ADDS}
        for call in context.facts.calls:
            if call.function in (_EXPECT, BY_ASSEMBLY) and call.subject.partition("|")[2] not in _OPEN:
                steps[(call.subject, call.arch)].append(call)
        for event in context.facts.events:
            if may_be_load(event):
                vague.add((event.kernel, event.arch))
            if not is_load(event):
                continue
            if event.signals.partition("|")[2] in _OPEN:
                vague.add((event.kernel, event.arch))
            else:
                steps[(array_of(event.signals), event.arch)].append(event)
        found: dict[tuple[object, str, str], Told | None] = {}
        for (_, arch), items in steps.items():
            for one in (o for part in _apart(sorted(items, key=lambda x: x.order)) for o in _paired(part)):
                if announced_bytes(one.call) is None and bytes_of(one) is None:
                    continue  # walked with nothing known of the tensors: another walk may know
                key = (one.call.span, one.call.kernel, arch)
                sure = (one.call.kernel, arch) not in vague and (one.call.span, arch) not in added
                known = found.get(key, one)
                found[key] = one if sure and known is not None and _alike(known, one) else None
        context.memo["told"] = found
    return cast("dict[tuple[object, str, str], Told | None]", context.memo["told"])


def _apart(items: list[Call | Event]) -> list[list[Call | Event]]:
    """Steps at the barriers of one array, by where they start there: those of several arrays may stand in one.

    Together where one of them is not told of bytes or has no load: an index may be spelled in two ways.
    """
    parts: dict[int | None, list[Call | Event]] = defaultdict(list)
    for item in items:
        parts[_start(item)].append(item)
    kinds = [{_announces(i) for i in part} for part in parts.values()]
    return [items] if None in parts or any(len(k) < 2 for k in kinds) else list(parts.values())


def _start(item: Call | Event) -> int | None:
    if not isinstance(item, Call):
        return int(item.signals[len(array_of(item.signals)) + 1 :] or 0)
    at = item.arguments[0] if item.arguments else None
    if not isinstance(at, (int, Dyn)):
        return None
    expr = as_expr(at)
    try:
        return expr.evaluate({v.name: 0 for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _paired(items: list[Call | Event]) -> list[Told]:
    """The announcements that loads belong to; none where it is not certain which."""
    follow = _announces(items[0])
    groups: list[tuple[Call, list[Call | Event]]] = []
    before: list[Call | Event] = []
    for item in items:
        if isinstance(item, Call) and _announces(item):
            groups.append((item, [] if follow else before))
            before = []
        elif follow:
            groups[-1][1].append(item)
        else:
            before.append(item)
    # A load that comes again with the same operands is recorded once: what others of its kind lack is not known.
    kinds = {tuple(sorted({str(e.span) for e in loads})) for _, loads in groups if loads}
    if len(kinds) != 1:
        return []
    found = []
    for i, (call, loads) in enumerate(groups):
        beside = groups[i - 1 : i] if follow else groups[i + 1 : i + 2]
        if loads and not any(not theirs and other.loops == call.loops for other, theirs in beside):
            found.append(Told(call, tuple(loads), follow))  # else several may be told one after the other
    return found


def _announces(item: Call | Event) -> bool:
    return isinstance(item, Call) and item.function == _EXPECT


def _alike(one: Told, other: Told) -> bool:
    return bytes_of(one) == bytes_of(other) and one.call.arguments[-1:] == other.call.arguments[-1:]


def bytes_of(one: Told) -> list[int] | None:
    """What each load brings before the next announcement; None where that is not known."""
    found = []
    around, guards = one.call.loops, set(one.call.guards)
    for load in one.loads:
        brought = bytes_by(load)
        if brought is None or load.loops[: len(around)] != around or not by_same_threads(load, guards):
            return None
        for loop in load.loops[len(around) :]:
            if loop.trips is None:
                return None
            brought *= loop.trips
        found.append(brought)
    return found


def by_same_threads(load: Call | Event, guards: set[Guard]) -> bool:
    """Whether a load is made wherever its bytes are announced, one without tensors by no other threads, too.

    Each lane of a warp may bring a part of its own of what one announces.
    """
    mine = set(load.guards)
    return mine == guards if isinstance(load, Call) else mine <= guards


__all__ = ["Told", "by_same_threads", "bytes_of", "told"]
