"""Single elements of shared memory that threads store and others read: partial sums of warps, a block's result."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import cast

from cutecheck.facts import ELEMENT_READ, ELEMENT_STORED, Call, Event, Loop, TensorFact, Unknown
from cutecheck.facts.core import BARRIER, CHUNK, UNSEEN, Guard
from cutecheck.model.expr import Expr, Var, atom_expr, const
from cutecheck.model.ints import Condition, Dyn, Int, Rel, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import of_words
from cutecheck.rules.derive.guards import inner
from cutecheck.rules.derive.lanes import might, open_to_some
from cutecheck.rules.derive.limits import LARGEST_BLOCK
from cutecheck.rules.derive.uses import Use, of_threads, order, places_of

_MOST = 256  # values of the other variables of an index, together
_WARP, _BYTE = 32, 8
_ROW = 16  # bytes
_NAMED = "mbarrier.named"
_COUNTER = "iteration#"  # what counts the passes of a loop that has a counter of its own
_HOLDS_NONE = ("mbarrier.init", "mbarrier.escapes")
_LANES = re.compile(r"shuffle_sync|redux_sync|vote_|match_|sync_warp")
_AND = re.compile(r"\band\b|&&")
_COMPARES = re.compile(r"[<>]=?|[=!]=")
_OTHER = re.compile(r"\b(?:or|not|if|is|in)\b|[|^?!&]")


@dataclass(slots=True)
class _Kernel:
    """What a kernel stores and reads of each buffer, and when its threads are held, or may be."""

    stored: dict[str, list[Access]] = field(default_factory=dict)
    read: dict[str, list[Access]] = field(default_factory=dict)
    held: list[int] = field(default_factory=list)
    met: dict[Loop, list[int]] = field(default_factory=dict)  # the barriers of the block in each loop
    blurred: set[Loop] = field(default_factory=set)  # other steps in it may hold threads

    def of_elements(self, buffer: str) -> bool:
        """Whether any is a single element."""
        return any(a.use is None for a in (*self.stored.get(buffer, []), *self.read.get(buffer, [])))


@record(frozen=True, slots=True)
class Access:
    """An element that each thread reads or stores, or the part that it copies of a tensor."""

    at: Call | Event
    tensor: TensorFact
    stored: bool
    use: Use | None = None  # of a copy

    @property
    def order(self) -> int:
        return self.at.order

    @property
    def size(self) -> int | None:
        """Bytes of one that assembly accesses, whose place counts in bytes."""
        if not isinstance(self.at, Call) or self.at.function != CHUNK or not isinstance(self.tensor.layout, Layout):
            return None
        return known_value(cast("Int", self.tensor.layout.shape))

    def moves(self) -> bool:
        """The place may be another in the next pass of a loop."""
        return any(v.name != THREAD for v in _expr(self.tensor).variables())


def held_orders(at: Call | Event, context: Context) -> list[int]:
    """When the threads of a kernel are held at barriers, or may be: in order."""
    kernel = _kernels(context).get((at.kernel, at.arch))
    return [] if kernel is None else kernel.held


def is_element(call: Call) -> bool:
    return _is(call, ELEMENT_READ) or _is(call, ELEMENT_STORED)


def of_element(call: Call) -> Access:
    return Access(call, cast("TensorFact", call.arguments[0]), _is(call, ELEMENT_STORED))


def of_copy(use: Use) -> Access | None:
    """A copy whose threads access what their parts of the tensor say; None for others, and parts that are not known."""
    event = use.event
    known = isinstance(use.tensor.offset, (int, Dyn)) and event.reason is None and not event.predicated
    return Access(event, use.tensor, use.written, use) if known and event.kind == "copy" and of_threads(use) else None


def unheld_access(access: Access, context: Context) -> tuple[Access, bool] | None:
    """What threads of other warps have done with what is read or stored here, with no barrier since; one an element.

    Of a read what stored it, of a store what read it; and whether that was in the pass before of a loop around both.
    """
    at = access.at
    threads = block_of(at, context)
    kernel = _kernels(context).get((at.kernel, at.arch))
    if threads is None or threads <= _WARP or threads > LARGEST_BLOCK or kernel is None:
        return None
    others = (kernel.read if access.stored else kernel.stored).get(access.tensor.buffer or "", [])
    behind = bisect_left(kernel.held, at.order)
    since = kernel.held[behind - 1] if behind else -1
    for other in reversed(others):
        if since < other.order < at.order and _alike(other, access) and _crosses(other, access, threads):
            return other, False
    for other in others:
        around = [x for x in at.loops if x in other.at.loops and _goes_on(kernel, x, other, access)]
        still = around and not other.moves() and not access.moves()
        if still and _alike(other, access) and _crosses(other, access, threads):
            return other, True
    return None


def _goes_on(kernel: _Kernel, loop: Loop, first: Access, then: Access) -> bool:
    """Threads go from one pass of a loop to the next without being held after ``first`` or before ``then``.

    All of them go through it alike, as they come to a barrier in it.
    """
    met = kernel.met.get(loop, [])
    passes = loop.trips is None or loop.trips > 1
    return passes and bool(met) and loop not in kernel.blurred and all(then.order < b < first.order for b in met)


def _alike(first: Access, then: Access) -> bool:
    """One is an element, both are of one array, and are no two ways of one condition."""
    if first.use is not None and then.use is not None:
        return False
    a, b = first.tensor, then.tensor
    one_root = a.root_layout == b.root_layout if first.use is None and then.use is None else _starts_alike(a, b)
    if first.size is not None or then.size is not None:
        units = [t.dtype.bits if t.dtype is not None else None for t in (a, b)]
        one_root, same = _starts_alike(a, b), all(u and int(u) % _BYTE == 0 for u in units)
    else:
        same = a.dtype == b.dtype
    if not same or not one_root:
        return False
    if any(x.span == y.span and x.negated != y.negated for x in first.at.guards for y in then.at.guards):
        return False
    read, store = (then, first) if first.stored else (first, then)
    # which threads go through it?
    return not any(x.trips is None and not x.item for x in read.at.loops if x not in store.at.loops)


def _starts_alike(a: TensorFact, b: TensorFact) -> bool:
    """Offsets of the two count from the buffer's start: the whole tensor starts there, or the element is one of it."""
    return all(t.root_layout is None or t.root_start_bits == 0 for t in (a, b))


