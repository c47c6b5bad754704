"""Basis strides ``E<i...>`` and the underscore ``_``."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from cutecheck.model.ints import CuteError, Dyn, Int, NotModelledError, Sym, div
from cutecheck.records import record


class Underscore:
    """CuTe's ``_``: keep this mode. One instance, :data:`X`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"

    def __reduce__(self) -> str:
        return "X"


X = Underscore()


def whole(value: Fraction) -> Int:
    """A fraction as the value of a basis stride: an integer where it is one.

    Integers are all that the algebra computes with; a fraction only passes through it, multiplied by static integers.
    """
    return value.numerator if value.denominator == 1 else cast(Int, value)


@record(frozen=True, slots=True)
class ScaledBasis:
    """``value * E<path...>``, a stride into a coordinate (``cute/numeric/arithmetic_tuple.hpp``).

    ``path`` is in template order, outermost mode first; CuTe prints it innermost first:
    ``E<1,0>`` is ``_1@0@1``. The value is a fraction in the coordinates of a TMA descriptor whose elements are wider
    than the tensor's.
    """

    value: Int
    path: tuple[int, ...]

    def __mul__(self, other: Int) -> ScaledBasis:
        if not isinstance(other, (int, Dyn, Sym)):
            raise CuteError("no product of a basis element with this operand", self, other)
        if isinstance(self.value, Fraction):
            if isinstance(other, Dyn):  # the product is an integer: `c * R<n,d>` is `c * n / d`
                return ScaledBasis(div(other * self.value.numerator, self.value.denominator), self.path)
            if not isinstance(other, int):
                raise NotModelledError("an open static coordinate in a mode that steps by a fraction")
            return ScaledBasis(whole(self.value * other), self.path)
        return ScaledBasis(self.value * other, self.path)

    def __rmul__(self, other: Int) -> ScaledBasis:
        return self.__mul__(other)

    def __str__(self) -> str:
        from cutecheck.model.layout import text

        return text(self)
