"""CUTLASS's classes of barriers in shared memory, where their header is not read."""

from __future__ import annotations

from cutecheck.source.eval.values import ExternType, Pointer, Value

BARRIERS = ("ClusterBarrier", "ClusterTransactionBarrier")
_WHERE = frozenset({"", "cutlass::arch", "arch"})


def is_barrier(value: Value) -> bool:
    """A barrier in memory, or a pointer to one: both stand for the place."""
    return isinstance(value, Pointer) and is_barrier_type(value.type)


def is_barrier_type(of: Value) -> bool:
    if not isinstance(of, ExternType):
        return False
    space, _, name = of.name.removeprefix("::").rpartition("::")
    return name in BARRIERS and space in _WHERE
