"""TMA stores of what threads of several warps have stored by single elements, which none of them has waited for."""

from __future__ import annotations

from bisect import bisect_left
from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.ints import as_expr
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.drains import Store, store_of, written_before
from cutecheck.rules.derive.elements import block_of, held_orders
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import who
from cutecheck.rules.derive.limits import LARGEST_BLOCK

_WARP = 32


def unmet_store(at: Event | Call, context: Context) -> tuple[Store, Call] | None:
    """The store, and the last store of elements before it, with no barrier between the two.

    Whichever thread tells TMA, others of other warps have stored: each its own, where it is known which come there.
    """
    store = store_of(at) if at.kernel else None
    if store is None:
        return None
    threads, held = block_of(at, context), held_orders(at, context)
    if threads is None or threads > LARGEST_BLOCK:
        return None
    for one in reversed(list(written_before(store, context))):
        if not isinstance(one.at, Call):
            continue
        behind = bisect_left(held, at.order)
        if behind and held[behind - 1] > one.at.order:
            return None
        come = who(inner(one.at.guards), threads)
        tensor = cast("TensorFact", one.at.arguments[0])
        own = any(v.name == THREAD for v in as_expr(tensor.offset).variables())  # type: ignore[arg-type]
        if come is not None and own and len({t // _WARP for t in come}) > 1:
            return store, one.at
    return None


__all__ = ["unmet_store"]
