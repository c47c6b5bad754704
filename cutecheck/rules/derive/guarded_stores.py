"""Elements of global memory that a kernel stores one by one under a condition on their coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from cutecheck.facts import Call, Event, Guard, Loop, TensorFact, Unknown
from cutecheck.facts.core import GUARDED, STORED
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.rules.base import Context
from cutecheck.rules.derive.elements import block_of


def guarded_store(call: Call, context: Context) -> Event | None:
    """The store as a copy of one element by each thread; None for other calls.

    How far a loop goes that has no end by its text may bound a mode, too: that counts as a condition of its own.
    """
    if not isinstance(call.result, Unknown) or call.result.reason != GUARDED:
        return None
    tensor = cast("TensorFact", call.arguments[0])
    return _as_copy(call, tensor, context)


def stored_element(call: Call, context: Context) -> Event | None:
    """So of a store under no condition on its coordinates, as far as conditions say what they compare."""
    if not isinstance(call.result, Unknown) or call.result.reason != STORED:
        return None
    tensor = cast("TensorFact", call.arguments[0])
    return None if _by_open_loops(tensor, call.loops) else _as_copy(call, tensor, context)


def unasked_store(call: Call, context: Context) -> Event | None:
    """So of one in loops of any end."""
    if not isinstance(call.result, Unknown) or call.result.reason != STORED:
        return None
    return replace(_as_copy(call, cast("TensorFact", call.arguments[0]), context), guards=call.guards)


def stored_elements(context: Context) -> list[Call]:
    """The stores of single elements of global memory of all kernels."""
    if "stored elements" not in context.memo:
        kinds = (GUARDED, STORED)
        stores = [c for c in context.facts.calls if isinstance(c.result, Unknown) and c.result.reason in kinds]
        context.memo["stored elements"] = stores
    return cast("list[Call]", context.memo["stored elements"])


def _as_copy(call: Call, tensor: TensorFact, context: Context) -> Event:
    guards = (*call.guards, Guard("", call.span)) if _by_open_loops(tensor, call.loops) else call.guards
    return Event(
        f"element:{call.span}:{call.enclosing}:{call.arch}", "copy", "=", call.span, None, None, (tensor, tensor), None,
        False, call.enclosing, call.arch, call.loop_depth, guards, block_of(call, context), None, call.hypotheses,
        call.order, call.loops, call.block, call.kernel,
    )  # fmt: skip


def _by_open_loops(tensor: TensorFact, loops: tuple[Loop, ...]) -> bool:
    numbers = as_expr(tensor.offset).variables() if isinstance(tensor.offset, (int, Dyn)) else ()
    trips = {loop.trips for loop in loops}
    for v in (v for v in numbers if "#" in v.name):
        lo, hi = v.domain.bounds()
        if lo is None or hi is None or (hi - lo) // v.domain.step + 1 not in trips:
            return True
    return False


__all__ = ["guarded_store", "stored_element", "stored_elements", "unasked_store"]
