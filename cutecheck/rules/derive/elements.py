"""Single elements of shared memory that threads store and others read: partial sums of warps, a block's result."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import cast

from cutecheck.facts import ELEMENT_READ, ELEMENT_STORED, Call, Loop, TensorFact, Unknown
from cutecheck.facts.core import BARRIER, UNSEEN
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
_NAMED = "mbarrier.named"
_HOLDS_NONE = ("mbarrier.init", "mbarrier.escapes")


@dataclass(slots=True)
class _Kernel:
    """The elements of each buffer that a kernel stores and reads, and when its threads are held, or may be."""

    stored: dict[str, list[Call]] = field(default_factory=dict)
    read: dict[str, list[Call]] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)
    met: dict[Loop, list[int]] = field(default_factory=dict)  # the barriers of the block in each loop
    blurred: set[Loop] = field(default_factory=set)  # other steps in it may hold threads


def is_element(call: Call) -> bool:
    return _is(call, ELEMENT_READ) or _is(call, ELEMENT_STORED)


def is_stored(call: Call) -> bool:
    return _is(call, ELEMENT_STORED)


def unheld_element(call: Call, context: Context) -> tuple[Call, bool] | None:
    """What threads of other warps have done with an element that is read or stored here, with no barrier since.

    Of a read what stored it, of a store what read it; and whether that was in the pass before of a loop around both.
    """
    threads = _threads(call, context)
    kernel = _kernels(context).get((call.kernel, call.arch))
    if threads is None or threads <= _WARP or kernel is None:
        return None
    stores = is_stored(call)
    others = (kernel.read if stores else kernel.stored).get(_tensor(call).buffer or "", [])
    at = bisect_left(kernel.held, call.order)
    since = kernel.held[at - 1] if at else -1
    for other in reversed(others):
        if since < other.order < call.order and _alike(other, call) and _crosses(other, call, threads):
            return other, False
    for other in others:
        around = [x for x in call.loops if x in other.loops and _goes_on(kernel, x, other, call)]
        if around and _alike(other, call) and not _moves(other) and not _moves(call) and _crosses(other, call, threads):
            return other, True
    return None


def _goes_on(kernel: _Kernel, loop: Loop, first: Call, then: Call) -> bool:
    """Threads go from one pass of a loop to the next without being held after ``first`` or before ``then``.

    All of them go through it alike, as they come to a barrier in it.
    """
    met = kernel.met.get(loop, [])
    passes = loop.trips is None or loop.trips > 1
    return passes and bool(met) and loop not in kernel.blurred and all(then.order < b < first.order for b in met)


def _tensor(call: Call) -> TensorFact:
    return cast("TensorFact", call.arguments[0])


def _alike(first: Call, then: Call) -> bool:
    """Both mean elements of one array, and are no two ways of one condition."""
    a, b = _tensor(first), _tensor(then)
    if a.dtype != b.dtype or a.root_layout != b.root_layout:
        return False
    if any(x.span == y.span and x.negated != y.negated for x in first.guards for y in then.guards):
        return False
    read, store = (first, then) if _is(first, ELEMENT_READ) else (then, first)
    return not any(x.trips is None for x in read.loops if x not in store.loops)  # which threads go through it?


def _moves(call: Call) -> bool:
    """The element may be another in the next pass of a loop."""
    return any(v.name != THREAD for v in _expr(call).variables())


def _crosses(first: Call, then: Call, threads: int) -> bool:
    """Threads of other warps mean an element that is stored; or one thread of a condition stores it, and all read it.

    A warp that has stored an element itself reads its own. A variable of both is the same number for both.
    """
    if threads > LARGEST_BLOCK or open_to_some(inner((*first.guards, *then.guards))):
        return False
    ranges = _ranges(first, then)
    if ranges is None:
        return False
    read, store = (first, then) if _is(first, ELEMENT_READ) else (then, first)
    conditions = [{g.text for g in call.guards} for call in (read, store)]
    alone = read is then and not _expr(store).variables() and conditions[0] < conditions[1]
    shared = {v.name for v in _expr(first).variables()} & {v.name for v in _expr(then).variables()}
    for same in _all({name: values for name, values in ranges.items() if name in shared}):
        still = {**ranges, **{name: range(value, value + 1) for name, value in same.items()}}
        used, written = _places(read, threads, still), _places(store, threads, still)
        if used is None or written is None:
            return False
        owners: dict[int, set[int]] = {}
        for thread, places in written.items():
            for place in places:
                owners.setdefault(place, set()).add(thread // _WARP)
        if any(
            place in owners and (thread // _WARP not in owners[place] or alone)
            for thread, places in used.items()
            for place in places
        ):
            return True
    return False


def _ranges(*calls: Call) -> dict[str, range] | None:
    """The values of all variables but the thread's index; None where they are not known, or too many.

    Of a loop whose end is not known the first pass counts.
    """
    found: dict[str, range] = {}
    for v in (v for call in calls for v in _expr(call).variables() if v.name != THREAD):
        lo, hi = v.domain.bounds()
        if lo is None or v.name.startswith(("blockIdx.", "threadIdx.")) or per_thread(v.name):
            return None
        found[v.name] = range(lo, (lo if hi is None else hi) + 1)
    return found if prod(map(len, found.values())) <= _MOST else None


def _places(call: Call, threads: int, ranges: dict[str, range]) -> dict[int, set[int]] | None:
    """The elements of each thread that comes; None where they are not numbers."""
    offset = _expr(call)
    own = {v.name: ranges[v.name] for v in offset.variables() if v.name != THREAD}
    try:
        return {
            t: {offset.evaluate({THREAD: t, **values}) for values in _all(own)}
            for t in might(inner(call.guards), threads)
        }
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _all(ranges: dict[str, range]) -> Iterator[dict[str, int]]:
    return (dict(zip(ranges, values, strict=True)) for values in product(*ranges.values()))


def _expr(call: Call) -> Expr:
    return as_expr(_tensor(call).offset)  # type: ignore[arg-type]


def _threads(call: Call, context: Context) -> int | None:
    """Threads of the kernel's block, where all its launches say the same."""
    sizes = {x.block_threads for x in context.index.launches_of.get(call.kernel, []) if x.arch == call.arch}
    found = {None if s is None else known_value(s) for s in sizes}
    return next(iter(found)) if len(found) == 1 else None


