"""Accesses of shared memory that must not overtake one another."""

from __future__ import annotations

import itertools
import math

from cutecheck.facts import Event, Loop
from cutecheck.model.prove.domains import condition_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES, open_limits
from cutecheck.rules.derive.meetings import all_come, meet_across_warps
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.uses import Order, Use, by_others, elements, exclusive, memory, order, uniform
from cutecheck.rules.derive.waits import fills

_ITERATION = "iteration#"  # the pass of a loop that begins at the thread's index
_PASSES = 256  # of the loops around an access, which are tried one by one


def overtakes(use: Use, context: Context, among: Order | None = None) -> Use | None:
    """The access that this one must not overtake, where nothing holds it back."""
    reached = among or order(context)
    held, before = reached.held(use), reached.before(use)
    first = next((u for u in before if u.written and u.first < use.last and use.first < u.last), None)
    if any(u.written and u.first < use.last and use.first < u.last for u in reached.elsewhere(use)):
        first = None  # a helper writes the first stages, say
    if first is not None and not use.written and first.event.order > held and by_others(first, use):
        # whatever stage is read, nothing has been waited for since the first was written
        return None if exclusive(first.event, use.event) else first
    for earlier in reversed(before):
        if earlier.event.order < held:
            continue
        if earlier.written and use.written and _overwritten(earlier, use, context):
            return earlier
        if not (earlier.written or use.written) or exclusive(earlier.event, use.event):
            continue
        if earlier.last <= use.first or use.last <= earlier.first:
            continue
        if earlier.written and not use.written and _by_hand(earlier, use):
            return earlier
        if _apart(earlier, use):
            continue
        if use.written and not earlier.written:
            if earlier.root != use.root or earlier.tensor.dtype != use.tensor.dtype or _stores_results(use):
                return earlier
        elif earlier.written and not use.written and by_others(earlier, use):
            return earlier
    return _read_elsewhere(use, reached) if use.written else _stored_elsewhere(use, reached)


def _read_elsewhere(write: Use, reached: Order) -> Use | None:
    """What a helper reads after the last barrier before results are stored there, by threads of other warps."""
    if not _stores_results(write):
        return None
    held = reached.held(write)
    for earlier in reversed(reached.elsewhere(write)):
        if earlier.written or earlier.event.order < held or earlier.event.kernel != write.event.kernel:
            continue
        if earlier.last <= write.first or write.last <= earlier.first or exclusive(earlier.event, write.event):
            continue
        if all_come(earlier) and all_come(write) and meet_across_warps(earlier, write):
            return earlier
    return None


def _stored_elsewhere(read: Use, reached: Order) -> Use | None:
    """What another function stores, a helper or who calls this one, after the last barrier before the first read."""
    held = reached.held(read)
    for earlier in reached.elsewhere(read):
        if (
            not earlier.written
            or fills(earlier)
            or earlier.event.order < held
            or earlier.event.kernel != read.event.kernel
        ):
            continue
        if earlier.last <= read.first or read.last <= earlier.first or exclusive(earlier.event, read.event):
            continue
        if _by_hand(earlier, read) or (not _apart(earlier, read) and by_others(earlier, read)):
            return earlier
    return None


def _by_hand(earlier: Use, use: Use) -> bool:
    """Warps read what threads have stored at elements of their own choice, in the first passes of the loops around each
    alone: those that decide no stage."""
    if earlier.tensor.source is not None or use.tensor.provenance != "partition" or fills(earlier):
        return False
    common = set(earlier.event.loops) & set(use.event.loops)
    if not _begins_first(earlier, common) or not _begins_first(use, common):
        return False
    return all_come(earlier) and all_come(use) and meet_across_warps(earlier, use)


def _begins_first(use: Use, common: set[Loop]) -> bool:
    """All indices in its place are of loops around it alone, whose first pass has the value 0 and all threads."""
    own = [x for x in use.event.loops if x not in common]
    trips = [x.trips for x in own]
    for v in uniform(use).variables():
        lo, hi = v.domain.bounds()
        counted = hi is not None and hi + 1 in trips
        if lo != 0 or not (counted or (v.name.startswith(_ITERATION) and all(x.whole for x in own))):
            return False
    return True


def _overwritten(earlier: Use, use: Use, context: Context) -> bool:
    """Two tiles of global memory are written to the same place, and nothing reads the first in between."""
    if not _of_two_tensors(earlier.event, use.event, context) or exclusive(earlier.event, use.event):
        return False
    if earlier.tensor.dtype != use.tensor.dtype or uniform(earlier) != uniform(use):
        return False
    between = [u for u in order(context).before(use) if u.event.order > earlier.event.order and not u.written]
    mine, theirs = elements(use), elements(earlier)
    return not between and mine is not None and theirs is not None and bool(mine & theirs)


