"""Canonical integer expressions over named variables.

An :class:`Expr` is a sum of monomials with integer coefficients. The factors of a
monomial are variables, or operations that are not polynomial (truncating division,
remainder, bit operations, minimum, maximum). Two expressions that are equal as
polynomials over the same atoms compare equal, so a CuTe layout with symbolic extents
can be compared structurally.

Division and remainder follow C++: they truncate towards zero.
"""

from cutecheck.model.expr.arithmetic import add, atom_expr, const, mul, neg, op, sub, var
from cutecheck.model.expr.ranges import Interval, at_least, bounds, divisor
from cutecheck.model.expr.terms import ANY, NATURAL, Atom, Domain, Expr, Monomial, Op, OpKind, Var, trunc_div, trunc_mod

__all__ = [
    "ANY", "NATURAL", "Atom", "Domain", "Expr", "Interval", "Monomial", "Op", "OpKind", "Var", "add", "at_least",
    "atom_expr", "bounds", "const", "divisor", "mul", "neg", "op", "sub", "trunc_div", "trunc_mod", "var",
]  # fmt: skip
