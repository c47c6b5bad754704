"""Expressions as plain Python functions, for evaluation at many points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.expr import Atom, Expr, Op, Var

_OPERATORS = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}


def compiled(expression: Expr, names: tuple[str, ...]) -> Callable[..., int]:
    """A function of the named variables, in this order, with the expression's value.

    KeyError for a variable that is not named, ValueError for opaque operations. Division truncates as in C++.
    """
    arguments = {name: f"v{i}" for i, name in enumerate(names)}
    source = f"lambda {', '.join(arguments.values())}: {_source(expression, arguments)}"
    scope: dict[str, Any] = {"div": ex.trunc_div, "mod": ex.trunc_mod, "min": min, "max": max, "abs": abs}
    scope["__builtins__"] = {}
    # The source holds numbers, operators and the names made above: nothing of the scanned text.
    function: Callable[..., int] = eval(source, scope)
    return function


def _source(e: Expr, arguments: dict[str, str]) -> str:
    parts = []
    for monomial, factor in e.terms:
        factors = [_atom(a, arguments) for a in monomial]
        if factor != 1 or not factors:
            factors.insert(0, f"({factor})")
        parts.append("*".join(factors))
    return f"({' + '.join(parts)})" if parts else "0"


def _atom(atom: Atom, arguments: dict[str, str]) -> str:
    if isinstance(atom, Var):
        return arguments[atom.name]
    return _operation(atom, [_source(a, arguments) for a in atom.args])


def _operation(operation: Op, args: list[str]) -> str:
    kind = operation.kind
    if kind == "opaque":
        raise ValueError(f"an opaque operation has no value: {operation}")
    if kind in ("div", "mod"):
        a, b = operation.args
        positive = ex.bounds(b)[0]
        natural = ex.bounds(a)[0]
        if natural is not None and natural >= 0 and positive is not None and positive > 0:
            return f"({args[0]}{'//' if kind == 'div' else '%'}{args[1]})"
    if kind in _OPERATORS:
        return f"({args[0]}{_OPERATORS[kind]}{args[1]})"
    return f"{kind}({', '.join(args)})"
