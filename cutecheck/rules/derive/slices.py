"""Threads of a copy that does not start at the block's first thread: ``get_slice(threadIdx.x - 128)``."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.integers import converted
from cutecheck.model.ints import Condition, Dyn, as_expr
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.derive.vectors import Plain


def first_thread(tensor: TensorFact) -> int | str:
    """The thread whose slice is the first: of ``threadIdx.x - 128`` thread 128. A text where that cannot be told."""
    if tensor.thread is None:
        return 0
    index = as_expr(converted(tensor.thread, "unsigned", "int"))  # threads before the first have no slice
    lowest = ex.bounds(index)[0]
    if lowest is not None and lowest >= 0:
        return 0
    first = ex.sub(ex.var(THREAD, _domain(index)), index).constant
    if first is None or first % 32:
        return f"which threads take the slices `{index}` is not known"
    return first


def _domain(index: Expr) -> Domain:
    return next((v.domain for v in index.variables() if v.name == THREAD), Domain(0))


def shifted(value: Expr, first: int) -> Expr:
    """The expression with threads counted from ``first``."""
    thread = ex.var(THREAD, Domain(0))
    return value.substitute({THREAD: ex.add(thread, ex.const(first))})


def parts_from(parts: Plain, first: int) -> Plain:
    modes = tuple((e, s if isinstance(s, int) else Dyn(shifted(as_expr(s), first))) for e, s in parts.modes)
    return replace(parts, modes=modes, offset=shifted(parts.offset, first))


def counted(condition: Condition, first: int) -> Condition:
    return replace(condition, lhs=shifted(condition.lhs, first), rhs=shifted(condition.rhs, first))
