"""One pointer for several that a variable may hold: after a branch, or before an iteration."""

from __future__ import annotations

from collections.abc import Sequence

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import Pointer


def either_buffer(
    m: Machine, pointers: Sequence[Pointer], name: str, span: Span, why: str, apart: bool
) -> Pointer | None:
    """A pointer of the type that all have, to no buffer that is known; shared memory is not lost sight of.

    It points to where a buffer starts if each of them does: nothing more is supposed of one such start than of another.
    Not so where threads may hold different ones (``apart``), whose accesses are judged together.
    """
    first = pointers[0]
    kind = type_key(first.type), first.space, first.swizzle
    if any((type_key(p.type), p.space, p.swizzle) != kind for p in pointers) or first.space == "smem":
        return None
    if not m.recorder.buffers.keys().isdisjoint(p.buffer for p in pointers):
        return None
    m.recorder.takes(pointers)  # through the one any of them may be read or written
    begins = not apart and all((p.offset, p.align) == (0, None) for p in pointers)
    where = 0 if begins else Unknown(why, span)
    return Pointer(f"{name.strip('`')}@{span.place}", first.space, first.type, where, None, first.swizzle)
