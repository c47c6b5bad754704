"""Which objects are older than others, and which pointers are to objects that are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Unknown
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.source.eval.held_fields import Fields
from cutecheck.source.eval.threads import newest_number
from cutecheck.source.eval.values import Closure, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def made_since(where: dict[Any, Any], serial: int) -> bool:
    """Whether these are the fields of an object that was made after another of this serial."""
    return isinstance(where, Fields) and where.serial > serial


def age_seen(m: Machine, obj: Object, offset: Int | Unknown) -> None:
    """An object behind a pointer is as old as the newest number in the pointer's offset, by which it is asked for."""
    newest = newest_number(offset.expr) if isinstance(offset, (Dyn, Sym)) else 0
    for made, serial in m.rehearsals:
        if made >= newest and isinstance(obj.fields, Fields):
            obj.fields.serial = min(obj.fields.serial, serial)
            return


def age(value: Value, whole: Object | None = None) -> None:
    """The objects in a value, made when they are asked for first, are as old as what they are part of, or older."""
    serial = whole.fields.serial if whole is not None and isinstance(whole.fields, Fields) else 0
    todo = [value]
    while todo:
        at = todo.pop()
        if isinstance(at, tuple):
            todo += at
        elif isinstance(at, Closure) and at.own:
            todo += at.env.vars.values()
        elif isinstance(at, Object) and isinstance(at.fields, Fields) and at.fields.serial > serial:
            at.fields.serial = serial
            todo += at.fields.values()


def drop_gone(m: Machine, serial: int) -> None:
    """After what an iteration wrote was undone: no pointer is to an object that it made, after one of this serial."""
    for key in [key for key, obj in m.pointed.items() if made_since(obj.fields, serial)]:
        del m.pointed[key]
    for cell in [cell for cell, (where, _) in m.addressed.items() if made_since(where, serial)]:
        del m.addressed[cell]
    m.seen[:] = [obj for obj in m.seen if not made_since(obj.fields, serial)]
    for known in (m.leaked, m.callable):
        for key, at in list(known.items()):
            if made_since(at.fields if isinstance(at, Object) else at[0], serial):
                del known[key]
