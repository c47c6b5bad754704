"""Calls by host code that repeat what came to nothing: once much was walked without anything new they are left out.

A benchmark calls what it measures again and again. Rehearsals leave no facts: what was walked outside of them is left
out of them whatever it came to. Outside of them a call is left out only where all that is known of its arguments and
its object is as it was when it came to nothing.
"""

from __future__ import annotations

from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.overloads import Candidate
from cutecheck.source.eval.qualifiers import is_auto
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import Address, Closure, Object, ObjectPointer, Reference, Scalar, Value

_SHARE = 50  # of the steps that may come to nothing: a call with more is worth leaving out
_LARGEST = 1_000  # values in arguments and objects; more are not compared
_COMPUTES = frozenset({"kernel", "constexpr", "device"})  # types may be made of what such a function returns


class Repeat:
    """A call by host code, under which what is known of calls of the function like it is kept."""

    __slots__ = ("_before", "_given", "_key", "_m", "_state", "_used")

    def __init__(self, m: Machine, best: Candidate, self_: Object | None, given: list[Value]) -> None:
        own = tuple(type_key(best.env.vars[p.name]) for p in best.fn.tparams or () if p.name in best.env.vars)
        cls = self_.cls if self_ is not None else best.entry.env.cls
        self._m = m
        self._key = (id(best.fn), own, type_key(cls))
        self._given = (self_, *given)
        noted = m.repeated.get(self._key)
        # before the walk, and only of functions that are known to do much and come to nothing: it takes time
        self._state = None if noted is None or m.recorder.rehearsal else _state(self._given)
        self._before, self._used = m.recorder.all_found(), m.budget.used

    def is_left_out(self) -> bool:
        """Whether the call comes to nothing as far as is known, or is rehearsed, and much was walked that did."""
        m = self._m
        noted = m.repeated.get(self._key)
        return noted is not None and (m.recorder.rehearses() or self._state in noted) and m.budget.is_mostly_idle()

    def walked(self) -> None:
        """The call was walked to its end."""
        m = self._m
        if m.recorder.rehearsal:
            return
        if m.recorder.all_found() != self._before:
            m.repeated.pop(self._key, None)
        if m.budget.used - self._used >= m.budget.limits.idle_steps // _SHARE:
            noted = m.repeated.setdefault(self._key, set())
            if self._state is not None and m.recorder.all_found() == self._before:
                noted.add(self._state)


def repeat(m: Machine, best: Candidate, self_: Object | None, given: list[Value]) -> Repeat | None:
    """A call that may be left out as a repeat; None for one that leaves no facts, or by or of code of the device."""
    fn = best.fn
    if not m.dialect.by_value or fn.flags & _COMPUTES or m.recorder.is_unevaluated():
        return None
    if m.recorder.in_kernel() or not m.recorder.on_host():
        return None
    return None if fn.ret is not None and is_auto(fn.ret) else Repeat(m, best, self_, given)


def _state(values: tuple[Value, ...]) -> Any:
    """A hashable that is equal where all that is known of values, and of what they hold, is equal."""
    found: list[Any] = []
    met: dict[int, int] = {}
    todo: list[Any] = list(values)
    while todo:
        value = todo.pop()
        if len(found) > _LARGEST or isinstance(value, (Closure, list, dict, set)):
            return object()  # equal to no other
        if isinstance(value, ObjectPointer):
            found.append("pointer")
            value = value.to
        elif isinstance(value, (Address, Reference)):
            found.append(("cells", len(value.cells)))
            todo += (where.get(name) for where, name in value.cells)
            continue
        if isinstance(value, Object):
            if id(value) in met:
                found.append(("met", met[id(value)]))
                continue
            met[id(value)] = len(met)
            found.append((type_key(value.cls), tuple(map(str, value.fields)), str(value.pointer)))
            todo += value.fields.values()
        elif isinstance(value, tuple):
            found.append(("tuple", len(value)))
            todo += value
        elif isinstance(value, Scalar):
            found.append((value.ctype, _number(value.value)))
        else:
            found.append(_number(value) if isinstance(value, Dyn) else type_key(value))
    return tuple(found)


def _number(value: Any) -> Any:
    """A number that is no constant is told by its bounds: its name is another each time."""
    return ("bounds", ex.bounds(value.expr)) if isinstance(value, Dyn) else value
