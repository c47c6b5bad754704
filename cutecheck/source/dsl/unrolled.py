"""Loops of the device that the compiler writes out, pass by pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.model.expr import Domain
from cutecheck.model.identity import once
from cutecheck.source.dsl.values import RunTimeRange
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.values import Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MOST = 16


def passes(m: Machine, iterable: Value, node: ir.Loop) -> list[Value] | None:
    """Of a short loop that is unrolled, where what happens in a pass depends on which it is: the number of each.

    They are run-time numbers, as they are for the DSL: conditions on them are decided, types do not change.
    """
    if not isinstance(iterable, RunTimeRange) or not iterable.unrolled or not isinstance(node.target, ir.Name):
        return None
    limits = (iterable.start, iterable.stop, iterable.step)
    if not all(isinstance(x, int) for x in limits) or iterable.step == 0:
        return None
    items, name = range(*limits), node.target.ident
    if not 2 <= len(items) <= _MOST or not any(name in names_in(c) for c in _conditions(node.body)):
        return None
    return [m.fresh(name, Domain(i, i)) for i in items]


@once
def _conditions(body: ir.Block) -> list[ir.Expr]:
    """The conditions of the statements of a loop's body."""
    found: list[ir.Expr] = []
    stack: list[Any] = [body]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.If):
            found.append(at.cond)
            stack += [at.then, at.other]
        elif isinstance(at, ir.Block):
            stack += at.body
    return found
