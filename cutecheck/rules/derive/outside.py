"""Stages that a kernel, run pass by pass, uses and that lie behind the end of what is allocated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Call, SmemBuffer, TensorFact
from cutecheck.facts.replayed import Place, Replay, Step
from cutecheck.model.ints import known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.faults import Fault
from cutecheck.rules.derive.launches import dynamic_bytes, left_of
from cutecheck.rules.derive.neighbours import lies_over_more


def room_in(buffer: SmemBuffer, context: Context) -> tuple[int, bool] | None:
    """Bytes from a buffer's start to its end, or to the end of what the launch asks for (then true)."""
    size = buffer.size_bytes if buffer.size_bytes is not None else dynamic_bytes(buffer, context)
    total = None if size is None else known_value(size)
    if total is None:
        return None
    left = left_of(buffer, context)
    if left is not None and left < total:
        return max(left, 0), True
    return int(total), buffer.size_bytes is None


def outside(replay: Replay, call: Call, context: Context) -> list[Fault]:
    """Copies and products at a stage that the tensor has and its array has not, the first of each place.

    A counter that comes round (``s + 1 == N ? 0 : s + 1``) has no bounds of its own: what stages it takes is seen in
    the run alone.
    """
    found: dict[object, Fault] = {}
    for step in (*replay.steps, *(s for thread in replay.threads for s in thread.steps)):
        for place in step.places if not step.maybe or step.masked else ():
            if place.space != "smem" or place.past is not None or place.bits == place.root or step.span in found:
                continue
            buffer = next(iter(context.index.buffers.get((place.buffer, call.arch), [])), None)
            room = None if buffer is None else room_in(buffer, context)
            if buffer is None or room is None or not _behind(place, 8 * room[0]):
                continue
            tensors = list(_operands(step, place, call, context))
            if tensors and not any(lies_over_more(t, buffer, context) for t in tensors):
                ends = (place.bits[1] // 8, room[0])
                found[step.span] = Fault("outside", step, replace(place, past=ends))
    return list(found.values())


def _behind(place: Place, end: int) -> bool:
    """A stage of a tensor that begins in the array; not where numbers of the run's choice lead outside the tensor."""
    return place.root[0] <= place.bits[0] and end < place.bits[1] <= place.root[1] and place.root[0] < end


def _operands(step: Step, place: Place, call: Call, context: Context) -> Iterable[TensorFact]:
    for event in context.facts.events:
        if event.span == step.span and (event.kernel, event.arch) == (call.kernel, call.arch):
            yield from (t for t in event.operands if (t.buffer, t.name) == (place.buffer, place.name))
