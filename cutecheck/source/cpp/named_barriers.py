"""Barriers of the hardware by CUTLASS's ``NamedBarrier``: its static functions, and methods of its objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.model.ints import known_value
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import class_name
from cutecheck.source.eval.values import EnumVal, FuncSet, Object, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.facts import Span
    from cutecheck.source.eval.machine import Machine

_CLASS = "NamedBarrier"
_WAITS = frozenset({"sync", "arrive_and_wait", "arrive_and_wait_unaligned"})
_ARRIVES = frozenset({"arrive", "arrive_unaligned"})
_RESERVED = 8  # the first number of users (`ReservedNamedBarrierCount`)


def applied(m: Machine, fn: Value, full: str, args: list[Value], span: Span) -> tuple[str, tuple[Value, ...]] | None:
    """``sync`` or ``arrive``, with the number of threads and the barrier; None of other calls, and inside of these."""
    name = full.rpartition("::")[2].rpartition(".")[2]
    if (name not in _WAITS and name not in _ARRIVES) or not _of_class(fn, full) or inside(m):
        return None
    way = "sync" if name in _WAITS else "arrive"
    if len(args) == 2:
        return way, tuple(m.dialect.to_model(a) for a in args)
    own = fn.self_ if isinstance(fn, FuncSet) else None
    if args or not isinstance(own, Object) or not {"num_threads_", "id_"} <= own.fields.keys():
        return None
    which = _number(own.fields["id_"])
    if which is None:
        return None
    barrier = Scalar(which - _RESERVED, "int") if which >= _RESERVED else EnumVal("ReservedNamedBarriers", "", which)
    return way, tuple(m.dialect.to_model(a) for a in (own.fields["num_threads_"], barrier))


def inside(m: Machine) -> bool:
    """In a method of a ``NamedBarrier``, whose calls are noted."""
    frame = m.recorder.frame
    while frame is not None:
        if f"{_CLASS}::" in frame.symbol:
            return True
        frame = frame.caller
    return False


def _number(value: Value) -> int | None:
    number = value.value if isinstance(value, Scalar) else value
    found = known_value(number) if number is not None and not isinstance(number, (str, float)) else None
    return None if found is None else int(found)


def _of_class(fn: Value, full: str) -> bool:
    cls = fn.cls if isinstance(fn, FuncSet) else None
    if isinstance(fn, FuncSet) and isinstance(fn.self_, Object) and isinstance(fn.self_.cls, ClassInst):
        cls = fn.self_.cls
    return class_name(cls).endswith(f"::{_CLASS}") if cls is not None else f"{_CLASS}::" in full
