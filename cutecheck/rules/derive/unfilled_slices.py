"""Slices of a fragment that a product takes before the copy that fills them, in a kernel that was run pass by pass.

Registers are filled slice by slice, one ahead of the product. Without the copy before the loop the first product takes
a slice that only the last pass fills.
"""

from __future__ import annotations

from collections import defaultdict

from cutecheck.facts import Call, Span, Unknown
from cutecheck.facts.replayed import Replay, Step
from cutecheck.model.algebra import cosize
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.faults import Fault

_OWN = "rmem@"  # how the buffers of tensors are named that own their registers


def unfilled_slices(replay: Replay, call: Call, context: Context) -> list[Fault]:
    """The products of the Python DSL that take a slice which is only copied to later, the first of each fragment."""
    steps, sizes = replay.steps, _sizes(call, context)
    later = {(s.places[1].buffer, s.places[1].offset) for s in steps if _fills(s)}
    written: dict[str, list[tuple[int, int]]] = defaultdict(list)
    known_otherwise: set[str] = set()
    found: dict[str, Fault] = {}
    for step in steps:
        if step.kind == "unknown" and not step.places and step.function != "library":
            break  # it may write to any registers
        if _fills(step):
            target = step.places[1]
            size = sizes.get((step.span, target.name))
            if size is None:
                known_otherwise.add(target.buffer)
            else:
                written[target.buffer].append((target.offset, target.offset + size))
        elif step.kind == "gemm" and len(step.places) in (3, 4):
            for place in step.places[-3:-1]:
                own = place.space == "rmem" and place.buffer.startswith(_OWN) and not step.maybe
                if not own or not step.span.is_python or place.buffer in known_otherwise:
                    continue
                there = any(low <= place.offset < high for low, high in written[place.buffer])
                never = replay.complete and bool(written[place.buffer])
                if not there and (never or (place.buffer, place.offset) in later):
                    found.setdefault(place.buffer, Fault("unwritten", step, place))
        elif step.kind not in ("call", "copy"):
            known_otherwise.update(p.buffer for p in step.places)
    return list(found.values())


def _fills(step: Step) -> bool:
    return step.kind == "copy" and len(step.places) == 2 and step.places[1].space == "rmem"


def _sizes(call: Call, context: Context) -> dict[tuple[Span, str], int | None]:
    """Registers from the first to the last that the copy at each place fills; None where that is not known."""
    found: dict[tuple[Span, str], int | None] = {}
    for event in context.facts.events:
        if (event.kind, event.kernel, event.arch) != ("copy", call.kernel, call.arch) or len(event.operands) < 2:
            continue
        target = event.operands[1]
        try:
            size = None if isinstance(target.layout, Unknown) else known_value(cosize(target.layout))
        except (CuteError, UndecidedError):
            size = None
        before = found.get((event.span, target.name), 0)
        found[event.span, target.name] = None if size is None or before is None else max(size, before)
    return found


__all__ = ["unfilled_slices"]