def _kernels(context: Context) -> dict[tuple[str, str], _Kernel]:
    if "elements" not in context.memo:
        found: dict[tuple[str, str], _Kernel] = {}
        for call in sorted(context.facts.calls, key=lambda c: c.order):
            kernel = found.setdefault((call.kernel, call.arch), _Kernel())
            if is_element(call):
                tensor = _tensor(call)
                if isinstance(tensor.root_layout, Layout | None) and not isinstance(tensor.offset, (Unknown, tuple)):
                    done = kernel.stored if _is(call, ELEMENT_STORED) else kernel.read
                    done.setdefault(tensor.buffer or "", []).append(call)
            elif _is(call, UNSEEN) or (_is(call, BARRIER) and call.function not in _HOLDS_NONE):
                kernel.held.append(call.order)
                if call.function != _NAMED:  # it is among the barriers
                    kernel.blurred.update(call.loops)
        for (_, arch), kernel in found.items():
            kernel.held = sorted({*kernel.held, *order(context).barriers.get(arch, [])})
            for x in {
                loop for calls in (*kernel.stored.values(), *kernel.read.values()) for c in calls for loop in c.loops
            }:
                kernel.met[x] = order(context).looped.get((arch, x), [])
        context.memo["elements"] = found
    return cast("dict[tuple[str, str], _Kernel]", context.memo["elements"])


def _is(call: Call, reason: str) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason == reason
