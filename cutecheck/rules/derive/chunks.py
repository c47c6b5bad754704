"""Reads of what ``cp.async`` in assembly brings, or by assembly and single elements of what any ``cp.async`` brings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts import ELEMENT_READ, ELEMENT_STORED, Call, Event, TensorFact, Unknown
from cutecheck.facts.core import CHUNK, UNSEEN
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.uses import exclusive, order, uses_of
from cutecheck.rules.derive.waits import by_cp_async

_BYTE = 8  # bits


@record(frozen=True, slots=True)
class Bytes:
    """What a copy, or an access of a single element, has of a buffer in its first thread and pass."""

    at: Call | Event
    name: str
    first: int
    last: int


@dataclass(slots=True)
class _Buffer:
    """Asynchronous copies into a buffer, and other stores, by one function."""

    filled: list[Bytes] = field(default_factory=list)
    stored: list[Bytes] = field(default_factory=list)


def unwaited(read: Call | Event, context: Context) -> tuple[Bytes, Bytes] | None:
    """What is read, and the asynchronous copy into it that nothing has waited for; one of them by assembly, or an
    element."""
    for mine, buffer in _read(read):
        known = _buffers(context).get((read.enclosing, read.arch, buffer))
        if known is None:
            continue
        filled = next((f for f in known.filled if f.at.order < read.order and _overlap(f, mine)), None)
        if filled is None or (isinstance(filled.at, Event) and isinstance(read, Event)):
            continue  # of copies of tensors more is known
        since = (s for s in known.stored if filled.at.order < s.at.order < read.order)
        if any(_overlap(s, mine) for s in since) or exclusive(filled.at, read):
            continue
        if filled.at.order > max(order(context).waited_at(read.arch, read.order), _unseen(read, context)):
            return mine, filled
    return None


def _overlap(a: Bytes, b: Bytes) -> bool:
    return a.first < b.last and b.first < a.last


def _read(at: Call | Event) -> list[tuple[Bytes, str]]:
    if isinstance(at, Event):
        uses = (u for u in uses_of(at) if not u.written)
        return [(Bytes(at, u.tensor.name, u.first, u.last), u.tensor.buffer or "") for u in uses]
    return _element(at) if _is(at, ELEMENT_READ) else []


def _element(call: Call) -> list[tuple[Bytes, str]]:
    tensor = cast("TensorFact", call.arguments[0])
    if tensor.dtype is None or not tensor.dtype.bits or not isinstance(tensor.offset, (int, Dyn, Sym)):
        return []
    expr, bits = as_expr(tensor.offset), int(tensor.dtype.bits)
    try:
        first = expr.evaluate({v.name: 0 for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return []
    size = known_value(tensor.layout.shape) if call.function == CHUNK and isinstance(tensor.layout, Layout) else 1  # type: ignore[arg-type]
    last = (first + (size or 1)) * bits
    return [(Bytes(call, tensor.name, first * bits // _BYTE, -(-last // _BYTE)), tensor.buffer or "")]


def _buffers(context: Context) -> dict[tuple[str, str, str], _Buffer]:
    if "filled by bytes" not in context.memo:
        found: dict[tuple[str, str, str], _Buffer] = defaultdict(_Buffer)
        for key, uses in order(context).uses.items():
            for use in (u for u in uses if u.written):
                mine = Bytes(use.event, use.tensor.name, use.first, use.last)
                (found[key].filled if by_cp_async(use) else found[key].stored).append(mine)
        for call in (c for c in context.facts.calls if _is(c, ELEMENT_STORED)):
            for mine, buffer in _element(call):
                into = found[call.enclosing, call.arch, buffer]
                (into.filled if dict(call.keywords).get("asynchronous") else into.stored).append(mine)
        for one in found.values():
            one.filled.sort(key=lambda f: f.at.order)
        context.memo["filled by bytes"] = dict(found)
    return cast("dict[tuple[str, str, str], _Buffer]", context.memo["filled by bytes"])


def _unseen(read: Call | Event, context: Context) -> int:
    """When a function was called last that is not followed, and may wait."""
    if "unseen calls" not in context.memo:
        context.memo["unseen calls"] = sorted(c.order for c in context.facts.calls if _is(c, UNSEEN))
    calls = cast("list[int]", context.memo["unseen calls"])
    return max((x for x in calls if x < read.order), default=-1)


def _is(call: Call, reason: str) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason == reason


__all__ = ["Bytes", "unwaited"]
