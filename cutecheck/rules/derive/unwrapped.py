"""Offsets that a program computes in 32 bits without sign, as the numbers that they are where nothing wraps around."""

from __future__ import annotations

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op

_MASK = (1 << 32) - 1


def unwrapped(e: Expr) -> Expr:
    """The expression without what cuts its terms to 32 bits: of a sum ``x & 0xffffffff`` its ``x``.

    Another number where ``x`` is beyond 32 bits: for what is asked of names and of steps, not of addresses.
    """
    found = Expr(())
    for monomial, factor in e.terms:
        match monomial:
            case (Op(kind="and", args=(inner, mask)),) if mask.constant == _MASK:
                found = ex.add(found, ex.mul(ex.const(factor), unwrapped(inner)))
            case _:
                found = ex.add(found, Expr(((monomial, factor),)))
    return found


__all__ = ["unwrapped"]
