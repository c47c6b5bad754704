"""Barriers in shared memory that a kernel uses by hand: which array one is in, and what is done with it.

``cutlass::arch::ClusterBarrier`` and ``ClusterTransactionBarrier`` take a pointer or are views of memory, CuTe's own
functions a reference. A pointer that goes elsewhere (to a function that is not known, to an address that assembly may
use) makes the array one that more may be done with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from cutecheck.facts import Span, Unknown
from cutecheck.model.ints import Dyn, div
from cutecheck.source.cpp import named_barriers, pipelines, semaphores
from cutecheck.source.cpp.around import as_step
from cutecheck.source.eval import shared_addresses
from cutecheck.source.eval.barrier_types import BARRIERS, is_barrier
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import class_name
from cutecheck.source.eval.values import (
    TMA_DESCRIPTOR,
    Address,
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    Pointer,
    Scalar,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_STEPS = {
    "init": "init", "initialize_barrier": "init",
    "arrive_and_expect_tx": "expect", "set_barrier_transaction_bytes": "expect", "expect_transaction": "expect",
    "wait": "wait", "wait_barrier": "wait", "try_wait": "wait", "test_wait": "wait",
    "arrive": "arrive", "arrive_barrier": "arrive", "umma_arrive": "arrive", "umma_arrive_multicast": "arrive",
    "umma_arrive_2x1SM": "arrive", "umma_arrive_multicast_2x1SM": "arrive", "cpasync_barrier_arrive": "arrive",
    "cpasync_barrier_arrive_noinc": "arrive", "complete_transaction": "arrive",
}  # fmt: skip
# one arrival of each thread that comes here, at a barrier of its own block: with so many operands
_LOCAL = {"arrive_and_expect_tx": 2, "set_barrier_transaction_bytes": 2, "arrive": 1, "arrive_barrier": 1,
          "cpasync_barrier_arrive_noinc": 1}  # fmt: skip
_COMMITS = {"umma_arrive": 1, "umma_arrive_multicast": 0, "umma_arrive_2x1SM": 0, "umma_arrive_multicast_2x1SM": 0}
_BY_REFERENCE = ("initialize_barrier", "set_barrier_transaction_bytes", "wait_barrier", "arrive_barrier")
# tells of bytes, and does not arrive; counts one arrival more, and makes it
_ADDS = ("expect_transaction", "cpasync_barrier_arrive")
_COPIED = ("cpasync_barrier_arrive", "cpasync_barrier_arrive_noinc")  # once the thread's copies by cp.async are done
_OTHER_KINDS = ("NamedBarrier", "OrderedSequenceBarrier", "GenericBarrier", "Pipeline")
_ADDRESSES = frozenset({"cast_smem_ptr_to_uint", "__cvta_generic_to_shared", "cutlass_get_smem_pointer"})
_READ = re.compile(r"\*(.+)[#~]\d+$")
_LIBRARY = ("cutlass::", "cute::")
NOWHERE = "?"
NAMED = "named"  # barriers of the hardware, by number


def read_of(value: Value) -> str:
    """The buffer that a number was read from, where it is one that is not known."""
    number = value.value if isinstance(value, Scalar) else value
    names = [v.name for v in number.expr.variables()] if isinstance(number, Dyn) else []
    found = _READ.match(names[0]) if len(names) == 1 else None
    return found[1] if found is not None else ""


def applied(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """Note what a call does with a barrier; what a step of the library does inside is none of the kernel's."""
    if m.recorder.in_barrier or not m.recorder.in_kernel():
        return DEFER
    full = getattr(fn, "name", None) or getattr(fn, "what", None)
    if not isinstance(full, str):
        full = ""
    met = semaphores.applied(m, fn, full, span)
    if met is not DEFER:
        return met
    name = full.rpartition("::")[2].rpartition(".")[2]
    kind = _STEPS.get(name)
    if kind is not None and _of_library(fn, full):
        own = fn.self_ if isinstance(fn, (FuncSet, Intrinsic)) else None
        given: list[Value] = [own, *args] if own is not None else args
        if pipelines.inside(m):
            where = place(m, given, span)[0]
            if where != NOWHERE:
                m.recorder.worked_by_library(where, span)
            return DEFER
        arrivals = 1 if len(given) == _LOCAL.get(name) else 0 if name in _ADDS else None
        to = tuple(m.dialect.to_model(v) for v in given[1:]) if name == "arrive" and len(given) > 1 else ()
        if name in _COPIED:
            m.recorder.copied_by_then(span)
        _note(m, kind, given, span, arrivals, _COMMITS.get(name), to)
        if not isinstance(fn, FuncSet):  # which writes none of its arguments, though none of the files says so
            known = isinstance(fn, Intrinsic) and own is not None
            known |= m.dialect.replaying is not None and isinstance(fn, (Extern, ExternType))
            return Scalar(None, "bool") if known else DEFER
        from cutecheck.source.eval.calls import call_functions

        m.recorder.in_barrier += 1
        try:
            return call_functions(m, fn, args, kwargs, span)
        finally:
            m.recorder.in_barrier -= 1
    hardware = named_barriers.applied(m, fn, full, args, span)
    if hardware is not None:
        way, numbers = hardware
        replay = m.recorder.acts()
        if replay is not None:
            replay.known.add(span)
        with as_step(m, span) as (at, _):
            if way == "sync":
                m.recorder.barrier("named", NAMED, at, numbers)
            else:
                m.recorder.arrives(numbers, at)
    called = m.recorder.call.fn if m.recorder.call is not None and m.recorder.call.span == span else None
    if isinstance(fn, (Unknown, Extern, ExternType)) and getattr(called, "ident", "") == "store_shared_remote":
        m.recorder.reaches(span, True)  # CuTe's
    addressed = name in _ADDRESSES
    if not addressed and not isinstance(fn, (Unknown, Extern, ExternType)):
        return DEFER
    args = [v for v in args if not _is_tensor_map(v)]
    if isinstance(fn, (Unknown, Extern, ExternType)) and not addressed:
        for buffer in sorted({b for v in args for b in shared_addresses.buffers(v)}):
            m.recorder.barrier("escapes", buffer, span, ())
    if (addressed and not isinstance(fn, Intrinsic)) or isinstance(fn, (Unknown, Extern, ExternType)):
        for v in args:
            pointer = v.pointer if isinstance(v, Object) else v
            if isinstance(pointer, Pointer) and (pointer.buffer in m.recorder.buffers or _is_member(pointer)):
                m.recorder.barrier("escapes", pointer.buffer, span, ())
    return DEFER


