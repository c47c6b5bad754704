"""Groups of cp.async over the passes of a pipelined loop: a queue, run by hand, against what each pass reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cutecheck.facts import Call, Event, Guard, Loop
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.groups import COMMITS, left_open, steps, unknown_fill, waits_for_all
from cutecheck.rules.derive.uses import Use, order
from cutecheck.rules.derive.waits import by_cp_async, complete, overlaps

_PASSES = 4  # past those that read what was copied before the loop
_MOST = 64

Conditions = frozenset[tuple[object, bool]]


@record(frozen=True, slots=True)
class Late:
    """A tile that is read and that nothing has waited for, in a pass of the loop that is not the first.

    ``filled`` copies it, ``wait`` is the last one before the read, which leaves ``open`` groups. ``at``: the pass,
    counted from 0; None where it is the last tile, because the loop does not copy in its last passes (``idle`` is the
    condition under which it does) or because the read comes after the loop.
    """

    filled: Use
    wait: Call | None
    open: int
    at: int | None
    idle: Guard | None = None


class _Open(Exception):
    """Something that decides is not known."""


def late(read: Use, context: Context) -> Late | None:
    """The first pass of the loop around ``read`` that reads too early, if the first pass of all does not.

    Tiles are taken to be read in the order they are copied in, one a pass: what reads several or leads on reads later
    tiles than that. None where anything is not certain.
    """
    if not complete(read, context) or unknown_fill(read, context):
        return None
    reached = order(context)
    writes = [u for u in (*reached.before(read), *reached.after(read)) if u.written and overlaps(u, read)]
    try:
        around = next((x for x in reversed(read.event.loops) if any(x in w.event.loops for w in writes)), None)
        return _drained(read, writes, context) if around is None else _looped(read, writes, around, context)
    except _Open:
        return None


def _looped(read: Use, writes: list[Use], around: Loop, context: Context) -> Late | None:
    """Copies and reads are in the passes of one loop."""
    outer = read.event.loops[: read.event.loops.index(around)]
    last = max([read.event.order, *(w.event.order for w in writes if around in w.event.loops)])
    writes = sorted((w for w in writes if w.event.order <= last), key=lambda w: w.event.order)
    calls = _calls(read, writes, context)
    mine = _conditions(read.event.guards)
    items: list[Call | Event] = [c for c in calls if around in c.loops or c.order < last]
    items += (w.event for w in writes)
    items.sort(key=lambda i: i.order)
    before = [i for i in items if around not in i.loops]
    inside = [i for i in items if around in i.loops]
    if any(i.loops[: len(outer)] != outer for i in items) or any(not mine <= _conditions(i.guards) for i in inside):
        raise _Open
    if any(len(i.loops) > len(outer) + 1 for i in inside if isinstance(i, Call)):
        raise _Open
    if any(isinstance(i, Call) and i.function not in COMMITS and _conditions(i.guards) - mine for i in before):
        raise _Open
    idle = _condition(inside, mine)
    for idles in (False, True) if idle is not None else (False,):
        at = _first_late(list(_expanded(before, len(outer))), inside, read, around, idles)
        if at == 0:
            return None
        if at is not None:
            waits = [c for c in inside if isinstance(c, Call) and c.function not in COMMITS]
            near = [w for w in waits if w.order < read.event.order] or waits
            wait = near[-1] if near else None
            filled = next(w for w in reversed(writes) if around in w.event.loops)
            left = 0 if wait is None else left_open(wait) or 0
            return Late(filled, wait, left, None if idles else at, idle if idles else None)
    return None


def _drained(read: Use, writes: list[Use], context: Context) -> Late | None:
    """The last read after the loop that copies and reads: what was copied last is read there, if nowhere else."""
    reached = order(context)
    commits = [c for c in steps(context).get(read.event.arch, ()) if c.function in COMMITS]
    pairs = ((w, x) for w in sorted(writes, key=lambda w: -w.event.order) for x in reversed(w.event.loops))
    found = next(((w, x) for w, x in pairs if any(c.loops and c.loops[-1] == x for c in commits)), None)
    if found is None or max(w.event.order for w in writes) > read.event.order:
        return None
    filled, around = found
    if around in read.event.loops or any(not u.written and overlaps(u, read) for u in reached.after(read)):
        return None  # a later read may be of the last tile
    if not any(not u.written and around in u.event.loops and overlaps(u, read) for u in reached.before(read)):
        return None
    calls = _calls(read, sorted(writes, key=lambda w: w.event.order), context)
    since = [c for c in calls if filled.event.order < c.order < read.event.order]
    mine = _conditions(read.event.guards)
    commits = [c for c in since if c.function in COMMITS]
    waits = [c for c in since if c.function not in COMMITS]
    if not commits or not waits or around in waits[-1].loops or any(c.loops[-1:] != (around,) for c in commits):
        raise _Open
    if any(not _conditions(w.guards) <= mine for w in waits):
        raise _Open
    made = {w: sum(c.order < w.order for c in commits) for w in waits}  # groups since the last copy, with its own
    if any(waits_for_all(w) or (left_open(w) or 0) < made[w] for w in waits):
        return None
    return Late(filled, waits[-1], left_open(waits[-1]) or 0, None)


def _calls(read: Use, writes: list[Use], context: Context) -> list[Call]:
    """Waits and commits since the first copy."""
    if not writes or not all(by_cp_async(w) for w in writes):
        raise _Open
    calls = [c for c in steps(context).get(read.event.arch, ()) if c.order > writes[0].event.order]
    if any(c.function not in COMMITS and left_open(c) is None for c in calls if c.order < read.event.order):
        raise _Open
    return calls


def _conditions(guards: Iterable[Guard]) -> Conditions:
    return frozenset((g.span, g.negated) for g in guards)


def _condition(inside: Sequence[Call | Event], mine: Conditions) -> Guard | None:
    """The condition under which the loop copies and commits; None where it commits in every pass."""
    found: set[Conditions] = set()
    for item in inside:
        extra = _conditions(item.guards) - mine
        commit = isinstance(item, Call) and item.function in COMMITS
        if isinstance(item, Call) and not commit and extra:
            raise _Open  # waits now for more, now for less
        if commit:
            found.add(extra)
    if len(found) > 1:
        raise _Open
    only = next(iter(found), frozenset())
    if not only:
        return None
    guards = [g for i in inside for g in i.guards if (g.span, g.negated) in only]
    under = all(_conditions(i.guards) - mine >= only for i in inside if isinstance(i, Event))
    if not under or not all(g.turns for g in guards):
        raise _Open
    return guards[0]


@dataclass(slots=True)
class _Queue:
    """Groups committed so far, the group of each tile, and which tiles have arrived."""

    committed: int = 0
    tiles: list[int] = field(default_factory=list)
    here: set[int] = field(default_factory=set)
    filled: bool = False  # the tile of this group is counted

    def take(self, call: Call | Event) -> None:
        """A copy, commit or wait."""
        if isinstance(call, Event):
            if not self.filled:
                self.tiles.append(self.committed)
            self.filled = True
        elif call.function in COMMITS:
            self.committed += 1
            self.filled = False
        elif waits_for_all(call):
            self.here |= set(range(len(self.tiles)))
        else:
            done = self.committed - (left_open(call) or 0)
            self.here |= {t for t, group in enumerate(self.tiles) if group < done}


def _first_late(
    before: Sequence[Call | Event], inside: Sequence[Call | Event], read: Use, around: Loop, idles: bool
) -> int | None:
    """The first pass in which the tile has not arrived; ``idles``: the last passes copy and commit nothing."""
    queue = _Queue()
    for item in before:
        queue.take(item)
    ahead = len(queue.tiles)
    passes = min(ahead + _PASSES, around.trips or _MOST)
    for at in range(passes):
        active = not idles or at < passes - ahead
        mine = [i for i in inside if active or (isinstance(i, Call) and i.function not in COMMITS)]
        for item in (i for i in mine if i.order < read.event.order):
            queue.take(item)
        if at >= len(queue.tiles):
            raise _Open
        if at not in queue.here:
            return at
        for item in (i for i in mine if i.order > read.event.order):
            queue.take(item)
        queue.filled = False
    return None


def _expanded(items: Sequence[Call | Event], depth: int) -> Iterable[Call | Event]:
    """What comes before the loop, each loop there as often as it is walked; every group must have one copy."""
    out: list[Call | Event] = []
    at = 0
    while at < len(items):
        item = items[at]
        if len(item.loops) <= depth:
            out.append(item)
            at += 1
            continue
        loop = item.loops[depth]
        body = [i for i in items[at:] if loop in i.loops]
        at += len(body)
        if not any(isinstance(i, Call) for i in body):
            raise _Open  # rows of one tile or tiles of one group
        if (
            loop.trips is None
            or loop.trips > _MOST
            or any(len(i.loops) > depth + 1 for i in body if isinstance(i, Call))
        ):
            raise _Open
        out += body * loop.trips
    copies = 0
    for i in out:
        copies = copies + 1 if isinstance(i, Event) else 0 if i.function in COMMITS else copies
        if copies > 1:
            raise _Open  # several tiles, or a tile in parts
    return out
