"""Static integers of another type than ``int`` (``C<3u>``), which layouts take as the numbers that they are."""

from __future__ import annotations

from cutecheck.model.integers import INTEGERS, canonical, wrapped


class Constant(int):
    """A static integer of another type than ``int`` and ``bool``; equal to one without, and facts say nothing of it."""

    ctype: str

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def constant_of(value: int, ctype: str) -> int:
    """``C<value>{}`` of a constant of a type; what is computed of ``int`` and ``bool`` are plain numbers."""
    name = canonical(ctype)
    if name in ("int", "bool") or name not in INTEGERS:
        return int(value)
    made = Constant(wrapped(int(value), name))
    made.ctype = ctype
    return made


def type_of_constant(value: object) -> str:
    return value.ctype if isinstance(value, Constant) else "int"
