"""TMA stores, by copies of tensors and by instructions of their own name, and what threads write where they read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from cutecheck.facts import ELEMENT_STORED, Call, Event, TensorFact, Unknown
from cutecheck.facts.core import BULK_STORE
from cutecheck.model.expr import Expr
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.targets import atom_of_event, stores_by_tma
from cutecheck.rules.derive.uses import Use, exclusive, order, uses_of


@record(frozen=True, slots=True)
class Store:
    """A TMA store: the buffer that it reads, from a byte on to another (the next one where its size is not known)."""

    at: Event | Call
    name: str
    buffer: str
    first: int
    last: int


@record(frozen=True, slots=True)
class Written:
    """What threads write of a buffer, a copy's tensor or single elements."""

    at: Event | Call
    first: int
    last: int


def store_of(at: Event | Call) -> Store | None:
    """The store that an event or call is, where it is known what it reads."""
    if isinstance(at, Event):
        if not stores_by_tma(at):
            return None
        use = next((u for u in uses_of(at) if not u.written), None)
        return None if use is None else Store(at, use.tensor.name, use.tensor.buffer or "", use.first, use.last)
    if not isinstance(at.result, Unknown) or at.result.reason != BULK_STORE:
        return None
    buffer, begin = at.subject.partition("|")[2], at.arguments[0]
    if not isinstance(begin, (int, Dyn, Sym)):
        return None
    expr = as_expr(begin)
    try:
        first = expr.evaluate({v.name: 0 for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    size = known_value(at.arguments[1]) if isinstance(at.arguments[1], (int, Dyn, Sym)) else None
    return Store(at, buffer.rpartition("::")[2].rpartition(".")[2], buffer, first, first + max(size or 1, 1))


def written_before(store: Store, context: Context) -> Iterator[Written]:
    """What threads wrote there before, in the same kernel, as it is reached."""
    key = (store.at.kernel or store.at.enclosing, store.at.arch, store.buffer)
    for one in _written(context).get(key, []):
        there = one.first < store.last and store.first < one.last
        if there and one.at.order < store.at.order and not exclusive(one.at, store.at):
            yield one


def _written(context: Context) -> dict[tuple[str, str, str], list[Written]]:
    if "written by threads" not in context.memo:
        found: dict[tuple[str, str, str], list[Written]] = {}
        for (_, arch, buffer), uses in order(context).uses.items():
            for u in uses:
                if _by_threads(u):
                    key = (u.event.kernel or u.event.enclosing, arch, buffer)
                    found.setdefault(key, []).append(Written(u.event, u.first, u.last))
        for call in context.facts.calls:
            one = _element(call)
            if one is not None:
                tensor = cast("TensorFact", call.arguments[0])
                key = (call.kernel or call.enclosing, call.arch, tensor.buffer or "")
                found.setdefault(key, []).append(one)
        for mine in found.values():
            mine.sort(key=lambda w: w.at.order)
        context.memo["written by threads"] = found
    return cast("dict[tuple[str, str, str], list[Written]]", context.memo["written by threads"])


def _by_threads(use: Use) -> bool:
    atom = atom_of_event(use.event)
    return use.written and not (atom is not None and ("TMA" in atom.op or "BULK" in atom.op))


def _element(call: Call) -> Written | None:
    """A single element that each thread stores, where it is known between which bytes."""
    if not isinstance(call.result, Unknown) or call.result.reason != ELEMENT_STORED:
        return None
    tensor = cast("TensorFact", call.arguments[0])
    if tensor.dtype is None or not tensor.dtype.bits or not isinstance(tensor.offset, (int, Dyn, Sym)):
        return None
    offset, bits = as_expr(tensor.offset), int(tensor.dtype.bits)
    lo, hi = bounds(offset)
    if hi is None:
        lo = hi = _first(offset)  # `for (int i = threadIdx.x; i < size(s); i += blockDim.x)`: nothing says how far
    return None if lo is None or hi is None else Written(call, lo * bits // 8, (hi + 1) * bits // 8)


def _first(offset: Expr) -> int | None:
    """The element of the first thread in the first pass of all loops."""
    least = {v.name: v.domain.bounds()[0] for v in offset.variables()}
    try:
        return offset.evaluate({name: lo for name, lo in least.items() if lo is not None})
    except (KeyError, ZeroDivisionError, ValueError):
        return None


__all__ = ["Store", "Written", "store_of", "written_before"]
