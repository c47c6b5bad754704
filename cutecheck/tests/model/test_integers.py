"""Conversions between integer types, of numbers that are known as far as a variable goes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.integers import converted, wrapped
from cutecheck.model.ints import Dyn, as_expr


@given(st.integers(1, 1 << 31), st.integers(0, 64), st.integers(0, 1))
def test_what_was_negative_before_it_was_unsigned_is_so_again(below: int, other: int, chosen: int) -> None:
    """``int x = c ? -8 : threadIdx.x``: both are unsigned on the way, as values of one number or a choice of two."""
    high = wrapped(-below, "unsigned")
    values = ex.var("j", Domain(values=tuple(sorted({other, high}))))
    hull = ex.var("j", Domain(0, max(other, high)))
    s, t = ex.var("s", Domain(0, 1)), ex.var("threadIdx.x", Domain(0, 64))
    choice = ex.add(ex.add(ex.mul(s, t), ex.mul(s, ex.const(-high))), ex.const(high))  # s ? t : high
    expected = other if chosen else -below
    for made in (values, hull, choice):
        found = as_expr(converted(Dyn(made), "unsigned", "int"))
        number = other if chosen else high
        assert found.evaluate({"j": number, "s": chosen, "threadIdx.x": other}) == expected


def test_numbers_that_fit_stay_as_they_are() -> None:
    for made in (ex.var("n", Domain(0, 1023)), ex.mul(ex.var("n", Domain(0, 1 << 20)), ex.const(4096))):
        assert converted(Dyn(made), "unsigned", "int") == Dyn(made)
