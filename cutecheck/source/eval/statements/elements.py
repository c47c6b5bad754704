"""Assignments to elements of tuples: ``get<1>(shape) = n``."""

from __future__ import annotations

from typing import cast

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import ANY
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import ir, losses, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import Intrinsic, Scalar, Value, constant


def write(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> bool:
    """Write a number to a run-time element of a tuple that one variable holds; False where it is anything else."""
    path: list[int] = []
    while isinstance(target, ir.Call):
        fn = m.eval(target.fn, env) if isinstance(target.fn, (ir.Name, ir.Scoped)) else None
        if not isinstance(fn, Intrinsic) or fn.name != "get" or fn.self_ is not None or len(target.args) != 1:
            return False
        indices = [constant(getattr(t, "value", t) if not isinstance(t, Scalar) else t) for t in fn.targs or ()]
        if not indices or None in indices:
            return False
        path = [*cast("list[int]", indices), *path]
        target = target.args[0].value
    if not path or not places.quiet(target):
        return False
    cells = places.again(m, target, env)
    number = some(m, "element", ANY, True) if isinstance(value, Unknown) else m.dialect.to_model(value)
    if cells is None or len(cells) != 1 or not isinstance(number, Dyn):
        return False
    losses.lost_leaked(m, span)  # the element may be a reference
    changed = _with(places.held(m, *cells[0]), path, number)
    if changed is None:
        return False
    places.store(m, *cells[0], changed, span)
    return True


def _with(whole: Value, path: list[int], number: Dyn) -> Value | None:
    if not path:  # what is static of a tuple nothing changes
        return number if isinstance(whole, Dyn) else None
    first, *rest = path
    if not isinstance(whole, tuple) or type(whole) is Elements or not 0 <= first < len(whole):
        return None
    part = _with(whole[first], rest, number)
    return None if part is None else (*whole[:first], part, *whole[first + 1 :])