def is_step(fn: Value) -> bool:
    """A function of the library that does something with a barrier."""
    full = getattr(fn, "name", None) or getattr(fn, "what", None)
    if not isinstance(full, str):
        return False
    return full.rpartition("::")[2].rpartition(".")[2] in _STEPS and _of_library(fn, full)


def takes_reference(fn: Value) -> bool:
    """One of CuTe's functions, not of a class, which are given a barrier by reference: what counts is where it is."""
    full = getattr(fn, "name", None) or getattr(fn, "what", None)
    name = full.rpartition("::")[2] if isinstance(full, str) else ""
    return name in _BY_REFERENCE and getattr(fn, "self_", None) is None and is_step(fn)


def _of_library(fn: Value, full: str) -> bool:
    if isinstance(fn, FuncSet):
        of = fn.self_.cls if fn.self_ is not None else fn.cls
        if of is not None:
            name = class_name(of)
            return name.startswith(_LIBRARY) and not any(k in name for k in _OTHER_KINDS)
        scope = fn.entries[0].env.namespace() if fn.entries else None
        return scope is not None and f"{scope.path}::".startswith(_LIBRARY)
    if isinstance(fn, Intrinsic):
        return fn.self_ is None or is_barrier(fn.self_)
    return isinstance(fn, (Extern, ExternType)) and not any(k in full for k in _OTHER_KINDS)