def _crosses(first: Access, then: Access, threads: int) -> bool:
    """Threads of other warps mean an element that is stored; or one thread of a condition stores it, and all read it.

    A warp that has stored an element itself reads its own. A variable of both is the same number for both.
    """
    if open_to_some(g for g in inner((*first.at.guards, *then.at.guards)) if not _of_large_matrices(g)):
        return False
    ranges = _ranges(threads, first, then)
    if ranges is None:
        return False
    read, store = (then, first) if first.stored else (first, then)
    conditions = [{g.text for g in access.at.guards} for access in (read, store)]
    single = store.use is None and not _expr(store.tensor).variables()
    alone = read is then and single and conditions[0] < conditions[1]
    shared = {v.name for v in _expr(first.tensor).variables()} & {v.name for v in _expr(then.tensor).variables()}
    for same in _all({name: values for name, values in ranges.items() if name in shared}):
        still = {**ranges, **{name: range(value, value + 1) for name, value in same.items()}}
        used, written = (_places(x, threads, still, _unit(first, then)) for x in (read, store))
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


def _of_large_matrices(guard: Guard) -> bool:
    """A condition that all threads of the first block pass where the matrix is large: ``if (row < m && col < n)``."""
    if guard.negated:
        return False
    if not guard.bounds:
        return _compares_alone(guard) and all(map(_holds_in_large, guard.holds))
    if not guard.complete:
        return False
    for bound in map(of_words, guard.bounds):
        limit, value = _in_first_block(bound.limit), _in_first_block(bound.value)
        only = next(iter(limit.variables()), None)
        if only is None or limit != atom_expr(only) or "#" in only.name or only.domain.bounds()[1] is not None:
            return False
        if any(not v.name.startswith("threadIdx.") and not _passes(v) for v in value.variables()):
            return False
    return True


def _in_first_block(number: Int) -> Expr:
    whole = as_expr(number)
    return whole.substitute({v.name: const(0) for v in whole.variables() if _of_block(v.name)})


def _passes(variable: Var) -> bool:
    """The passes of a loop with an end: ``i`` of an element of the thread's part of a tile."""
    lo, hi = variable.domain.bounds()
    return "#" in variable.name and lo is not None and hi is not None and not per_thread(variable.name)


def _compares_alone(guard: Guard) -> bool:
    """Whether what is followed of a condition of Python is all of it: one comparison each, and all of them hold."""
    parts = _AND.split(guard.text)
    return len(parts) == len(guard.holds) and all(
        len(_COMPARES.findall(p)) == 1 and not _OTHER.search(p) for p in parts
    )


def _holds_in_large(condition: Condition) -> bool:
    """``i < n`` of an index of threads and blocks, and any number; what is compared with threads alone may be small."""
    if condition.rel not in (Rel.LT, Rel.LE):
        return False
    only = next(iter(condition.rhs.variables()), None)
    if only is None or condition.rhs != atom_expr(only) or "#" in only.name or only.domain.bounds()[1] is not None:
        return False
    names = [v.name for v in condition.lhs.variables()]
    return any(map(_of_block, names)) and all(n == THREAD or n.startswith("threadIdx.") or _of_block(n) for n in names)


def _of_block(name: str) -> bool:
    return name.startswith("blockIdx.")


