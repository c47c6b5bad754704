"""What one pass of a loop reads and the next one writes."""

from __future__ import annotations

from cutecheck.facts import Event, Loop
from cutecheck.rules.base import Context
from cutecheck.rules.derive.contracts import open_variables
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.uses import Order, Use, by_others, elements, exclusive, one_space, order, uniform


def overtaken(write: Use, context: Context, among: Order | None = None) -> Use | None:
    """A later read, in the same loop, of what ``write`` writes there in every pass, that no barrier separates from it.

    The place must be the same in all passes (no stage that an index chooses, but one of a loop inside, which goes
    through the same stages in each pass), the threads others, and all accesses of the buffer known.
    """
    if not write.event.loops:
        return None
    if not _complete(write, context):
        return None
    found, reached = None, among or order(context)
    for read in reached.after(write):
        loop = _innermost(write.event, read.event)
        if read.written or loop is None or (loop.trips is not None and loop.trips < 2):
            continue
        if uniform(write).variables() and not (_as_in_each_pass(write, loop) and _as_in_each_pass(read, loop)):
            continue
        barriers = reached.looped.get((write.event.arch, loop), [])
        if all(write.event.order < b < read.event.order for b in barriers) and _races(write, read):
            found = read  # the last one: what a barrier must follow
        elif any(b > read.event.order for b in barriers):
            return None
    return found


def unheld(read: Use, context: Context, among: Order | None = None) -> Use | None:
    """A write, in the same loop, of what other threads read in it, where no barrier stands in the loop at all.

    Whichever stage each pass writes and reads: what one thread has written, or waited for, another does not see.
    """
    if not read.event.loops or not _complete(read, context):
        return None
    reached = among or order(context)
    for write in (*reached.before(read), *reached.after(read)):
        loop = _innermost(write.event, read.event)
        if loop is None or not write.written or (loop.trips is not None and loop.trips < 2):
            continue
        common = [around for around in read.event.loops if around in write.event.loops]
        if any(reached.looped.get((read.event.arch, around)) for around in common):
            continue
        atom = atom_of_event(write.event)
        apart = write.last <= read.first or read.last <= write.first or exclusive(write.event, read.event)
        if not apart and not (atom is not None and "TMA" in atom.op) and by_others(write, read):
            return write
    return None


def _as_in_each_pass(use: Use, loop: Loop) -> bool:
    """Whether loops inside of ``loop`` alone choose the stage: numbers with as many values as these have passes.

    No loop around them may have as many, or the number might be that loop's.
    """
    at = use.event.loops.index(loop) + 1
    around, inside = ({x.trips for x in loops} for loops in (use.event.loops[:at], use.event.loops[at:]))
    for v in uniform(use).variables():
        lo, hi = v.domain.bounds()
        if lo is None or hi is None or v.name.startswith(INDICES):
            return False
        values = (hi - lo) // max(1, v.domain.step) + 1
        if values in around or None in around or values not in inside:
            return False
    return True


def _complete(use: Use, context: Context) -> bool:
    buffers = context.index.buffers.get((use.tensor.buffer or "", use.event.arch), [])
    return all(b.accesses_complete for b in buffers)


def _innermost(a: Event, b: Event) -> Loop | None:
    """The innermost loop around both."""
    common = [x for x, y in zip(a.loops, b.loops, strict=False) if x == y]
    return common[-1] if common else None


def _races(write: Use, read: Use) -> bool:
    if not {(g.span, g.negated) for g in write.event.guards} <= {(g.span, g.negated) for g in read.event.guards}:
        return False
    atom = atom_of_event(read.event)
    if (atom is not None and "GMMA" in atom.op) or not by_others(write, read) or open_variables(uniform(read)):
        return False
    if not one_space(write, read):
        return False
    mine, theirs = elements(write), elements(read)
    if mine is None or write.tensor.dtype is None:
        return False
    everything = len(mine) * int(write.tensor.dtype.bits or 0) == 8 * (write.last - write.first)
    return everything or (theirs is not None and bool(mine & theirs))
