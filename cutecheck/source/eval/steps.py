"""Steps that calls are by their names: barriers and waits, registers given up or asked for, tensor memory."""

from __future__ import annotations

import re
from functools import lru_cache

from cutecheck.facts import Span
from cutecheck.facts.resources import TMEM_FREED
from cutecheck.source.eval.intrinsics.names import TMEM_ALLOCATORS
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import FuncSet, Value

# a producer that acquires a stage of a pipeline waits for who read it last
_SYNCHRONISES = re.compile(
    r"sync|barrier|wait|expect_t|transaction_bytes|producer_acquire|acquire_and_advance$|(?:^|\.)acquire$"
    r"|fence|commit|warpgroup_arrive|tma_store_arrive|(?:^|\.|consumer_)release$|(?:^|\.|producer_)tail$",
    re.IGNORECASE,
)
# `cp_async16(smem, gmem)` of a program and the DSL's module `cpasync` hold nobody back: what is asynchronous goes on
_ASYNCHRONOUS = re.compile(r"(?:(?<![A-Za-z])a|(?<=cp)a|(?<=copy)a|A)sync|(?<![A-Za-z])ASYNC|(?<=CP)ASYNC")
_COPIES = re.compile(r"CP_ASYNC_\w+::copy$")  # CuTe's instruction of this name holds no thread back
_WAITS_FOR_GROUPS = ("cp_async_wait", "cp_async_wait_group", "warpgroup_wait", "tma_store_wait")
_REGISTERS = ("warpgroup_reg_alloc", "warpgroup_reg_dealloc", "setmaxregister_increase", "setmaxregister_decrease")
_ALLOCATES = tuple(f"{name}.allocate" for name in TMEM_ALLOCATORS)
_FREES = tuple(f"{name}.free" for name in TMEM_ALLOCATORS)


def noted(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Note what the call of any callable value is by its name."""
    called = getattr(fn, "name", None) or getattr(fn, "what", None)
    if not isinstance(called, str):
        return
    copies, step = _told(called)
    if copies:
        return
    if m.dialect.by_value and isinstance(fn, ClassInst) and called.endswith("NamedBarrier"):
        return  # an object is made, at which nobody waits before its methods are called
    if step:
        groups = getattr(fn, "targs", None) if called.endswith(_WAITS_FOR_GROUPS) else None
        named = kwargs.values() if called.endswith("arch.barrier") else ()  # which barrier, or none: all threads' own
        synchronises(m, called, [*(groups or ()), *args, *named], span)
    replay = m.recorder.acts()
    if replay is not None and isinstance(fn, FuncSet):
        bodies = [e.decl for e in fn.entries if e.decl.body is not None]
        replay.goes_into([d.span.path for d in bodies], span, all(not d.body.get().body for d in bodies))
    if not step:
        return
    if _allocates_tensor_memory(called, fn):
        m.recorder.synchronises(m, called, [*args, *kwargs.values()], span, "tensor memory")
    if _frees_tensor_memory(called, fn):
        m.recorder.synchronises(m, called, [], span, TMEM_FREED)
    if called.endswith(_REGISTERS):
        counts: tuple[Value, ...] = getattr(fn, "targs", None) or getattr(fn, "args", None) or ()
        m.recorder.synchronises(m, called, [*counts, *args, *kwargs.values()], span, "registers")


@lru_cache(maxsize=1 << 12)
def _told(called: str) -> tuple[bool, bool]:
    """Of a name whether it is that of CuTe's own copy, and whether it may be one of these steps: most are neither."""
    memory = called.rpartition(".")[2] in ("allocate", "free", "alloc_tmem", "dealloc_tmem")
    step = memory or called.endswith(_REGISTERS) or _is_of_order(called)
    return _COPIES.search(called) is not None, step


@lru_cache(maxsize=4096)
def _is_of_order(called: str) -> bool:
    return _SYNCHRONISES.search(_ASYNCHRONOUS.sub("", called)) is not None


def synchronises(m: Machine, called: str, args: list[Value], span: Span) -> None:
    """Note the call of a barrier or wait by its name: the method of an object that is not known, too."""
    if _is_of_order(called):
        m.recorder.synchronises(m, called, args, span)


def _allocates_tensor_memory(called: str, fn: Value) -> bool:
    """``cute.arch.alloc_tmem``, or ``allocate`` of the DSL's ``TmemAllocator`` and of C++'s ``TMEM::Allocator1Sm``."""
    if called == "allocate" and isinstance(fn, FuncSet) and fn.cls is not None:
        return getattr(fn.cls, "name", "") == "TmemAllocator"
    return called.rpartition(".")[2] == "alloc_tmem" or called in _ALLOCATES


def _frees_tensor_memory(called: str, fn: Value) -> bool:
    """``cute.arch.dealloc_tmem``, or ``free`` of the DSL's ``TmemAllocator``, whose source may not be at hand, and of
    C++'s ``TMEM::Allocator1Sm``."""
    if called == "free" and isinstance(fn, FuncSet) and fn.cls is not None:
        return getattr(fn.cls, "name", "") == "TmemAllocator"
    return called.rpartition(".")[2] == "dealloc_tmem" or called in _FREES


def frees(fn: Value) -> bool:
    """Whether a function that is not followed gives tensor memory back, and does nothing else with what it is given."""
    called = getattr(fn, "name", None) or getattr(fn, "what", None)
    return isinstance(called, str) and _frees_tensor_memory(called, fn)


__all__ = ["frees", "noted", "synchronises"]
