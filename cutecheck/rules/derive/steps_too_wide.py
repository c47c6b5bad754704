"""Loops that begin at the thread's index and go on by more elements than the block's threads store in a pass."""

from __future__ import annotations

from math import prod
from typing import cast

from cutecheck.facts import ELEMENT_STORED, Call, TensorFact, Unknown
from cutecheck.facts.core import GUARDED, STORED
from cutecheck.model.expr import Var
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.prove.properties import THREAD
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.elements import block_of
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import who
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.protocol import cut_short

_COUNTER = "iteration#"
_KINDS = (ELEMENT_STORED, GUARDED, STORED)
_MOST = 1 << 16


@record(frozen=True, slots=True)
class Left:
    """Elements from ``first`` to ``last`` of each ``step`` are stored by no thread of the block's ``threads``."""

    step: int
    threads: int
    first: int
    last: int


def left_out(call: Call, context: Context) -> Left | None:
    """What a loop of single stores leaves out: of the first of the stores to a tensor, by all of them together."""
    threads = block_of(call, context)
    if not _is_store(call) or threads is None or threads > LARGEST_BLOCK or cut_short(context, call):
        return None
    tensor = cast("TensorFact", call.arguments[0])
    mine = [c for c in _stores(context).get((call.kernel, call.arch), []) if _of(c) == tensor.buffer]
    events = [e for e in context.facts.events if (e.kernel, e.arch) == (call.kernel, call.arch)]
    copied = any(t.buffer == tensor.buffer for e in events for t in e.operands[-1:])
    if not tensor.buffer or mine[0] is not call or copied:
        return None
    covered: set[int] = set()
    steps = set[int]()
    for one in mine:
        part = _residues(one, threads)
        if part is None:
            return None
        steps.add(part[0])
        covered |= part[1]
    step = next(iter(steps))
    missing = sorted(set(range(step)) - covered)
    if len(steps) != 1 or not missing:
        return None
    last = next((a for a, b in zip(missing, [*missing[1:], step + 1], strict=True) if b != a + 1), missing[-1])
    return Left(step, threads, missing[0], last)


def _is_store(call: Call) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason in _KINDS and bool(call.arguments)


def _of(call: Call) -> str | None:
    return cast("TensorFact", call.arguments[0]).buffer


def _stores(context: Context) -> dict[tuple[str, str], list[Call]]:
    if "stores of elements" not in context.memo:
        found: dict[tuple[str, str], list[Call]] = {}
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            if _is_store(call):
                found.setdefault((call.kernel, call.arch), []).append(call)
        context.memo["stores of elements"] = found
    return cast("dict[tuple[str, str], list[Call]]", context.memo["stores of elements"])


def _residues(call: Call, threads: int) -> tuple[int, set[int]] | None:
    """The step of the loop, and what is stored in a pass, modulo it; None where more than that decides.

    A thread stores as many elements side by side as it is from the next one: it may store a vector.
    """
    tensor = cast("TensorFact", call.arguments[0])
    come = who(inner(call.guards), threads)
    if come is None or not isinstance(tensor.offset, (int, Dyn)):
        return None
    thread = step = start = 0
    more: list[range] = []
    apart: list[int] = []  # blocks, or numbers of the kernel's, that may begin elsewhere
    for factors, many in as_expr(tensor.offset).terms:
        if not factors:
            start = many
            continue
        if not all(isinstance(f, Var) for f in factors):
            return None
        only = cast("Var", factors[0])
        if len(factors) > 1 or ("#" not in only.name and only.name != THREAD):
            if any(cast("Var", f).name == THREAD or "#" in cast("Var", f).name for f in factors):
                return None
            if len(factors) == 1:
                apart.append(many)
            continue  # rows of a matrix
        lo, hi = only.domain.bounds()
        if only.name == THREAD:
            thread = many
        elif only.name.startswith(_COUNTER):
            if step or lo != 0:
                return None
            step = many
        elif lo is None or hi is None or hi - lo > LARGEST_BLOCK:
            return None
        else:
            more.append(range(lo * many, hi * many + 1, max(1, many)) if many > 0 else range(0))
    if thread < 1 or step <= thread or any(not len(r) for r in more):
        return None
    if any(a % step for a in apart):
        return None
    width = min([thread, *(r.step for r in more)])
    if max(step, len(come) * width * prod(map(len, more))) > _MOST:
        return None
    found = {start + thread * t for t in come}
    for values in more:
        found = {a + b for a in found for b in values}
    return step, {(a + side) % step for a in found for side in range(width)}


__all__ = ["Left", "left_out"]
