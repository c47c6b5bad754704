"""Single elements of shared memory that threads read or store behind the end of its array."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, SmemBuffer, TensorFact
from cutecheck.facts.core import CHUNK
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.elements import block_of
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import who
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.neighbours import lies_over_more
from cutecheck.rules.derive.outside import room_in

_BYTE = 8  # bits


@record(frozen=True, slots=True)
class Behind:
    """A thread, the element that it accesses, and the elements (and bytes) that the array has; ``launched``: by the
    launch."""

    thread: int
    index: int
    elements: int
    size: int
    launched: bool
    buffer: SmemBuffer


def element_behind(call: Call, context: Context) -> Behind | None:
    """The first thread whose element lies behind the end, in the first pass of the loops around.

    Only where which threads come is known: all conditions are on the thread's index, and its block's size is known.
    """
    tensor = cast("TensorFact", call.arguments[0])
    bits = None if tensor.dtype is None else tensor.dtype.bits
    threads = block_of(call, context)
    come = who(inner(call.guards), threads) if threads is not None else None
    if call.function == CHUNK or not bits or threads is None or threads > LARGEST_BLOCK or come is None:
        return None
    if not isinstance(tensor.offset, (int, Dyn, Sym)):
        return None
    buffer = next(iter(context.index.buffers.get((tensor.buffer or "", call.arch), [])), None)
    room = None if buffer is None else room_in(buffer, context)
    if buffer is None or room is None or lies_over_more(tensor, buffer, context):
        return None
    offset, first = as_expr(tensor.offset), dict[str, int]()
    for v in offset.variables():
        lo, hi = v.domain.bounds()
        if v.name == THREAD and (hi is None or hi >= threads - 1):
            continue  # else one of several dimensions of the block
        passes = None if lo is None or hi is None else (hi - lo) // v.domain.step + 1
        counted = passes is not None and any(x.trips == passes for x in call.loops)
        if lo is None or not counted or per_thread(v.name) or "Idx." in v.name:
            return None
        first[v.name] = lo
    size, launched = room
    elements = size * _BYTE // int(bits)
    try:
        for thread in sorted(come):
            index = offset.evaluate({THREAD: thread, **first})
            if index >= elements:
                return Behind(thread, index, elements, size, launched, buffer)
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    return None
