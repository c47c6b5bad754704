"""CuTe's static fractions ``R<n,d>``: ``sizeof_bits`` of a sparse element may be one (numeric/integral_ratio.hpp)."""

from __future__ import annotations

from fractions import Fraction

from cutecheck.facts import Span, Unknown
from cutecheck.model.basis import whole
from cutecheck.source.eval.values import Scalar, Value


def combined(op: str, left: Value, right: Value, span: Span) -> Value:
    """A product of a fraction and a static number is one, or a number; of a run-time number it is cut off to one."""
    ratio, other = (left, right) if isinstance(left, Fraction) else (right, left)
    if op == "/" and isinstance(right, Fraction) and not isinstance(left, Fraction) and right:
        op, ratio = "*", 1 / right
    if op == "*" and isinstance(ratio, Fraction):
        if isinstance(other, (int, Fraction)):
            return whole(ratio * other)
        if isinstance(other, Scalar) and isinstance(other.value, int):
            number = other.value * ratio.numerator
            cut = abs(number) // ratio.denominator
            return Scalar(cut if number >= 0 else -cut, other.ctype)
    return Unknown(f"operator {op} of a static fraction", span)
