"""Barriers that a kernel of the DSL uses by hand: which array one is in, and what is done with it.

``cute.arch`` has a function for each step, which takes a pointer. A pointer that goes elsewhere (to a function that is
not followed, as the address of a number) makes the array one that more may be done with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.values import NONE, Builtin
from cutecheck.source.eval.values import Extern, Intrinsic, Object, Pointer, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_PARAMETERS = {  # of each function, in their order; and what it does
    "mbarrier_init": ("init", ("mbar_ptr", "cnt")),
    "mbarrier_arrive_and_expect_tx": ("expect", ("mbar_ptr", "bytes", "peer_cta_rank_in_cluster")),
    "mbarrier_expect_tx": ("expect", ("mbar_ptr", "bytes", "peer_cta_rank_in_cluster")),
    "mbarrier_wait": ("wait", ("mbar_ptr", "phase")),
    "mbarrier_try_wait": ("wait", ("mbar_ptr", "phase")),
    "mbarrier_test_wait": ("wait", ("mbar_ptr", "phase")),
    "mbarrier_conditional_try_wait": ("wait", ("cond", "mbar_ptr", "phase")),
    "mbarrier_arrive": ("arrive", ("mbar_ptr", "peer_cta_rank_in_cluster", "arrive_count")),
    "cp_async_mbarrier_arrive_noinc": ("arrive", ("mbar_ptr",)),
    "commit": ("arrive", ("mbar_ptr", "mask", "cta_group")),  # of tcgen05: once the products so far are there
}
_SECOND = {"init": "cnt", "expect": "bytes", "wait": "phase"}  # what else is noted of a step
_COPIED = "cp_async_mbarrier_arrive_noinc"  # once the thread's copies are done; counted as other arrivals
# arrives once, at a barrier of its own block
_EACH_THREAD = ("mbarrier_arrive", "mbarrier_arrive_and_expect_tx", _COPIED)
_MEETS = (
    "arrive_and_wait",
    "arrive_and_wait_unaligned",
    "wait",
    "wait_unaligned",
    "sync",
    "arrive",
    "arrive_unaligned",
)
_MADE = re.compile(r"NamedBarrier\(barrier_id=(\d+), num_threads=(\d+)\)$")
_ELSEWHERE = "store_async_dsmem"  # to another block's shared memory: bytes that the barrier there expects
_ASKS = ("issue_clc_query", "issue_clc_query_nomulticast")  # bytes by the hardware, that a barrier expects
_ADDS = ("mbarrier_expect_tx",)  # tells of bytes, and does not arrive
_GROUP = re.compile(r"CooperativeGroup\(agent=Thread, size=(\d+)\)$")
_HOMES = ("arch.", "tcgen05.")  # ends of the modules that have them
_LOOKS = ("isinstance", "type", "hasattr", "const_expr", "printf", "print", "pointer.data_ptr", "pointer.iterator",
          "pointer.align", "dataclass.replace", "dataclasses.replace", "getattr", "setattr", "id", "repr", "str",
          "iter", "next", "reversed", "vars", "copy.copy", "object.__setattr__", "object.__new__", "callable",
          "issubclass", "hash")  # fmt: skip
_KEEPS = (
    "list.",
    "dict.",
    "tuple",
    "list",
    "dict",
    "zip",
    "enumerate",
    "range",
    "len",
    "functools.partial",
)  # as it was
NOWHERE = "?"
NAMED = "named"  # barriers of the hardware, by number
_BARRIER_BITS = 64
_DEPTH = 4


def is_function(module: str, name: str) -> bool:
    """Whether a module's function of this name is one of ``cute.arch`` that does something with a barrier."""
    return name.startswith("mbarrier_") and name in _PARAMETERS and f"{module}.".endswith(_HOMES)


