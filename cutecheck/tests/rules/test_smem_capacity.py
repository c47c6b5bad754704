"""What buffers of shared memory take together."""

from __future__ import annotations

from cutecheck.facts import SmemBuffer, Span
from cutecheck.model.units import Bytes
from cutecheck.rules.smem_capacity import _bytes


def buffer(member: str, size: int, start: int | None) -> SmemBuffer:
    at = Span("kernel.py", 1, 1, 1, 2)
    starts = None if start is None else Bytes(start)
    return SmemBuffer(f"k::{member}", member, at, "sm_90a", "k", Bytes(size), Bytes(16), None, start_bytes=starts)


def test_a_member_that_starts_nobody_knows_where_may_lie_before_the_last_one() -> None:
    known = [buffer("storage.a", 1024, 1024), buffer("storage.b", 2048, 2048)]
    assert _bytes(known) == Bytes(4096)
    assert _bytes([*known, buffer("storage.count", 4, None)]) == Bytes(4096)
    assert _bytes([*known, buffer("other.count", 4, None)]) == Bytes(4100)
    assert _bytes([buffer("storage.a", 8, None), buffer("storage.b", 4, None)]) == Bytes(12)
