"""``obj.__class__ = Other``: an object that a program makes one of another class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl.modules import state
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.values import Extern, Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

NAME = "__class__"


class _Cell(dict[str, Any]):
    """Where the journal keeps the class of an object, so that branches undo and join it: the object follows."""

    __slots__ = ("machine", "of", "span")

    def __init__(self, m: Machine, of: Object, span: Span) -> None:
        super().__init__({NAME: of.cls})
        self.machine, self.of, self.span = m, of, span

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self.of.cls = value if isinstance(value, ClassInst) else _unread(self.machine, value, self.span)


def _unread(m: Machine, value: Value, span: Span) -> ClassInst:
    """A class of which nothing is known: it has any attributes."""
    from cutecheck.source.dsl.made_classes import make

    return make(m, "class", [value], {}, [], span)


def reclass_foreign(m: Machine, obj: Extern, value: Value) -> None:
    """What a library made becomes one of a class of the tree, which is derived from the library's."""
    foreign: dict[str, Value] = state(m).setdefault("reclassed foreign", {})
    m.journal.set(foreign, obj.what, value)


def foreign_attribute(m: Machine, obj: Extern, name: str, span: Span) -> Value | None:
    """What the class that an object was made one of has instead of the library's; None where it is the library's."""
    cls = state(m).get("reclassed foreign", {}).get(obj.what)
    if isinstance(cls, Unknown):
        return cls
    if not isinstance(cls, ClassInst):
        return None
    from cutecheck.source.dsl.classes import bind, find

    found, owner = find(cls, name), cast("Any", obj)
    return bind(m, found, owner, cls, span) if found is not None else None


def reclass(m: Machine, obj: Object, value: Value, span: Span) -> None:
    known: dict[int, _Cell] = state(m).setdefault("reclassed", {})
    cell = known.get(id(obj))
    if cell is None or cell.of is not obj:
        cell = known[id(obj)] = _Cell(m, obj, span)
    m.journal.set(cell, NAME, value if value is not None else Unknown("a class that is not known", span))
    from cutecheck.source.dsl.classes import MERGED

    for other in m.functions.get(MERGED, {}).get(id(obj), ())[1:]:  # it may be any of these
        if other.cls is not value:
            reclass(m, other, Unknown("the class of an object that may be another", span), span)


__all__ = ["NAME", "foreign_attribute", "reclass", "reclass_foreign"]
