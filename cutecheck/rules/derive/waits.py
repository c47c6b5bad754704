"""What fills a place of shared memory asynchronously, and what waits for it."""

from __future__ import annotations

import re

from cutecheck.facts import NOT_WALKED, Call, Loop, Unknown
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import side_instruction
from cutecheck.rules.derive.groups import Pending, never_committed, pending
from cutecheck.rules.derive.targets import loads_by_tma
from cutecheck.rules.derive.uses import Order, Use, elements, exclusive, in_assembly, memory, order, uniform

_FEW = 8  # passes of a loop that reads what was waited for before it


def fills(use: Use) -> bool:
    """A cp.async or TMA load writes the buffer."""
    if not use.written:
        return False
    return loads_by_tma(use.event) or by_cp_async(use)


def by_cp_async(use: Use) -> bool:
    used = side_instruction(use.event, "dst") if use.written else None
    return used is not None and used.kind.startswith("cp.async")


def overlaps(a: Use, b: Use) -> bool:
    return a.first < b.last and b.first < a.last


def written_since(filled: Use, use: Use, reached: Order) -> bool:
    """Something else is stored there after the asynchronous copy: the read may be of that."""
    later = (u for u in reached.before(use) if u.written and u.event.order > filled.event.order)
    return any(overlaps(u, use) and not fills(u) for u in later)


def lost(use: Use, context: Context) -> tuple[Use, Call] | None:
    """A cp.async of the loop that reads which no group of the loop holds, and the wait that passes it by."""
    if not complete(use, context):
        return None
    reached = order(context)
    for filled in (*reached.before(use), *reached.after(use)):
        if by_cp_async(filled) and overlaps(filled, use):
            wait = never_committed(filled, use, context)
            if wait is not None and not exclusive(filled.event, use.event):
                return filled, wait
    return None


def never_waited(use: Use, context: Context) -> Use | None:
    """A cp.async that fills, in a loop that goes on, what the loop reads, where nothing in the loop waits at all.

    Whatever was waited for before the loop, later passes read what earlier ones copied. Fills and reads are of one
    place, or of places that change.
    """
    reached = order(context)
    if not use.event.loops or not complete(use, context):
        return None
    for filled in (*reached.before(use), *reached.after(use)):
        common = [x for x in use.event.loops if x in filled.event.loops and (x.trips is None or x.trips > _FEW)]
        if not common or not by_cp_async(filled) or not overlaps(filled, use) or exclusive(filled.event, use.event):
            continue
        here, there = uniform(use), uniform(filled)
        if (here == there or (here.variables() and there.variables())) and not _may_wait(common[0], use, context):
            return filled
    return None


def _may_wait(loop: Loop, use: Use, context: Context) -> bool:
    """Something in the loop waits, is assembly, or is not walked."""
    return any(
        loop in c.loops and isinstance(c.result, Unknown) and (
            c.result.reason == NOT_WALKED
            or (c.result.reason == "a barrier" and (re.search("wait|acquire", c.function) or in_assembly(c)))
        )
        for c in context.facts.calls if c.arch == use.event.arch
    )  # fmt: skip


def complete(use: Use, context: Context) -> bool:
    """All accesses of the buffer are known."""
    buffers = context.index.buffers.get((use.tensor.buffer or "", use.event.arch), [])
    return all(b.accesses_complete for b in buffers)


def short(filled: Use, use: Use, context: Context) -> Pending | None:
    """The wait between them that waits for nothing, where all accesses of the buffer are known."""
    if not by_cp_async(filled):
        return None
    return pending(filled, use, context) if complete(use, context) else None


def short_in_a_row(use: Use, context: Context) -> tuple[Use, Pending] | None:
    """A copy outside of loops, or of unrolled ones, into the very part that is read, and the wait that passes it by.

    Each is compared by its elements: the first copy into the buffer need not be that of the part.
    """
    mine = _fixed_part(use)
    if mine is None or not complete(use, context):
        return None
    for filled in reversed(order(context).before(use)):
        if not filled.written or not overlaps(filled, use):
            continue
        theirs = _fixed_part(filled)
        if theirs is None or filled.root != use.root or filled.tensor.dtype != use.tensor.dtype:
            return None  # it may lie anywhere: what is read may be this
        if mine & theirs:
            left = pending(filled, use, context) if by_cp_async(filled) and not filled.event.predicated else None
            if left is not None and not exclusive(filled.event, use.event):
                return filled, left
            mine = mine - theirs
    return None


def _fixed_part(use: Use) -> set[int] | None:
    """Where all elements of an access that is made once lie; None where an index chooses that may be any number."""
    place = uniform(use)
    numbers = {v.name: v.domain.bounds() for v in place.variables()}
    if use.event.loops or any(lo is None or lo != hi for lo, hi in numbers.values()) or elements(use) is None:
        return None
    first = place.evaluate(dict.fromkeys(numbers, 0))
    return memory(use, {place.evaluate({n: lo for n, (lo, _) in numbers.items() if lo is not None}) - first})


def in_flight(use: Use, context: Context) -> Use | None:
    """A cp.async of all passes of an earlier loop that fills this place after the last wait; all accesses are known."""
    reached = order(context)
    since = [u for u in reached.before(use) if u.event.order > reached.waited(use) and u.written and overlaps(u, use)]
    mine = {(g.span, g.negated) for g in use.event.guards}
    for fill in since:
        if not fill.event.loops or fill.event.loops[-1] in use.event.loops:
            continue
        always = not fill.event.predicated and {(g.span, g.negated) for g in fill.event.guards} <= mine
        if by_cp_async(fill) and always and complete(use, context):
            return fill
    return None
