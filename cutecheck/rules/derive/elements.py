"""Single elements of shared memory that threads store and others read: partial sums of warps, a block's result."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import cast

from cutecheck.facts import ELEMENT_READ, ELEMENT_STORED, Call, TensorFact, Unknown
from cutecheck.facts.core import BARRIER
from cutecheck.model.expr import Expr
from cutecheck.model.ints import as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import might, open_to_some
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.uses import order

_MOST = 256  # values of the other variables of an index, together
_WARP = 32
_HOLDS_NONE = ("mbarrier.init", "mbarrier.escapes")


def is_read(call: Call) -> bool:
    return _is(call, ELEMENT_READ)


def unheld_element(read: Call, context: Context) -> Call | None:
    """A store of what threads of other warps then read, with no barrier since."""
    threads = _threads(read, context)
    at = read.kernel, read.arch
    if threads is None or threads <= _WARP:
        return None
    tensor, unseen = _tensor(read), cast("int", dict(read.keywords).get("unseen", -1))
    barriers = [*order(context).barriers.get(read.arch, []), *_holding(context).get(at, [])]
    for store in reversed(_stores(context).get((*at, tensor.buffer or ""), [])):
        if store.order > read.order or store.order <= unseen or any(store.order < b < read.order for b in barriers):
            continue
        if any(x.span == y.span and x.negated != y.negated for x in store.guards for y in read.guards):
            continue
        if any(loop.trips is None for loop in read.loops if loop not in store.loops):
            continue  # which threads go through it is not known
        mine = _tensor(store)
        if mine.dtype == tensor.dtype and mine.root_layout == tensor.root_layout and _crosses(store, read, threads):
            return store
    return None


def _tensor(call: Call) -> TensorFact:
    return cast("TensorFact", call.arguments[0])


def _crosses(store: Call, read: Call, threads: int) -> bool:
    """An element that only other warps store is read; or one thread of a condition stores it, and all read it."""
    written, used = _places(store, threads), _places(read, threads)
    if written is None or used is None or open_to_some(inner((*store.guards, *read.guards))):
        return False
    owners: dict[int, set[int]] = {}
    for thread, places in written.items():
        for place in places:
            owners.setdefault(place, set()).add(thread // _WARP)
    alone = _one(_tensor(store)) and {g.text for g in read.guards} < {g.text for g in store.guards}
    return any(
        place in owners and (thread // _WARP not in owners[place] or alone)
        for thread, places in used.items()
        for place in places
    )


def _one(tensor: TensorFact) -> bool:
    """All threads mean the same element."""
    return isinstance(tensor.offset, int) or not _expr(tensor).variables()


def _places(call: Call, threads: int) -> dict[int, set[int]] | None:
    """The elements of each thread that comes, for all values of other variables; None where they are not numbers.

    Of a loop whose end is not known the first pass counts.
    """
    offset = _expr(_tensor(call))
    others = [v for v in offset.variables() if v.name != THREAD]
    ranges: list[range] = []
    for v in others:
        lo, hi = v.domain.bounds()
        if lo is None or v.name.startswith(("blockIdx.", "threadIdx.")) or per_thread(v.name):
            return None
        ranges.append(range(lo, (lo if hi is None else hi) + 1))
    total = 1
    for r in ranges:
        total *= len(r)
    if total > _MOST or threads > LARGEST_BLOCK:
        return None
    try:
        return {
            t: {
                offset.evaluate({THREAD: t, **dict(zip((v.name for v in others), at, strict=True))})
                for at in _all(ranges)
            }
            for t in might(inner(call.guards), threads)
        }
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _all(ranges: list[range]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*ranges)


def _expr(tensor: TensorFact) -> Expr:
    return as_expr(tensor.offset)  # type: ignore[arg-type]


def _threads(call: Call, context: Context) -> int | None:
    """Threads of the kernel's block, where all its launches say the same."""
    sizes = {x.block_threads for x in context.index.launches_of.get(call.kernel, []) if x.arch == call.arch}
    found = {None if s is None else known_value(s) for s in sizes}
    return next(iter(found)) if len(found) == 1 else None


def _holding(context: Context) -> dict[tuple[str, str], list[int]]:
    """When steps at barriers in shared memory are reached in a kernel."""
    if "element holds" not in context.memo:
        found: dict[tuple[str, str], list[int]] = {}
        for call in context.facts.calls:
            if _is(call, BARRIER) and call.function not in _HOLDS_NONE:
                found.setdefault((call.kernel, call.arch), []).append(call.order)
        context.memo["element holds"] = found
    return cast("dict[tuple[str, str], list[int]]", context.memo["element holds"])


def _is(call: Call, reason: str) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason == reason


def _stores(context: Context) -> dict[tuple[str, str, str], list[Call]]:
    if "element stores" not in context.memo:
        found: dict[tuple[str, str, str], list[Call]] = {}
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            if _is(call, ELEMENT_STORED):
                tensor = _tensor(call)
                if isinstance(tensor.root_layout, Layout | None) and not isinstance(tensor.offset, (Unknown, tuple)):
                    found.setdefault((call.kernel, call.arch, tensor.buffer or ""), []).append(call)
        context.memo["element stores"] = found
    return cast("dict[tuple[str, str, str], list[Call]]", context.memo["element stores"])
