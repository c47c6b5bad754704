"""Tuples of the program that are told apart from CuTe's own: arrays, braced lists with names, integer sequences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class Elements(tuple[Any, ...]):
    """What a plain array holds: its name alone is a pointer to the first."""

    __slots__ = ()


class Constants(Elements):
    """What a plain array of constants holds: a pointer to one of them is as good as the array."""

    __slots__ = ()


class Held(Elements):
    """What a ``std::array`` holds, which is copied and passed by value."""

    __slots__ = ()


class IntegerSequence(tuple[int, ...]):
    """``integer_sequence<T, Ns...>`` of the standard library or CuTe; no tuple, though CuTe's algorithms take it."""

    ctype: str

    def __new__(cls, numbers: Iterable[int], ctype: str) -> IntegerSequence:
        made = super().__new__(cls, numbers)
        made.ctype = ctype
        return made

    def __getnewargs__(self) -> tuple[tuple[int, ...], str]:
        return tuple(self), self.ctype


class Pair(tuple[Any, ...]):
    """A ``pair``: of two elements, and no tuple for who asks by a specialisation."""

    __slots__ = ()


class Components(tuple[Any, ...]):
    """What a vector type of CUDA (``dim3``) that is given from outside holds: no tuple of CuTe's."""

    __slots__ = ()


class Vector(tuple[Any, ...]):
    """What a vector type of CUDA (``uint2``) that the program fills holds: ``ctype`` names it."""

    ctype: str

    def __new__(cls, parts: Iterable[Any], ctype: str) -> Vector:
        made = super().__new__(cls, parts)
        made.ctype = ctype
        return made

    def __getnewargs__(self) -> tuple[tuple[Any, ...], str]:
        return tuple(self), self.ctype


FIRST_AND_SECOND = ("first", "second")


class Designated(tuple[Any, ...]):
    """A braced list with designators: ``names`` of what each part initialises, "" for none."""

    names: tuple[str, ...] = ()

    @staticmethod
    def of(parts: Iterable[Any], names: Iterable[str]) -> Designated:
        made = Designated(parts)
        made.names = tuple(names)
        return made


def like(whole: tuple[Any, ...], parts: Iterable[Any]) -> tuple[Any, ...]:
    """Other parts of a tuple of the same kind."""
    if isinstance(whole, Designated):
        return Designated.of(parts, whole.names)
    if isinstance(whole, Vector):
        return Vector(parts, whole.ctype)
    if isinstance(whole, (Held, Pair)):
        return type(whole)(parts)
    return type(whole)(parts) if type(whole) in (Elements, Pair, Components) else tuple(parts)


def designators(parts: tuple[Any, ...]) -> list[str | None]:
    """Of a braced list the members that its parts initialise, None for the next one."""
    return [name or None for name in parts.names] if isinstance(parts, Designated) else []
