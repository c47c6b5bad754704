"""Tensors that are laid over several members of one structure in shared memory, or allocations after one another."""

from __future__ import annotations

from cutecheck.facts import SmemBuffer, TensorFact
from cutecheck.model import algebra as alg
from cutecheck.model.ints import CuteError, UndecidedError, known_value
from cutecheck.model.units import ByteCount
from cutecheck.rules.base import Context


def lies_over_more(tensor: TensorFact, buffer: SmemBuffer, context: Context) -> bool:
    """Whether a whole tensor begins with a member of a structure that is another's, and ends before the structure.

    What the allocator of the DSL gives one after another is as members are. An epilogue takes the memory of A and B
    together for C: ``make_tensor(recast_ptr(sA.iterator, ...), sC)``. The member is another tensor's where one fits it.
    A tensor alone that does not fit its member was given too few bytes.
    """
    whole, own = _bytes(tensor), _number(buffer.size_bytes)
    start = tensor.root_start_bits
    if whole is None or own is None or whole <= own or (start is not None and known_value(start) != 0):
        return False
    held, dot, _ = buffer.buffer_id.rpartition(".")
    if not (dot or buffer.span.is_python) or whole > own + _behind(held, buffer, context):
        return False
    used = context.index.buffers.get((buffer.buffer_id, buffer.arch), [])
    touching = {i for b in used for i in b.accesses}
    for event in context.facts.events:
        if event.arch == buffer.arch and event.event_id in touching:
            for other in event.operands:
                size = _bytes(other) if other.buffer == tensor.buffer else None
                if size is not None and size <= own:
                    return True
    return False


def _bytes(tensor: TensorFact) -> int | None:
    bits = tensor.root_bits or (tensor.dtype.bits if tensor.dtype is not None else None)
    if tensor.root_layout is None or not bits:
        return None
    try:
        size = known_value(alg.cosize(tensor.root_layout))
    except (CuteError, UndecidedError, TypeError, ValueError):
        return None
    return None if size is None else -(-size * int(bits) // 8)


def _behind(held: str, buffer: SmemBuffer, context: Context) -> int:
    """The bytes of the members after this one, as far as they are known."""
    total, start = 0, _number(buffer.start_bytes)
    for other in context.index.buffers_in.get((buffer.enclosing, buffer.arch), []):
        if other.buffer_id.rpartition(".")[0] != held or other is buffer:
            continue
        at = _number(other.start_bytes)
        later = other.span > buffer.span if start is None or at is None else at > start
        total += (_number(other.size_bytes) or 0) if later else 0
    return total


def _number(size: ByteCount | None) -> int | None:
    found = None if size is None else known_value(size)
    return None if found is None else int(found)
