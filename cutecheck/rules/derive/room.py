"""How much of a product there is room for where it is stored."""

from __future__ import annotations

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.layout import Layout
from cutecheck.rules.base import Context


def takes_no_more(sums: TensorFact, read: int, call: Call, context: Context) -> bool:
    """Whether ``read`` elements of a thread's sums, in all threads, are all of the matrices that they are stored to.

    The others are of columns that pad the product to the size of its MMA.
    """
    stores = [
        e for e in context.facts.events
        if (e.kernel, e.arch, e.kind) == (call.kernel, call.arch, "copy") and e.operands[0].buffer == sums.buffer
    ]  # fmt: skip
    return bool(stores) and all(_has_room_for(e, read) for e in stores)


def _has_room_for(store: Event, read: int) -> bool:
    target, threads = store.operands[1], None if store.threads is None else known_value(store.threads)
    if target.space != "gmem" or not isinstance(target.root_layout, Layout) or threads is None:
        return False
    try:
        room = known_value(size(target.root_layout))
    except (CuteError, UndecidedError):
        return False
    return room is not None and room <= read * threads
