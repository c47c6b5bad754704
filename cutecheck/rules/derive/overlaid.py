"""Members of one struct in shared memory that lie over one another: what a union shares with a struct of tiles."""

from __future__ import annotations

from bisect import bisect_left
from typing import cast

from cutecheck.facts import Event
from cutecheck.model.ints import known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner, selects_threads
from cutecheck.rules.derive.uses import Use, exclusive, order, uses_of
from cutecheck.rules.derive.waits import by_cp_async, complete

_Bytes = tuple[int, int]


def allocation(buffer: str) -> str:
    """The variable that a member is of: its name up to the first member."""
    head, colons, own = buffer.rpartition("::")
    return head + colons + own.partition(".")[0]


def lies_under(use: Use, context: Context) -> Use | None:
    """A read of another member, which the write of this one overtakes: no barrier holds the threads back between."""
    if not use.written:
        return None
    held = order(context).held(use)
    for earlier in reversed(_earlier(use, context)):
        if earlier.event.order < held:
            return None
        if not earlier.written and not exclusive(earlier.event, use.event) and not _chosen(earlier, use):
            return earlier
    return None


def _chosen(earlier: Use, use: Use) -> bool:
    """Both are made by the threads that one condition chooses, which may be those of a warp."""
    mine = {(g.span, g.negated) for g in use.event.guards}
    return any(selects_threads([g]) for g in inner(earlier.event.guards) if (g.span, g.negated) in mine)


def comes_later(use: Use, context: Context) -> Use | None:
    """A cp.async into another member that nothing has waited for when this one is stored: it may come after that."""
    if not use.written or by_cp_async(use):
        return None
    waited = order(context).waited(use)
    mine = {(g.span, g.negated) for g in use.event.guards}
    for earlier in reversed(_earlier(use, context)):
        if earlier.event.order < waited:
            return None
        always = not earlier.event.predicated and {(g.span, g.negated) for g in earlier.event.guards} <= mine
        if by_cp_async(earlier) and always and complete(earlier, context):
            return earlier
    return None


def _earlier(use: Use, context: Context) -> list[Use]:
    """Earlier accesses of other members that share bytes with this one, in the order they are reached."""
    mine = _place(use, context)
    if mine is None:
        return []
    found = _accesses(context).get(_key(use), [])
    at = bisect_left(found, use.event.order, key=lambda u: u[0].event.order)
    return [
        u for u, (first, last) in found[:at]
        if u.tensor.buffer != use.tensor.buffer and first < mine[1] and mine[0] < last
    ]  # fmt: skip


def _place(use: Use, context: Context) -> _Bytes | None:
    """The bytes of an access from the start of the variable."""
    buffer = use.tensor.buffer or ""
    starts = {
        None if b.start_bytes is None else known_value(b.start_bytes)
        for b in context.index.buffers.get((buffer, use.event.arch), [])
    }
    start = next(iter(starts)) if len(starts) == 1 else None
    if starts == {None} and buffer == allocation(buffer):
        start = 0  # the variable itself, seen as one tile
    begin = use.tensor.root_start_bits
    if start is None or (begin is not None and known_value(begin) is None):
        return None  # each warp's own place, say
    return use.first + start, use.last + start


def _key(use: Use) -> tuple[str, str, str]:
    return use.event.kernel, use.event.arch, allocation(use.tensor.buffer or "")


def _accesses(context: Context) -> dict[tuple[str, str, str], list[tuple[Use, _Bytes]]]:
    if "overlaid" not in context.memo:
        found: dict[tuple[str, str, str], list[tuple[Use, _Bytes]]] = {}
        events: list[Event] = sorted(context.facts.events, key=lambda e: e.order)
        for use in (u for e in events if e.kernel for u in uses_of(e)):
            place = _place(use, context)
            if place is not None:
                found.setdefault(_key(use), []).append((use, place))
        context.memo["overlaid"] = found
    return cast("dict[tuple[str, str, str], list[tuple[Use, _Bytes]]]", context.memo["overlaid"])
