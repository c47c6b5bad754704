"""Frozen dataclasses that cost little to define.

``dataclasses.dataclass(frozen=True, slots=True)`` compiles seven functions a class, and a run that looks at one changed
file spends more time on that than on the file. Here ``__init__`` alone is compiled, and the rest is shared. The type
checker takes a record for a frozen dataclass and refuses assignments; nothing does when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type], type]:
        """As ``dataclass`` of these arguments, but for the guard against assignments."""
        assert frozen and slots
        return lambda kind: _made(kind, eq)


def _made(kind: type[Any], eq: bool) -> type[Any]:
    own = vars(kind)
    if not own.get("__doc__"):
        kind.__doc__ = kind.__name__  # else the signature is worked out for it
    made: type[Any] = dataclass(slots=True, repr=False, eq=False)(kind)
    if "__repr__" not in own:
        made.__repr__ = _shown  # type: ignore[assignment]
    if eq:
        if "__eq__" not in own:
            made.__eq__ = _equal(_parts([f.name for f in fields(made) if f.compare]))  # type: ignore[assignment]
        if own.get("__hash__") is None:  # also where an own `__eq__` has taken it away
            made.__hash__ = _hashed(  # type: ignore[assignment]
                _parts([f.name for f in fields(made) if (f.compare if f.hash is None else f.hash)])
            )
    return made


def _parts(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda value: ()


def _equal(parts: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def equal(self: Any, other: Any) -> Any:
        if other is self:
            return True
        return parts(self) == parts(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashed(parts: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(parts(self))


@recursive_repr()
def _shown(self: Any) -> str:
    parts = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({parts})"


_FIELDS: dict[type[Any], tuple[str, ...]] = {}


def field_names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass, in order; none for any other class."""
    known = _FIELDS.get(kind)
    if known is None:
        known = _FIELDS[kind] = tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()
    return known


__all__ = ["field_names", "record"]
