"""CuTe's instructions of TMA called by their own names: ``SM90_TMA_LOAD_2D::copy(&map, &barrier, hint, smem, x, y)``.

A load tells a barrier; a store reads shared memory until its group is waited for. How many bytes a tensor map's box has
is not said there, of a copy without one it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.ints import Dyn, known_value
from cutecheck.source.cpp import barriers
from cutecheck.source.cpp.around import as_step
from cutecheck.source.eval import losses, shared_addresses
from cutecheck.source.eval.values import (
    Address,
    ExternType,
    Object,
    ObjectPointer,
    Pointer,
    Scalar,
    ScalarType,
    Value,
    ValueType,
)

if TYPE_CHECKING:
    from cutecheck.model.expr import Expr
    from cutecheck.source.eval.machine import Machine

_NAME = re.compile(
    r"cute::SM90_(?:(?P<load>TMA_LOAD(?:_IM2COL)?(?:_MULTICAST)?(?:_[1-5]D)?|BULK_COPY_G2S)"
    r"|(?:TMA_STORE(?:_IM2COL)?|TMA_REDUCE_ADD)(?:_[1-5]D)?|BULK_COPY_S2G)::copy$"
)
_CP_ASYNC = re.compile(r"(?:^|::)cutlass::arch::cp_async(?:_zfill|_nan)?$")
_BY_REFERENCE = re.compile(r"^cute::SM80_CP_ASYNC_CACHE(?:ALWAYS|GLOBAL)(?:_ZFILL)?::copy$")
_GIVEN = 2  # arguments without a condition
_BYTE = 8  # bits
_PLACES = (Pointer, Address, Object, ObjectPointer)


def applied(m: Machine, fn: Value, args: list[Value], span: Span) -> bool:
    """Note what the call does; False where it is none of these, or it is not known with which memory."""
    if isinstance(fn, ExternType) and _CP_ASYNC.search(fn.name) and m.recorder.in_kernel():
        _chunk(m, fn, args, span)
        return False
    if takes_references(fn) and m.recorder.in_kernel() and isinstance(fn, ExternType) and len(args) > 1:
        _chunk(m, fn, [args[1], args[0], *args[2:]], span)
        return True
    found = _named(fn)
    if found is None or m.recorder.in_barrier or not m.recorder.in_kernel():
        return False
    size = m.dialect.to_model(args[-1]) if "BULK" in found[0] else None
    with as_step(m, span) as (at, _):
        if not found["load"]:
            where = next((p for v in args[:2] if (p := _place(m, v, span)) is not None), None)
            if where is None:
                return False
            m.recorder.drained(at, where, size)
            return True
        buffer, index = barriers.place(m, args[1:2], span)
        to = next((v for v in args[2:] if isinstance(v, _PLACES)), None)
        if buffer == barriers.NOWHERE or (to is None and m.recorder.acts() is not None):
            return False
        if to is not None:  # else a stage of an array of pointers that only a run tells
            losses.lost_under(m, to, span)
        given = (m.dialect.to_model(index), *(() if size is None else (size,)))
        m.recorder.loaded(buffer, at, given, None if to is None else _place(m, to, span))
    return True


def _chunk(m: Machine, fn: ExternType, args: list[Value], span: Span) -> None:
    """``cutlass::arch::cp_async<16>(to, from)``: bytes of each thread; given a condition, perhaps."""
    size = m.dialect.to_model(fn.args[0]) if fn.args else None
    size = size.value if isinstance(size, ValueType) else size
    if isinstance(size, ScalarType) and size.dtype.bits:
        size = int(size.dtype.bits) // _BYTE
    count = known_value(size) if isinstance(size, (int, Dyn)) else None
    to = _place(m, args[0], span) if len(args) > 1 else None
    if to is not None and count is not None:
        with as_step(m, span) as (at, _):
            m.recorder.chunk(at, to, count, "copied", args[1], len(args) > _GIVEN and "zfill" not in fn.name.lower())


def is_one(fn: Value) -> bool:
    """Whether a function is one of these, which write no variable that they are given."""
    return _named(fn) is not None or takes_references(fn)


def takes_references(fn: Value) -> bool:
    """``SM80_CP_ASYNC_CACHEALWAYS<uint128_t>::copy(from, to)``: what counts is where its arguments are."""
    return isinstance(fn, ExternType) and _BY_REFERENCE.match(fn.name) is not None


def _named(fn: Value) -> re.Match[str] | None:
    return _NAME.match(fn.name) if isinstance(fn, ExternType) else None


def _place(m: Machine, value: Value, span: Span) -> tuple[str, Expr] | None:
    """Where something in shared memory is."""
    if isinstance(value, Scalar):
        return shared_addresses.place(value)
    return shared_addresses.located(m, value, span) if isinstance(value, _PLACES) else None


__all__ = ["applied", "is_one", "takes_references"]
