"""Bytes that a barrier is told to expect, and those that the TMA copies after it bring."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import cast

from cutecheck.facts import Call, Event, Unknown
from cutecheck.model.algebra import filter_zeros, size
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import atom_of
from cutecheck.rules.tma_box import tensor_map_of

# these add to what a barrier expects: what it was told before, as by a pipeline's `producer_acquire`, counts as well
ADDS = ("expect_transaction", "mbarrier_expect_tx")
EXPECTS = ("set_barrier_transaction_bytes", "arrive_and_expect_tx", "mbarrier_arrive_and_expect_tx", *ADDS)

BY_ASSEMBLY = "mbarrier.load"
_PADDED = (4, 6)
_START = re.compile(r"\+\d+$")


@dataclass(slots=True)
class Announced:
    """Calls that announce bytes, one after the other, and the TMA loads that follow before the next such call."""

    calls: list[Call] = field(default_factory=list)
    loads: list[Call | Event] = field(default_factory=list)


def announcements(context: Context) -> dict[tuple[str, str, str], list[Announced]]:
    """Announcements and loads of each function in each kernel that calls it, in the order they are reached."""
    if "announced" not in context.memo:
        steps: dict[tuple[str, str, str], list[Call | Event]] = defaultdict(list)
        for call in context.facts.calls:
            if call.function in (*EXPECTS, BY_ASSEMBLY):
                steps[(call.enclosing, call.kernel, call.arch)].append(call)
        for event in context.facts.events:
            if is_load(event):
                steps[(event.enclosing, event.kernel, event.arch)].append(event)
        found: dict[tuple[str, str, str], list[Announced]] = defaultdict(list)
        others = _others(context)
        open_to = {(e.enclosing, e.kernel, e.arch) for e in context.facts.events if may_be_load(e)}
        for key, items in steps.items():
            items.sort(key=lambda x: x.order)
            if not _announces(items[0]) or key in open_to:
                continue  # the bytes may be announced after the loads, or be of others besides
            for item in items:
                groups = found[key]
                if isinstance(item, Call) and _announces(item):
                    if not groups or groups[-1].loads:
                        groups.append(Announced())
                    groups[-1].calls.append(item)
                elif groups and not _told_since(groups[-1], item, others[(item.kernel, item.arch)]):
                    groups[-1].loads.append(item)
        context.memo["announced"] = found
    return cast("dict[tuple[str, str, str], list[Announced]]", context.memo["announced"])


def _others(context: Context) -> dict[tuple[str, str], list[Call]]:
    """What tells barriers of bytes in each kernel, in whatever function: a pipeline's own as it gives a stage, too."""
    found: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in context.facts.calls:
        if call.function in EXPECTS or call.function.endswith(("acquire", "acquire_and_advance")):
            found[(call.kernel, call.arch)].append(call)
    return found


def _announces(item: Call | Event) -> bool:
    return isinstance(item, Call) and item.function != BY_ASSEMBLY


def _told_since(group: Announced, load: Call | Event, others: list[Call]) -> bool:
    """Whether another barrier was told of bytes between an announcement and a load: the load may be for that one.

    A wrapper says what it is given once more, to the barrier it wraps.
    """
    last = group.calls[-1]
    number = announced_bytes(last)
    between = (c for c in others if last.order < c.order < load.order and c.enclosing != last.enclosing)
    acquired = any(
        c.function not in EXPECTS for c in others if last.order < c.order < load.order and c.enclosing == last.enclosing
    )
    return acquired or any(number is None or announced_bytes(c) != number for c in between)


def is_load(event: Event) -> bool:
    """A load by TMA; also one of which no more is known than the barrier that it tells."""
    atom = atom_of(event.tiled)
    if event.kind != "copy" or atom is None:
        return event.kind == "copy" and bool(event.signals)
    return "TMA_LOAD" in atom.op or _in_bulk(event)


def may_be_load(event: Event) -> bool:
    """A copy of which it is not known how it is made, nor that it goes elsewhere than to shared memory: it may tell a
    barrier of bytes, too."""
    known = event.kind != "copy" or event.reason is None or event.tiled is not None or event.signals
    return not known and [t.space for t in event.operands[1:2]] not in (["rmem"], ["gmem"], ["tmem"])


def _in_bulk(event: Event) -> bool:
    """A copy of adjacent bytes to shared memory, without a descriptor."""
    atom = atom_of(event.tiled)
    return atom is not None and "BULK_COPY" in atom.op and [t.space for t in event.operands[1:2]] == ["smem"]


def array_of(signals: str) -> str:
    """The array that barriers are in, without where they start there, as the DSL's loads name them."""
    return _START.sub("", signals)


def announced_bytes(call: Call) -> int | None:
    numbers = [a for a in call.arguments if isinstance(a, (int, Dyn, Sym)) and not isinstance(a, bool)]
    if call.function == "mbarrier.expect":  # the first is the barrier's place
        numbers = [a for a in call.arguments[1:2] if a in numbers]
    return known_value(numbers[-1]) if numbers else None


def bytes_by(load: Call | Event) -> int | None:
    """Bytes that a load brings to one CTA: of one by assembly those that it is given, if it is."""
    if isinstance(load, Event):
        return brought_by(load)
    given = load.arguments[1] if len(load.arguments) > 1 else None
    return known_value(given) if isinstance(given, (int, Dyn, Sym)) else None


def brought_by(event: Event, paired: bool = False) -> int | None:
    """Bytes that a load brings to one CTA, with ``paired`` one of two that load together; None where not known."""
    atom, found = atom_of(event.tiled), tensor_map_of(event.tiled)
    tensor = event.operands[1] if len(event.operands) > 1 else None
    if atom is None or (found is None and not _in_bulk(event)) or ("2SM" in atom.op and not paired):
        return None
    if tensor is None or tensor.space != "smem":
        return None
    if isinstance(tensor.layout, Unknown) or tensor.dtype is None or not tensor.dtype.bits:
        return None
    try:
        whole = tensor.layout.b if isinstance(tensor.layout, ComposedLayout) else tensor.layout
        elements = known_value(size(filter_zeros(whole)))  # a mode of stride 0 is brought once
    except (CuteError, UndecidedError):
        return None
    # 16 elements of 4 or 6 bits that take 16 bytes there count as what is read: CUTLASS's own kernels wait for so many.
    padded = found is not None and found.internal_bits in _PADDED
    bits = found.internal_bits if found is not None and padded else tensor.dtype.bits
    # With a multicast too: partitions keep the whole tile, of which each CTA fetches a part for all of them.
    return None if elements is None else elements * int(bits) // 8