def _note(
    m: Machine, kind: str, given: list[Value], span: Span, arrivals: int | None, commits: int | None = None,
    to: tuple[Value, ...] = (),
) -> None:  # fmt: skip
    where, offset = place(m, given, span)
    operands = (offset, *(m.dialect.to_model(v) for v in given[1:2]))
    m.recorder.barrier(kind, where, span, operands, arrivals, commits, to)


def place(m: Machine, given: list[Value], span: Span) -> tuple[str, Value]:
    """The buffer that a barrier is in, and its offset there."""
    first = given[0] if given else None
    pointer = first.pointer if isinstance(first, Object) else first
    where, offset = NOWHERE, cast(Value, Unknown("which barrier is not known", span))
    if isinstance(pointer, Pointer):
        where = pointer.buffer if pointer.buffer in m.recorder.buffers or _is_member(pointer) else NOWHERE
        offset = cast(Value, pointer.offset)
    elif (read := read_of(first)) in m.recorder.buffers:
        where = read
    elif member := _member(m, first) if m.dialect.replaying is not None else _read_member(m, first):
        where, offset = member, 0
    if where == NOWHERE and isinstance(pointer, Pointer) and _own(pointer.buffer):
        within = pointer.space == "smem" and pointer.buffer.rpartition(".")[0] in m.recorder.buffers
        where = pointer.buffer if within or m.dialect.replaying is not None else NOWHERE
    if where == NOWHERE:
        named = first if isinstance(first, Address) else _named(m, first)
        found = None if named is None else shared_addresses.located(m, named, span)
        if found is not None:
            where, offset = found[0], div(Dyn(found[1]), Dyn.of(8))
    return where, offset


def _named(m: Machine, value: Value) -> Address | None:
    """The member that is given by reference, of whose value nothing is known since its address went elsewhere."""
    values, cells = m.lvalues
    own = cells[0] if cells and values and values[0] is value else None
    return None if own is None else Address(own)


def _member(m: Machine, value: Value) -> str:
    """The name of a member of shared memory that is one barrier, read where a reference to it is taken."""
    known = m.dialect.replaying.members if m.dialect.replaying is not None else {}
    if isinstance(value, Address) and len(value.cells) == 1:
        fields, name = value.cells[0]
        if name in known:
            return known[name]
        value = fields.get(name)
    number = value.value if isinstance(value, Scalar) else value
    names = [v.name for v in number.expr.variables()] if isinstance(number, Dyn) else []
    if len(names) == 1 and _own(names[0]):
        return known.setdefault(names[0].rpartition(".")[2], names[0])
    return known.get(names[0].partition("#")[0], "") if len(names) == 1 else ""  # whose address went elsewhere


def _read_member(m: Machine, value: Value) -> str:
    """The member of an object in shared memory that a number was read from: ``initialize_barrier(s.full, 1)``."""
    number = value.value if isinstance(value, Scalar) else value
    names = [v.name for v in number.expr.variables()] if isinstance(number, Dyn) else []
    if len(names) != 1 or not _own(names[0]) or str(number) != names[0]:
        return ""
    scope, colons, own = names[0].rpartition("::")
    return names[0] if f"{scope}{colons}{own.partition('.')[0]}" in m.recorder.buffers else ""


def _is_tensor_map(value: Value) -> bool:
    """A tensor map in shared memory, or its address: it has no barriers, whatever is done with it."""
    if isinstance(value, Address) and len(value.cells) == 1:
        value = value.cells[0][0].get(value.cells[0][1])
    of = value.type if isinstance(value, (Pointer, Extern)) else None
    return isinstance(of, ExternType) and of.name == TMA_DESCRIPTOR


def _is_member(pointer: Pointer) -> bool:
    """A member of shared memory that is one barrier, of a class that is read: no buffer of its own is noted of it."""
    return (
        pointer.space == "smem" and isinstance(pointer.type, ClassInst) and pointer.type.decl.name in BARRIERS
        and pointer.offset == 0 and _own(pointer.buffer)
    )  # fmt: skip


def _own(name: str) -> bool:
    own = name.rpartition("::")[2]
    return "." in own and not set("#~*?") & set(own)


__all__ = ["NOWHERE", "applied", "place", "read_of"]
