"""Basis strides ``E<i...>`` and the underscore ``_``."""

from __future__ import annotations

from dataclasses import dataclass

from cutecheck.model.ints import Int


class Underscore:
    """CuTe's ``_``: keep this mode. One instance, :data:`X`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


X = Underscore()


@dataclass(frozen=True, slots=True)
class ScaledBasis:
    """``value * E<path...>``, printed ``_1@0@1`` (innermost index first): a stride into a coordinate."""

    value: Int
    path: tuple[int, ...]
