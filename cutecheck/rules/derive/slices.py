"""Threads of a copy that does not start at the block's first thread: ``get_slice(threadIdx.x - 128)``."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.expr.terms import Op
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
    thread = ex.var(THREAD, _domain(index))
    first = ex.sub(thread, index).constant
    if first is None:  # `(threadIdx.x - 128) % 128`, of warpgroups from the second on
        inner = [a.args[0] for m, _ in index.terms for a in m if isinstance(a, Op) and a.kind == "mod"]
        starts = {ex.sub(thread, e).constant for e in inner}
        first = next((n for n in starts if n and _begins(index, n)), None)
    if first is None or first % 32:
        return f"which threads take the slices `{index}` is not known"
    return first


def _begins(index: Expr, first: int) -> bool:
    """Whether an index is 0 at this thread, and none before 0 from there on."""
    moved = shifted(index, first)
    return moved.substitute({THREAD: ex.const(0)}).constant == 0 and (ex.bounds(moved)[0] or 0) >= 0


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
