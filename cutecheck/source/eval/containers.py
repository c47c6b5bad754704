"""Lists, sets and dictionaries of a program: what they hold is a cell of the journal, as a variable's value is.

A container is one object wherever it is named. What a branch or loop does to it is undone and joined like any other
write; where that leaves open what it holds, it is *lost*: a list holds one :class:`Lost`, a dictionary has the key
``OPEN``, and keys that may be missing have :class:`Lost` as value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from cutecheck.facts import Span, Unknown
from cutecheck.records import record
from cutecheck.source.eval.values import Object, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

Container = list[Value] | dict[Any, Value]


class Lost(Unknown):
    """What stands for the items of a list, or the value of a key, that may not be there."""

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)  # outside of the evaluator it is a reason, no more


class NoValue(Unknown):
    """What a function gives whose type is void, as far as it was walked."""

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)


class Shared(Unknown):
    """One of several containers, which of them is not known: what is written to it may be written to any."""

    among: tuple[Container, ...] = ()

    @staticmethod
    def of(values: Iterable[Value], why: str, span: Span) -> Shared:
        made = Shared(why, span)
        parts = ((v,) if isinstance(v, (list, dict)) else v.among if isinstance(v, Shared) else () for v in values)
        object.__setattr__(made, "among", tuple(c for part in parts for c in part))
        return made

    def __reduce__(self) -> tuple[type[Unknown], tuple[Any, ...]]:
        return Unknown, (self.reason, self.span, self.rejected)


class _Open:
    """The key of a dictionary that may have keys which are not known."""


OPEN = _Open()
HELD = "what it holds"  # the name of the cell
ANY_NAME = "**"  # among the named arguments of a call: there may be others, of any name


@record(frozen=True, slots=True)
class Holding:
    """What a list (``keys`` is None) or dictionary holds.

    ``of``: the items themselves, where ``items`` are copies that outlive an undo.
    """

    items: tuple[Value, ...]
    keys: tuple[Any, ...] | None = None
    of: tuple[Value, ...] = field(default=(), compare=False)

    def restored(self) -> tuple[Value, ...]:
        """The items, each the object that it was unless an undo emptied it."""
        if not self.of:
            return self.items
        return tuple(
            was if isinstance(was, Object) and (was.fields or not now.fields) else now
            for now, was in zip(self.items, self.of, strict=True)
        )


class Contents(dict[Any, Any]):
    """What one container holds, as the journal sees it: a single cell ``HELD`` that is read from the container."""

    __slots__ = ("__weakref__", "logged", "owner")

    def __init__(self, owner: Container) -> None:
        super().__init__()
        self.owner = owner
        self.logged = -1  # where the journal last noted what it held

    def get(self, name: Any, default: Any = None) -> Any:
        return self[name]

    def __getitem__(self, name: Any) -> Holding:
        owner = self.owner
        return Holding(tuple(owner)) if isinstance(owner, list) else Holding(tuple(owner.values()), tuple(owner))

    def __setitem__(self, name: Any, value: Value) -> None:
        owner = self.owner
        if not isinstance(value, Holding):
            _lose(owner, value if isinstance(value, Unknown) else Unknown("what this holds is not known"))
        elif isinstance(owner, list):
            owner[:] = value.restored()
        else:
            owner.clear()
            owner.update(zip(value.keys or (), value.restored(), strict=True))

    def __contains__(self, name: object) -> bool:
        return True

    def pop(self, name: Any, *default: Any) -> Holding:  # a container is never without it
        return self[name]


def _lose(owner: Container, why: Unknown) -> None:
    lost = Lost(why.reason, why.span)
    if isinstance(owner, list):
        owner[:] = [lost]
    else:
        for key in owner:
            owner[key] = lost
        owner[OPEN] = lost


def include(table: dict[Any, Value], more: Value, span: Span) -> None:
    """``{..., **more}``: keys that are not known may be any of those so far."""
    if not isinstance(more, dict) or OPEN in more:
        _lose(table, Unknown("keys that are not known are among these", span))
    if isinstance(more, dict):
        table.update(more)


def changes(m: Machine, container: Container) -> None:
    """To be called before a container is written in place."""
    known: WeakValueDictionary[int, Contents] = m.functions.setdefault("containers", WeakValueDictionary())
    cell = known.get(id(container))
    if cell is None:
        known[id(container)] = cell = Contents(container)
    m.journal.touch(cell, HELD)


Made = TypeVar("Made", bound=Container)


def new(m: Machine, container: Made) -> Made:
    """A container that a program makes where it stands: what an iteration does to its own is of no other."""
    if m.rehearsals:
        m.containers.append(container)  # so that no other has its identity
    return container


def lose(m: Machine, container: Container, why: Unknown) -> None:
    """What the container holds is not known any more."""
    changes(m, container)
    _lose(container, why)


def written(m: Machine, value: Value) -> None:
    """A value that may be a container is written in a way that is not followed."""
    for container in value.among if isinstance(value, Shared) else ():
        lose(m, container, Unknown("it may have been written as another's", value.span))


def unsure(container: Value) -> Unknown | None:
    """Why it is not known how many items a list has, or which keys a dictionary; None where that is known."""
    if isinstance(container, list):
        return container[0] if len(container) == 1 and type(container[0]) is Lost else None
    if isinstance(container, dict):
        return next((v for v in container.values() if type(v) is Lost), None)
    return None


def same_items(a: Holding, b: Holding) -> bool:
    """Whether both have an item for each of the same indices or keys."""
    return a.keys == b.keys and len(a.items) == len(b.items)


def joined(a: Holding, b: Holding, join: Callable[[Value, Value], Value], why: Unknown) -> Value:
    """What may be either of two; ``join`` of two items."""

    def one(x: Holding, i: int, y: Holding, j: int) -> Value:
        was, other = (x.of or x.items)[i], (y.of or y.items)[j]
        return was if was is other else join(x.items[i], y.items[j])

    if same_items(a, b):
        return Holding(tuple(one(a, i, b, i) for i in range(len(a.items))), a.keys)
    if a.keys is None or b.keys is None:
        return why
    at, other = ({k: i for i, k in enumerate(h.keys or ())} for h in (a, b))
    keys = tuple(dict.fromkeys((*a.keys, *b.keys)))
    lost = Lost(why.reason, why.span)
    return Holding(tuple(one(a, at[k], b, other[k]) if k in at and k in other else lost for k in keys), keys)
