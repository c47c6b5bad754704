"""Barriers in shared memory: CUTLASS's classes where their header is not read, and words of 64 bits."""

from __future__ import annotations

from cutecheck.model.integers import INTEGERS
from cutecheck.source.eval.values import ExternType, Pointer, ScalarType, Value

BARRIERS = ("ClusterBarrier", "ClusterTransactionBarrier")
_WORDS = frozenset({"uint64_t", "unsigned long", "unsigned long long"})
_WHERE = frozenset({"", "cutlass::arch", "arch"})


def is_barrier(value: Value) -> bool:
    """A barrier in memory, or a pointer to one: both stand for the place."""
    return isinstance(value, Pointer) and is_barrier_type(value.type)


def is_barrier_type(of: Value) -> bool:
    if not isinstance(of, ExternType):
        return False
    space, _, name = of.name.removeprefix("::").rpartition("::")
    return name in BARRIERS and space in _WHERE


def is_number(of: Value) -> bool:
    """A type in shared memory whose variables are read as numbers: integers, which offsets are made of.

    Unsigned words of 64 bits are barriers there (``initialize_barrier(uint64_t&, int)`` of CuTe): they stand for
    the place.
    """
    return isinstance(of, ScalarType) and of.dtype.name in INTEGERS and of.dtype.name not in _WORDS


def stands_for_place(value: Value) -> bool:
    """A word of 64 bits in shared memory, which may be a barrier: its value is where it is."""
    return isinstance(value, Pointer) and value.space == "smem" and _is_word(value.type)


def _is_word(of: Value) -> bool:
    return isinstance(of, ScalarType) and of.dtype.name in _WORDS
