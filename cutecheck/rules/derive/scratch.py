"""Single elements that threads keep in shared memory, and a copy of a tensor that lies over them."""

from __future__ import annotations

from collections import defaultdict
from typing import cast

from cutecheck.facts import ELEMENT_READ, ELEMENT_STORED, Call, Event, TensorFact, Unknown
from cutecheck.facts.core import CHUNK
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.uses import Use, memory, order

_BYTE = 8  # bits
Key = tuple[str, str, str]


@record(frozen=True, slots=True)
class Lost:
    """An element that was stored, and the copy over it."""

    stored: Call
    copied: Event
    name: str


def overwritten(read: Call, context: Context) -> Lost | None:
    """What is read as a single element, that threads stored before, and a copy of another tensor has overwritten."""
    at = _first(read) if _is(read, ELEMENT_READ) else None
    if at is None:
        return None
    key, first, begin, end = at
    stored = [s for s, _, lo, hi in _stored(context).get(key, []) if s.order < read.order and lo < end and begin < hi]
    if not stored or not _sure(stored[-1]):
        return None
    for use in order(context).uses.get(key, []):
        if not use.written or not stored[-1].order < use.event.order < read.order or not _sure(use.event):
            continue
        if use.event.predicated or _type(use.tensor) == _type(cast("TensorFact", read.arguments[0])):
            continue
        if use.first == begin:
            continue  # the same memory as other elements: what was cleared before it was filled
        places = _bytes(use)
        if places is not None and first in places:
            return Lost(stored[-1], use.event, use.tensor.name)
    return None


def _sure(at: Call | Event) -> bool:
    """Only conditions on the threads are around it, of the element's store also these."""
    return all(g.asks is not None for g in inner(at.guards))


def _type(tensor: TensorFact) -> str:
    return "" if tensor.dtype is None else tensor.dtype.name


def _bytes(use: Use) -> set[int] | None:
    """The bytes that a copy certainly writes in the first pass of its loops: the first of each element."""
    found, bits = memory(use, {0}), use.tensor.dtype.bits if use.tensor.dtype is not None else None
    if found is None or not bits or int(bits) % _BYTE:
        return None
    size = int(bits) // _BYTE
    return {x * size + byte for x in found for byte in range(size)}


def _first(call: Call) -> tuple[Key, int, int, int] | None:
    """The first byte of the element of the first thread, in the first pass, and the bytes of all that may be meant.

    None of what assembly accesses.
    """
    tensor = cast("TensorFact", call.arguments[0])
    if call.function == CHUNK or tensor.dtype is None or not tensor.dtype.bits:
        return None
    if not isinstance(tensor.offset, (int, Dyn, Sym)):
        return None
    expr, bits = as_expr(tensor.offset), int(tensor.dtype.bits)
    try:
        first = expr.evaluate({v.name: 0 for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    lo, hi = bounds(expr)
    begin, end = (first, first) if lo is None or hi is None else (lo, hi)
    key = call.enclosing, call.arch, tensor.buffer or ""
    return key, first * bits // _BYTE, begin * bits // _BYTE, -(-(end + 1) * bits // _BYTE)


def _stored(context: Context) -> dict[Key, list[tuple[Call, int, int, int]]]:
    if "scratch" not in context.memo:
        found: dict[Key, list[tuple[Call, int, int, int]]] = defaultdict(list)
        for call in sorted((c for c in context.facts.calls if _is(c, ELEMENT_STORED)), key=_order):
            at = _first(call)
            if at is not None:
                found[at[0]].append((call, *at[1:]))
        context.memo["scratch"] = dict(found)
    return cast("dict[Key, list[tuple[Call, int, int, int]]]", context.memo["scratch"])


def _order(call: Call) -> int:
    return call.order


def _is(call: Call, reason: str) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason == reason


__all__ = ["Lost", "overwritten"]
