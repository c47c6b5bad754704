"""Which threads make a copy under conditions on their index, and which slices of its tiled copy they take."""

from __future__ import annotations

from math import prod

from cutecheck.facts import Event, TensorFact
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.integers import converted
from cutecheck.model.ints import Condition, CuteError, NotModelledError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import condition_value
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledCopy
from cutecheck.rules.base import Context
from cutecheck.rules.derive.blocks import several
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.some_threads import known_on_threads
from cutecheck.rules.derive.targets import atom_of_event


def past_the_last(event: Event) -> tuple[TensorFact, int, int, int] | None:
    """An operand of which a thread takes a slice that its tiled copy does not have: the thread, its slice, the slices.

    Only where every condition around the copy is known for each thread.
    """
    for tensor in event.operands if _by_threads(event) else ():
        found = _slices(event, tensor)
        if found is None or not _all_known(event):
            continue
        count, slices = found
        for thread, index in slices.items():
            if not 0 <= index < count:
                return tensor, thread, index, count
    return None


def left_out(event: Event, context: Context) -> tuple[int, int] | None:
    """How many slices are taken, and of how many, by the threads that a condition on their index lets through.

    Where the tile is a multiple of the tiled copy's, so that what is left out is in it, and nothing else in the loops
    around copies to the same memory.
    """
    if not _by_threads(event) or len(event.operands) < 2 or event.otherwise:
        return None
    target = event.operands[1]
    guarded = any(THREAD in {v.name for v in (*c.lhs.variables(), *c.rhs.variables())} for c in _conditions(event))
    if not guarded or target.space not in ("smem", "gmem") or not divides(event, target):
        return None
    found = _slices(event, target)
    if found is None:
        return None
    count, slices = found
    taken = {i for i in slices.values() if 0 <= i < count}
    if past_the_last(event) is not None:
        return None  # said of the slices
    for other in _calls_of_its_function(event, context):
        if (more := _slices(other, other.operands[1])) is None:
            return None
        taken |= {i for i in more[1].values() if 0 <= i < count}
    if not taken or len(taken) == count or _copied_elsewhere(event, target, context):
        return None
    whole = known_value(event.threads) if event.threads is not None else None
    return (len(taken), count) if whole is not None and whole >= count else None


def _by_threads(event: Event) -> bool:
    atom = atom_of_event(event)
    return event.kind == "copy" and atom is not None and not any(x in atom.op for x in ("TMA", "BULK", "TMEM"))


def _slices(event: Event, tensor: TensorFact) -> tuple[int, dict[int, int]] | None:
    """The slices of a tiled copy, and which of them each thread takes that its conditions may let through."""
    threads = known_value(event.threads) if event.threads is not None else None
    if not isinstance(tensor.source, TiledCopy) or tensor.thread is None or threads is None or several(event.block):
        return None
    count, index = known_value(tensor.source.num_thr), as_expr(converted(tensor.thread, "unsigned", "int"))
    if count is None or threads > LARGEST_BLOCK or {v.name for v in index.variables()} != {THREAD}:
        return None
    found: dict[int, int] = {}
    for thread in range(threads):
        at = {THREAD: thread}
        try:
            if all(_may_hold(c, at) for c in _conditions(event)):
                found[thread] = index.evaluate(at)
        except (KeyError, ZeroDivisionError, ValueError):
            return None
    return count, found


def _conditions(event: Event) -> list[Condition]:
    return [c for g in inner(event.guards) for c in g.holds]


def _may_hold(c: Condition, at: dict[str, int]) -> bool:
    if {v.name for v in (*c.lhs.variables(), *c.rhs.variables())} != {THREAD}:
        return True
    return bool(condition_value(c.rel, c.lhs.evaluate(at), c.rhs.evaluate(at)))


def _all_known(event: Event) -> bool:
    """Each condition is one on the thread's index alone, all of it followed."""
    return all(map(known_on_threads, inner(event.guards)))


def divides(event: Event, target: TensorFact) -> bool:
    """The tile that the threads divide among them is a multiple of what the tiled copy moves at once."""
    tile = target.tile_layout or target.root_layout
    tiler = target.source.tiler_shape if isinstance(target.source, TiledCopy) else None
    inside = getattr(tile, "b", tile)
    if not isinstance(inside, Layout) or not isinstance(tiler, tuple):
        return False
    try:
        sizes = [known_value(size(inside, i)) for i in range(len(tiler))]
        steps = [prod(n if isinstance(n, int) else 0 for n in it.flatten_to_tuple(t)) for t in tiler]
    except (CuteError, NotModelledError, UndecidedError, TypeError, IndexError):
        return False
    return all(n is not None and s > 0 and n % s == 0 for n, s in zip(sizes, steps, strict=True))


def _calls_of_its_function(event: Event, context: Context) -> list[Event]:
    """What the same copy is where its function is called again, as by each role with its own part of the threads."""
    return [
        e for e in context.facts.events
        if e is not event and (e.kernel, e.arch, e.kind, e.span) == (event.kernel, event.arch, "copy", event.span)
        and len(e.operands) > 1 and e.operands[1].buffer == event.operands[1].buffer
    ]  # fmt: skip


def _copied_elsewhere(event: Event, target: TensorFact, context: Context) -> bool:
    """Another copy in the same loops, of the same kernel, writes to the same memory."""
    return any(
        e is not event and (e.kernel, e.arch) == (event.kernel, event.arch) and e.kind == "copy"
        and (e.loops == event.loops or target.space == "gmem") and e.span != event.span
        and len(e.operands) > 1 and e.operands[1].buffer == target.buffer
        for e in context.facts.events
    )  # fmt: skip