def _of_two_tensors(earlier: Event, event: Event, context: Context) -> bool:
    """Both load all of a tile, of different global tensors."""
    first, second = earlier.operands[0], event.operands[0]
    if first.space == second.space == "gmem":
        different = None not in (first.buffer, second.buffer) and first.buffer != second.buffer
        return different and all(open_limits(e, context) for e in (earlier, event))
    if first.space != "coord" or second.space != "coord":
        return False
    atoms = [atom_of_event(e) for e in (earlier, event)]
    guards = [{(g.span, g.negated) for g in e.guards} for e in (earlier, event)]
    loads = all(a is not None and "TMA_LOAD" in a.op for a in atoms)
    known = first.root_layout is not None and second.root_layout is not None
    apart = first.root_layout != second.root_layout or earlier.tiled != event.tiled
    return loads and guards[0] == guards[1] and known and apart


def _stores_results(use: Use) -> bool:
    """Registers are stored after the main loop, through any layout: another warp's operands may lie there."""
    source = use.event.operands[0]
    return source.space == "rmem" and source.provenance == "retile" and use.event.loop_depth == 0


def _apart(earlier: Use, use: Use) -> bool:
    """No element of one is one of the other: two slices of one view."""
    atom = atom_of_event(earlier.event)
    if use.event.loop_depth and atom is not None and "GMMA" in atom.op:
        return True  # asynchronous, and its descriptors do not say which elements
    if earlier.root != use.root or earlier.tensor.dtype != use.tensor.dtype:
        return _other_stage(earlier, use)
    if uniform(use) != uniform(earlier):
        return not _meet(earlier, use)  # another stage, as far as the source says
    mine, theirs = elements(use), elements(earlier)
    return mine is not None and theirs is not None and not mine & theirs


def _other_stage(earlier: Use, use: Use) -> bool:
    """Two views of one buffer (one is the other's transpose, say), at stages that an index chooses for each.

    An index of both, or of a loop around both: that of a loop around one alone may be a part of the tile.
    """
    alike = (earlier.tensor.dtype, earlier.first, earlier.last) == (use.tensor.dtype, use.first, use.last)
    places = uniform(earlier), uniform(use)
    theirs, mine = ({v.name for v in place.variables()} for place in places)
    chosen = theirs & mine if set(earlier.event.loops) ^ set(use.event.loops) else theirs and mine
    return alike and places[0] != places[1] and bool(chosen) and not _meet(earlier, use)


def _meet(earlier: Use, use: Use) -> bool:
    """One is outside of the loops that the other's place depends on, and some of their passes have its place."""
    common = set(earlier.event.loops) & set(use.event.loops)
    first, second = _passes(earlier, common), _passes(use, common)
    if first is None or second is None or 1 not in (len(first), len(second)):
        return False
    theirs, mine = memory(earlier, first), memory(use, second)
    return mine is not None and theirs is not None and bool(mine & theirs)


def _passes(use: Use, common: set[Loop]) -> set[int] | None:
    """What each pass of the loops around it alone adds to the offsets; None where that is not known.

    Variables are those of the loops where these run once for each of their values, of which conditions leave some out.
    """
    whole = uniform(use)
    variables = sorted(set(whole.variables()), key=lambda v: v.name)
    if any(v.name.startswith(INDICES) for v in variables):
        return None
    ranges = [v.domain.bounds() for v in variables]
    if math.prod(0 if lo is None or hi is None else hi - lo + 1 for lo, hi in ranges) not in range(1, _PASSES + 1):
        return None
    values = [range(lo, hi + 1) for lo, hi in ranges if lo is not None and hi is not None]
    names = [v.name for v in variables]
    trips = [x.trips for x in use.event.loops if x not in common]
    for lo, hi in ranges:
        length = None if lo is None or hi is None else hi - lo + 1
        if length not in trips:
            return None
        trips.remove(length)
    said = [c for g in use.event.guards for c in g.holds]
    said = [c for c in said if all(v.name in names for side in (c.lhs, c.rhs) for v in side.variables())]
    try:
        start = whole.evaluate(dict.fromkeys(names, 0))
        passes = (dict(zip(names, numbers, strict=True)) for numbers in itertools.product(*values))
        return {
            whole.evaluate(at) - start
            for at in passes
            if all(condition_value(c.rel, c.lhs.evaluate(at), c.rhs.evaluate(at)) for c in said)
        }
    except (KeyError, ZeroDivisionError, ValueError):
        return None
