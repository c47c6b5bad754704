"""CUTLASS's classes of barriers in shared memory, where their header is not read."""

from __future__ import annotations

from cutecheck.source.eval.values import ExternType, Pointer, Value

BARRIERS = ("ClusterBarrier", "ClusterTransactionBarrier")
_WHERE = frozenset({"", "cutlass::arch", "arch"})


def is_barrier(value: Value) -> bool:
    """A barrier in memory, or a pointer to one: both stand for the place."""
    if not isinstance(value, Pointer) or not isinstance(value.type, ExternType):
        return False
    space, _, name = value.type.name.removeprefix("::").rpartition("::")
    return name in BARRIERS and space in _WHERE
