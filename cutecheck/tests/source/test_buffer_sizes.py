"""A buffer that two walks allocate with other sizes has no known size."""

from dataclasses import replace

from cutecheck.facts import SmemBuffer, Span
from cutecheck.model.units import Bytes
from cutecheck.source.collect import Collected, absorb

BUFFER = SmemBuffer("k::s", "s", Span("a.py", 1, 1, 1, 2), "sm_80", "k", Bytes(128), None, None)


def part(*buffers: SmemBuffer) -> Collected:
    out = Collected()
    for b in buffers:
        absorb(Collected(buffers={(b.buffer_id, b.arch): b}), out)
    return out


def test_sizes_that_differ_are_not_known() -> None:
    larger = replace(BUFFER, size_bytes=Bytes(256))
    assert [b.size_bytes for b in part(BUFFER, BUFFER).buffers.values()] == [128]
    assert [b.size_bytes for b in part(BUFFER, larger).buffers.values()] == [None]
    assert [b.size_bytes for b in part(BUFFER, larger, BUFFER).buffers.values()] == [None]
