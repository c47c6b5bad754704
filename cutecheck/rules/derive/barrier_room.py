"""Barriers behind the end of the shared memory that a launch asks for."""

from __future__ import annotations

from cutecheck.facts import Call, SmemBuffer
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.launches import left_of

_BYTES = 8  # of one


@record(frozen=True, slots=True)
class BarrierBehind:
    """Where a barrier ends, from the start of its member, and the bytes that are left there; less than none: where
    the launch's memory ends before the member."""

    buffer: SmemBuffer
    end: int
    left: int


def barrier_behind(call: Call, context: Context) -> BarrierBehind | None:
    """A barrier in a member of the dynamic shared memory that is initialised behind its end: the first of an array."""
    if call.function != "mbarrier.init" or not call.arguments:
        return None
    name, at = call.subject.partition("|")[2], call.arguments[0]
    buffer = next(iter(context.index.buffers.get((name, call.arch), [])), None)
    if buffer is None or not isinstance(at, (int, Dyn)):
        return None
    left = left_of(buffer, context)
    offset = as_expr(at)
    try:
        first = offset.evaluate({v.name: 0 for v in offset.variables()})
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None
    if left is None or first < 0 or first + _BYTES <= left:
        return None
    return BarrierBehind(buffer, first + _BYTES, left)


__all__ = ["BarrierBehind", "barrier_behind"]
