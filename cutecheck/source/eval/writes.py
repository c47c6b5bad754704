"""Writes to cells: what a variable, a field or an element keeps of a value, and objects that are overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval.copies import copied
from cutecheck.source.eval.held_fields import Apart, Seen
from cutecheck.source.eval.places import BOXES, Cells, held
from cutecheck.source.eval.slots import Slots
from cutecheck.source.eval.tuples import designators
from cutecheck.source.eval.values import (
    Address,
    EnumVal,
    Extern,
    ExternType,
    Object,
    ObjectPointer,
    Pointer,
    PtrType,
    Reference,
    Scalar,
    TensorVal,
    Value,
    is_zero,
    null,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def store(m: Machine, where: dict[Any, Any], name: Any, value: Value, span: Span) -> None:
    """Write a cell as the language does: objects keep their identity, numbers their type, references what they name."""
    from cutecheck.source.eval import initialisation
    from cutecheck.source.eval.types import type_of

    old = where.get(name)
    if isinstance(old, Reference):
        write(m, old.cells, value, span)
        return
    if type(where) is Slots and not _takes(where.get(name), value):
        from cutecheck.source.eval.losses import to_some

        to_some(m, where, value, span)
        return
    if type(where) in (Apart, Seen):
        from cutecheck.source.eval.losses import untracked

        untracked(m, where, name, value, span)
        return
    if isinstance(old, Object) and old.pointer is None:
        overwrite(m, old, value, span)
        return
    if isinstance(old, TensorVal) and not isinstance(value, (TensorVal, Unknown)):
        return
    if (
        is_zero(value)
        and isinstance(old, (Pointer, ObjectPointer, Address))
        and isinstance(to := type_of(old), PtrType)
    ):
        value = null(to.inner)
    known = not isinstance(value, Unknown) or type(where) is Slots
    if isinstance(old, Scalar) and old.ctype != "nullptr_t" and known:
        value = initialisation.convert(m, type_of(old), value, span)
    if isinstance(old, Extern) and _is_container(old.type) and isinstance(value, (Extern, Unknown)):
        value = old  # gets what the other holds, and stays where and of what type it is
    if isinstance(old, Extern) and isinstance(old.type, ExternType) and old.type.name.endswith(BOXES):
        value = old
    if isinstance(old, Unknown) and isinstance(value, (Scalar, tuple)):
        value = old  # of a type that is not known, and so it is what it makes of this
    m.journal.set(where, name, copied(m, value))


def _takes(old: Value, value: Value) -> bool:
    """A number, object or pointer is written to an element that holds one, and so is known to be this one."""
    from cutecheck.source.eval.leaks import points

    if isinstance(old, (Pointer, TensorVal)):
        return isinstance(value, type(old))
    return isinstance(old, (Scalar, EnumVal, Object)) and not points(value)


def _is_container(kind: Value | None) -> bool:
    """``std::vector``, ``thrust::device_vector`` and the like."""
    return isinstance(kind, ExternType) and kind.name.endswith("vector")


def write(m: Machine, cells: Cells, value: Value, span: Span) -> None:
    """Write what a reference or pointer stands for; of several, each may be the one."""
    if len(cells) == 1:
        store(m, *cells[0], value, span)
        return
    from cutecheck.source.eval.losses import lose
    from cutecheck.source.eval.statements.joins import join

    for where, name in cells:
        old = held(m, where, name)
        if isinstance(old, Object):
            lose(m, old, str(name), span)
        else:
            store(m, where, name, join(m, old, value, f"`{name}`", span, None, True), span)


def overwrite(m: Machine, old: Object, value: Value, span: Span) -> None:
    """``object = value``: every field, in place, as others may refer to the object."""
    from cutecheck.source.eval import answers, classes, initialisation

    if isinstance(value, tuple):
        value = classes.construct(m, old.cls, list(value), designators(value), span)
    elif isinstance(value, (Scalar, EnumVal)):
        value = initialisation.convert(m, old.cls, value, span)
    if value is old:
        return
    answers.forget(m, old)
    if type(old.fields) is Apart:
        from cutecheck.source.eval.leaks import leak

        leak(m, value)
    from cutecheck.source.eval.references import field_stands

    for owner, decl in classes.fields(m, old.cls):
        if field_stands(m, owner, decl):
            continue
        mine = classes.get_field(m, old, decl.name, span)
        if isinstance(value, Object):
            theirs = classes.get_field(m, value, decl.name, span)
        else:
            reason = value if isinstance(value, Unknown) else Unknown("not an object that is followed", span)
            theirs = reason
        if isinstance(mine, Object) and mine.pointer is None:
            overwrite(m, mine, theirs, span)
        else:
            m.journal.set(old.fields, decl.name, copied(m, theirs))
