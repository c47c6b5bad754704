"""Where the tensors of an event come from: which call made a partition or a fragment, of which MMA and operand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.tiled import TiledMMA
from cutecheck.rules.base import Context

_FRAGMENTS = ("partition_fragment_", "make_fragment_")
_PARTITIONS = ("partition_A", "partition_B", "partition_C")


@dataclass(frozen=True, slots=True)
class Owner:
    """A TiledMMA and the operand (A, B or C) that a tensor is a part or fragment of."""

    mma: TiledMMA
    operand: str
    call: Call


def fragment_owner(tensor: TensorFact, event: Event, context: Context) -> Owner | None:
    """The MMA that a register tensor, or a view of its elements, was made for."""
    if tensor.space != "rmem" or tensor.buffer is None:
        return None
    return _index(context).get((event.enclosing, event.arch, tensor.buffer))


def partition_owner(tensor: TensorFact, event: Event, context: Context) -> Owner | None:
    """The MMA and operand of a tensor in memory that an MMA partitioned."""
    if tensor.provenance != "partition" or not isinstance(tensor.source, TiledMMA):
        return None
    return _index(context).get((event.enclosing, event.arch, tensor.buffer, tensor.layout, tensor.offset))


def _index(context: Context) -> dict[object, Owner]:
    if "owners" not in context.memo:
        found: dict[object, Owner] = {}
        for call in context.facts.calls:
            tensor, mma = call.result, call.arguments[0] if call.arguments else None
            if not isinstance(tensor, TensorFact) or not isinstance(mma, TiledMMA):
                continue
            where = (call.enclosing, call.arch)
            if call.function.startswith(_FRAGMENTS) and tensor.space == "rmem":
                found.setdefault((*where, tensor.buffer), Owner(mma, call.function[-1], call))
            elif call.function in _PARTITIONS:
                key = (*where, tensor.buffer, tensor.layout, tensor.offset)
                found.setdefault(key, Owner(mma, call.function[-1], call))
        context.memo["owners"] = found
    return cast("dict[object, Owner]", context.memo["owners"])
