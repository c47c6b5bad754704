"""Where the tensors of an event come from: which call made a partition or a fragment, of which MMA and operand."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.facts.index import place_of
from cutecheck.model.tiled import TiledMMA
from cutecheck.records import record
from cutecheck.rules.base import Context

_FRAGMENTS = ("partition_fragment_", "make_fragment_")
_ALIKE = ("make_fragment_like", "make_tensor_like")  # for instance of another type: the same elements
_RETILED = "like a retiled one"
_PARTITIONS = ("partition_A", "partition_B", "partition_C")


@record(frozen=True, slots=True)
class Owner:
    """A TiledMMA and the operand (A, B or C) that a tensor is a part or fragment of."""

    mma: TiledMMA
    operand: str
    call: Call


def fragment_owner(tensor: TensorFact, event: Event, context: Context) -> Owner | None:
    """The MMA that a register tensor, a view of its elements, or descriptors of shared memory were made for."""
    if tensor.buffer is None or tensor.space not in ("rmem", "smem"):
        return None
    return _index(context).get((*place_of(event), *_fragment(tensor)))


def retiled_owner(tensor: TensorFact, event: Event, context: Context) -> Owner | None:
    """The MMA whose accumulators a copy has retiled, where a tensor was made like a part of that: the same elements in
    the copy's order, of another type, say."""
    if tensor.buffer is None or tensor.space != "rmem":
        return None
    owner = _index(context).get((*place_of(event), tensor.buffer, _RETILED))
    return owner if owner is not None and owner.operand == "C" else None


def partition_owner(tensor: TensorFact, event: Event, context: Context) -> Owner | None:
    """The MMA and operand of a tensor in memory that an MMA partitioned."""
    if tensor.provenance != "partition" or not isinstance(tensor.source, TiledMMA):
        return None
    return _index(context).get((*place_of(event), tensor.buffer, tensor.layout, tensor.offset))


def _fragment(tensor: TensorFact) -> tuple[object, ...]:
    """What tells fragments apart: their registers, or the tile that they describe."""
    return (tensor.buffer,) if tensor.space == "rmem" else (tensor.buffer, tensor.root_layout, tensor.root_start_bits)


def _index(context: Context) -> dict[object, Owner | None]:
    if "owners" not in context.memo:
        found: dict[object, Owner | None] = {}
        for call in context.facts.calls:
            tensor, mma = call.result, call.arguments[0] if call.arguments else None
            where = place_of(call)
            if call.function in _ALIKE and isinstance(tensor, TensorFact) and isinstance(mma, TensorFact):
                if tensor.space == mma.space == "rmem":
                    key = (*where, tensor.buffer) if mma.provenance != "retile" else (*where, tensor.buffer, _RETILED)
                    found.setdefault(key, found.get((*where, mma.buffer)))
                continue
            if not isinstance(tensor, TensorFact) or not isinstance(mma, TiledMMA):
                continue
            owner = Owner(mma, call.function[-1], call)
            if call.function.startswith(_FRAGMENTS) and tensor.space in ("rmem", "smem"):
                place = (*where, *_fragment(tensor))
                first = found.setdefault(place, owner)
                if tensor.space == "smem" and first is not None and (first.mma, first.operand) != (mma, owner.operand):
                    found[place] = None  # one tile as both operands
            elif call.function in _PARTITIONS:
                found.setdefault((*where, tensor.buffer, tensor.layout, tensor.offset), owner)
        context.memo["owners"] = found
    return cast("dict[object, Owner | None]", context.memo["owners"])