def applied(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Note what a call does with a barrier, or that more may be done with it."""
    if not isinstance(fn, (Extern, Builtin, Intrinsic, Unknown)) or not m.recorder.in_kernel():
        return
    full = _name(fn)
    home, _, name = full.rpartition(".")
    if name in _PARAMETERS and f"{home}.".endswith(_HOMES):
        _step(m, name, args, kwargs, span)
    elif name == _ELSEWHERE and f"{home}.".endswith("arch."):
        m.recorder.reaches(span, True)
    elif name in _ASKS and f"{home}.".endswith("arch.") and m.dialect.replaying is not None:
        pass  # in a run they have come with the phase that expects them
    elif name in ("barrier", "barrier_arrive") and f"{home}.".endswith("arch."):
        count, which = kwargs.get("number_of_threads"), kwargs.get("barrier_id")
        if m.dialect.replaying is not None:  # of all threads
            which = 0 if which is None else which
            count = m.recorder.threads_of(m.recorder.frame.kernel) if count is None and m.recorder.frame else count
        if count is not None and which is not None:
            given = m.dialect.to_model(count), m.dialect.to_model(which)
            m.recorder.barrier(NAMED, NAMED, span, given) if name == "barrier" else m.recorder.arrives(given, span)
    elif name in _MEETS and (made := _MADE.search(home)) is not None:
        given = int(made[2]), int(made[1])
        m.recorder.arrives(given, span) if name.startswith("arrive_un") or name == "arrive" else m.recorder.barrier(
            NAMED, NAMED, span, given
        )
    elif full.removeprefix("dsl.") not in _LOOKS and not full.startswith(_KEEPS):
        own = fn.self_ if isinstance(fn, (Intrinsic, Builtin)) else None
        told = ("tma_bar_ptr", "mbar_ptr") if full == "dsl.copy" else ()
        lost(m, [own, *args, *(v for k, v in kwargs.items() if k not in told)], span)


def made(fn: Extern, args: list[Value], kwargs: dict[str, Value], span: Span) -> Extern | None:
    """A ``NamedBarrier`` or ``CooperativeGroup`` of known numbers, where the package's source is not at hand."""
    if fn.what.endswith("pipeline.CooperativeGroup"):
        given = {**dict(zip(("agent", "size"), args, strict=False)), **kwargs}
        agent, size = given.get("agent"), given.get("size", 1)
        if isinstance(agent, Extern) and agent.what.endswith(".Agent.Thread") and type(size) is int:
            return Extern(f"{fn.what}(agent=Thread, size={size})", span)
        return None
    if not fn.what.endswith("pipeline.NamedBarrier"):
        return None
    given = {**dict(zip(("barrier_id", "num_threads"), args, strict=False)), **kwargs}
    which, count = given.get("barrier_id"), given.get("num_threads")
    if type(which) is not int or type(count) is not int:
        return None
    return Extern(f"{fn.what}(barrier_id={which}, num_threads={count})", span)


def arrivals(group: Value) -> int | None:
    """How many threads a group made above has."""
    found = _GROUP.search(group.what) if isinstance(group, Extern) else None
    return None if found is None else int(found[1])


def _name(fn: Extern | Builtin | Intrinsic | Unknown) -> str:
    return "" if isinstance(fn, Unknown) else fn.what if isinstance(fn, Extern) else fn.name


def _step(m: Machine, name: str, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    kind, names = _PARAMETERS[name]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    pointer = given.get("mbar_ptr")
    where, offset = NOWHERE, cast(Value, Unknown("which barrier is not known", span))
    if isinstance(pointer, Pointer) and pointer.space == "smem" and pointer.buffer in m.recorder.buffers:
        where, offset = pointer.buffer, cast(Value, pointer.offset)
    number = given.get(_SECOND.get(kind, ""))
    more = () if number is None else (m.dialect.to_model(number),)
    count = given.get("arrive_count", 1)
    times = count if type(count) is int else None
    own = given.get("peer_cta_rank_in_cluster") in (None, NONE)
    if name == _COPIED:
        m.recorder.copied_by_then(span)
    arrivals = 0 if name in _ADDS else times if own and name in _EACH_THREAD else None
    commits = None  # by its warp, of the run of a kernel
    if name == "commit":
        commits = times or 0 if given.get("mask") in (None, NONE) else 0
    m.recorder.barrier(kind, where, span, (offset, *more), arrivals, commits)


def lost(m: Machine, given: list[Value], span: Span, depth: int = 0) -> None:
    """Barriers among these values go where it is not seen what is done with them."""
    for v in given:
        if isinstance(v, (tuple, list)) and depth < _DEPTH:
            lost(m, list(v), span, depth + 1)
        elif isinstance(v, Object) and depth < _DEPTH:
            lost(m, [v.pointer, *v.fields.values()], span, depth + 1)
        elif isinstance(v, Pointer) and v.space == "smem":
            members = f"{v.buffer}."
            for name, buffer in list(m.recorder.buffers.items()):
                if name.startswith(members) or (name == v.buffer and _may_be_one(v.type)):
                    _escapes(m, name, buffer.fact.element_bits, span)


def _escapes(m: Machine, name: str, bits: int | None, span: Span) -> None:
    if bits in (None, _BARRIER_BITS):
        m.recorder.barrier("escapes", name, span, ())


def _may_be_one(kind: Value) -> bool:
    return isinstance(kind, ScalarType) and kind.dtype.bits == _BARRIER_BITS


__all__ = ["applied", "arrivals", "lost", "made"]
