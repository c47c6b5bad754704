"""Expressions as Python functions, for the loops of the residue engine over threads and parameters.

The replay and, for banks and most questions of layouts, brute force keep to ``Expr.evaluate``, which walks the tree at
every call. The GF(2) engine, the second one of most bank accesses, and brute force for alignments, sectors and layouts
in an allocation have ``model.expr_compile``, which shares no code with this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import cast

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op, Var, trunc_div, trunc_mod

_SYMBOLS = {"and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_SPACE: dict[str, object] = {"__builtins__": {}, "div": trunc_div, "mod": trunc_mod, "min": min, "max": max, "abs": abs}


@lru_cache(maxsize=512)
def function_of(e: Expr, names: tuple[str, ...]) -> Callable[..., int]:
    """A function of the named variables in that order; KeyError for any other variable or opaque operation."""
    places = {name: f"a{i}" for i, name in enumerate(names)}
    text = f"lambda {', '.join(places[n] for n in names)}: {_sum(e, places)}"
    return cast("Callable[..., int]", eval(compile(text, "<expression>", "eval"), _SPACE))


def _sum(e: Expr, places: dict[str, str]) -> str:
    terms = ["*".join([str(factor), *(_atom(a, places) for a in monomial)]) for monomial, factor in e.terms]
    return f"({' + '.join(terms)})" if terms else "0"


def _atom(atom: Var | Op, places: dict[str, str]) -> str:
    if isinstance(atom, Var):
        return places[atom.name]
    if atom.kind == "opaque":
        raise KeyError(str(atom))
    args = [_sum(a, places) for a in atom.args]
    if atom.kind in _SYMBOLS:
        return f"({args[0]} {_SYMBOLS[atom.kind]} {args[1]})"
    divisor = atom.args[1].constant if atom.kind in ("div", "mod") else None
    low = ex.bounds(atom.args[0])[0]
    if divisor is not None and divisor > 0 and low is not None and low >= 0:
        return f"({args[0]} {'//' if atom.kind == 'div' else '%'} {args[1]})"
    return f"{atom.kind}({', '.join(args)})"


def table(e: Expr, name: str, values: dict[str, int], count: int) -> list[int]:
    """Values of the expression for ``name`` = 0 .. count - 1, the other variables as given."""
    others = sorted(values)
    names: Sequence[str] = (*others, name)
    function = function_of(e, tuple(names))
    fixed = [values[n] for n in others]
    return [function(*fixed, i) for i in range(count)]
