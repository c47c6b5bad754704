"""Numbers of a type's own: ``Stride<int64_t, _1>{}`` is ``(0,_1)`` where a constant is computed with it.

A tuple type has a variable for each run-time number, named after its type; a value of the type gets variables of its
own where it is a parameter or a member. What a constant expression says of the type's variables is said of ``T{}``.
"""

from __future__ import annotations

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.integers import INTEGERS
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.values import Scalar, Value

_COMPARED = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
}  # fmt: skip


def settled(value: Value) -> Value:
    """A number of a constant expression, with 0 for each of a type's own; itself where it hangs on another."""
    number = value.value if isinstance(value, Scalar) else value
    if not isinstance(number, Dyn) or number.value is not None:
        return value
    found = _at_zero(number.expr)
    if found is None:
        return value
    return Scalar(found, value.ctype) if isinstance(value, Scalar) else Dyn.of(found)


def _at_zero(e: Expr) -> int | None:
    total = 0
    for monomial, factor in e.terms:
        for atom in monomial:
            part = _of_type(atom) if isinstance(atom, Var) else _operated(atom) if isinstance(atom, Op) else None
            if part is None:
                return None
            factor *= part
        total += factor
    return total


def _of_type(v: Var) -> int | None:
    kind, mark, number = v.name.partition("#")
    return 0 if mark and kind in INTEGERS and number.isdecimal() else None


def _operated(at: Op) -> int | None:
    args = [_at_zero(a) for a in at.args]
    known = [a for a in args if a is not None]
    if len(known) != len(args):
        return None
    if at.kind == "opaque":
        compare = _COMPARED.get(at.label)
        return None if compare is None or len(known) != 2 else int(compare(*known))
    try:
        return ex.op(at.kind, *map(ex.const, known)).constant
    except (ZeroDivisionError, ValueError):
        return None