def _ranges(threads: int, *accesses: Access) -> dict[str, range] | None:
    """The values of all variables but the thread's index; None where they are not known, or too many.

    A variable of all accesses is any number, the same in each; one of its own counts the passes of a loop, or it is not
    known which number it is. Of a loop that begins at the thread's index the first pass is meant (`_places`).
    """
    found: dict[str, range] = {}
    shared = set.intersection(*({v.name for v in _expr(access.tensor).variables()} for access in accesses))
    for at, v in ((access.at, v) for access in accesses for v in _expr(access.tensor).variables()):
        lo, hi = v.domain.bounds()
        if v.name == THREAD:
            if hi is not None and hi < threads - 1:
                return None  # one of several dimensions of the block
            continue
        if lo is None or v.name.startswith(("blockIdx.", "threadIdx.")) or per_thread(v.name):
            return None
        if v.name.startswith(_COUNTER):
            if lo != 0 or v.name in shared:
                return None
            found[v.name] = range(1)
            continue
        if v.name not in shared and any(x.item == v.name for x in at.loops):
            found[v.name] = range(lo, lo + 1)
            continue
        if v.name not in shared and not _counts(v, at):
            return None
        found[v.name] = range(lo, (lo if hi is None else hi) + 1)
    return found if prod(map(len, found.values())) <= _MOST else None


def _counts(v: Var, at: Call | Event) -> bool:
    """A variable has each of its values in some pass of a loop around."""
    lo, hi = v.domain.bounds()
    return lo is not None and hi is not None and any(x.trips == (hi - lo) // v.domain.step + 1 for x in at.loops)


def _unit(first: Access, then: Access) -> int:
    """Bytes of what is counted, where assembly accesses bytes: elements of the other, or all that it accesses."""
    sizes = [x.size for x in (first, then)]
    if sizes == [_ROW, _ROW]:
        return _ROW
    others = [x.tensor.dtype for x, size in zip((first, then), sizes, strict=True) if size is None]
    return int(others[0].bits or 0) // _BYTE if others and others[0] is not None else 1


def _places(access: Access, threads: int, ranges: dict[str, range], unit: int) -> dict[int, set[int]] | None:
    """The elements of each thread that comes; None where they are not numbers."""
    come = might(inner(access.at.guards), threads)
    if access.use is not None:
        parts = places_of(access.use)
        return {t: parts[t] for t in come} if parts is not None and len(parts) == threads else None
    offset = _expr(access.tensor)
    own = {v.name: ranges[v.name] for v in offset.variables() if v.name != THREAD}
    try:
        found = {t: {offset.evaluate({THREAD: t, **values}) for values in _all(own)} for t in come}
        if any(name.startswith(_COUNTER) for name in own) and not all(x.whole for x in access.at.loops):
            first = min(found)  # whichever threads come to the first pass, the one that begins first does
            found = {first: found[first]} if min(found[first]) <= min(map(min, found.values())) else {}
        if access.size is None:
            return found
        more = range(0, access.size, unit)
        return {t: {(x + byte) // unit for x in places for byte in more} for t, places in found.items()}
    except (KeyError, ZeroDivisionError, ValueError):
        return None


def _all(ranges: dict[str, range]) -> Iterator[dict[str, int]]:
    return (dict(zip(ranges, values, strict=True)) for values in product(*ranges.values()))


def _expr(tensor: TensorFact) -> Expr:
    return as_expr(tensor.offset)  # type: ignore[arg-type]


def block_of(call: Call | Event, context: Context) -> int | None:
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
                access = of_element(call)
                root, offset = access.tensor.root_layout, access.tensor.offset
                if isinstance(root, Layout | None) and not isinstance(offset, (Unknown, tuple)):
                    _kept(kernel, access)
            elif _is(call, UNSEEN) or (_is(call, BARRIER) and not _of_lanes(call)):
                kernel.held.append(call.order)
                if call.function != _NAMED:  # it is among the barriers
                    kernel.blurred.update(call.loops)
        for use in (use for uses in order(context).uses.values() for use in uses):
            copied, own = of_copy(use), found.get((use.event.kernel, use.event.arch))
            if copied is not None and own is not None and own.of_elements(use.tensor.buffer or ""):
                _kept(own, copied)
        for (_, arch), kernel in found.items():
            every = [*kernel.stored.values(), *kernel.read.values()]
            kernel.held = sorted({*kernel.held, *order(context).barriers.get(arch, [])})
            for loop in {loop for accesses in every for access in accesses for loop in access.at.loops}:
                kernel.met[loop] = order(context).looped.get((arch, loop), [])
            for accesses in every:
                accesses.sort(key=lambda access: access.order)
        context.memo["elements"] = found
    return cast("dict[tuple[str, str], _Kernel]", context.memo["elements"])


def _of_lanes(call: Call) -> bool:
    """What holds no other warps back: a shuffle has `sync` in its name."""
    return call.function in _HOLDS_NONE or (call.span.is_python and bool(_LANES.search(call.function)))


def _is(call: Call, reason: str) -> bool:
    return isinstance(call.result, Unknown) and call.result.reason == reason


def _kept(kernel: _Kernel, access: Access) -> None:
    done = kernel.stored if access.stored else kernel.read
    done.setdefault(access.tensor.buffer or "", []).append(access)
