"""Two copies of different tensors to one place, one after the other, and nothing that may use the first in between."""

from __future__ import annotations

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.facts.leftovers import taken_by
from cutecheck.rules.base import Context
from cutecheck.rules.derive.elements import is_element
from cutecheck.rules.derive.targets import atom_of_event, is_own
from cutecheck.rules.derive.uses import order

_SPACES = ("gmem", "smem")


def stored_twice(event: Event, context: Context) -> Event | None:
    """The copy of which ``event`` stores over all: under the same conditions, in the same loops, by the same threads.

    In tensor memory what comes from shared memory (scale factors). In shared memory none that a barrier stands behind:
    others may have read it by then.
    """
    if not _is_store(event):
        return None
    target = event.operands[1]
    if target.space == "gmem" and target.buffer in (taken_by(event, context.facts.calls) or ()):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    for earlier in mine:
        if earlier.span == event.span or earlier.order >= event.order or not _is_store(earlier):
            continue
        if not _one_place(earlier.operands[1], target) or not _other_source(earlier, event):
            continue
        if (earlier.loops, set(earlier.guards), earlier.enclosing) != (event.loops, set(event.guards), event.enclosing):
            continue
        if _used_between(earlier, event, mine, context):
            continue
        return earlier
    return None


def _is_store(event: Event) -> bool:
    """A copy of all of a tensor, that adds nothing to what is there; TMA counts groups of its own."""
    if event.kind != "copy" or len(event.operands) < 2 or not event.kernel or event.predicated or event.otherwise:
        return False
    atom, target = atom_of_event(event), event.operands[1]
    if is_own(event) or (atom is not None and any(word in atom.op for word in ("RED", "TMA", "BULK", "CP_ASYNC"))):
        return False
    if target.space == "tmem":  # one thread copies it there, and multiplies with it
        return event.operands[0].space == "smem" and bool(target.buffer)
    return event.operands[0].space in ("rmem", "smem") and target.space in _SPACES and bool(target.buffer)


def _one_place(one: TensorFact, other: TensorFact) -> bool:
    """The same elements, in all threads and passes; of columns of tensor memory the first."""
    if one.space == other.space == "tmem":
        return one.buffer == other.buffer and isinstance(one.offset, int) and one.offset == other.offset
    if isinstance(one.layout, Unknown) or isinstance(one.offset, Unknown) or one.dtype != other.dtype:
        return False
    same = (one.space, one.buffer, one.layout, one.offset, one.root_layout, one.root_start_bits)
    return same == (other.space, other.buffer, other.layout, other.offset, other.root_layout, other.root_start_bits)


def _other_source(earlier: Event, event: Event) -> bool:
    one, other = earlier.operands[0], event.operands[0]
    return bool(one.buffer) and bool(other.buffer) and one.buffer != other.buffer


def _sources(event: Event) -> range:
    return range(len(event.operands)) if event.kind == "gemm" else range(min(1, len(event.operands)))


def _used_between(earlier: Event, event: Event, mine: list[Event], context: Context) -> bool:
    target = event.operands[1]
    barriers = order(context).barriers.get(event.arch, [])
    if any(earlier.order < at < event.order for at in barriers):
        return True
    between = [e for e in mine if earlier.order < e.order < event.order]
    if any(e.operands[i].buffer == target.buffer for e in between for i in _sources(e)):
        return True
    calls = (c for c in context.facts.calls if earlier.order < c.order < event.order)
    return any(is_element(c) and _same(c, event) for c in calls)


def _same(call: Call, event: Event) -> bool:
    return (call.kernel, call.arch) == (event.kernel, event.arch)
