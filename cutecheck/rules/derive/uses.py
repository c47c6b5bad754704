"""Accesses of shared memory in the order a kernel reaches them, and the barriers and waits between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import cast

from cutecheck.facts import Call, Event, Loop, TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.algebra import cosize
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, Dyn, Int, UndecidedError, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.model.prove.domains import per_thread
from cutecheck.model.prove.properties import THREAD
from cutecheck.model.tiled import TiledCopy, TiledMMA
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.accesses import thread_count
from cutecheck.rules.derive.vectors import plain
from cutecheck.rules.derive.warpgroups import all_read
from cutecheck.rules.derive.wrappers import wrapping

_MOST = 1 << 17  # elements of a copy that are listed

# waits of one thread for its own copies, and what only tells threads apart, hold back no other thread
_OWN = (
    "cp_async", "elect", "canonical", "shfl", "shuffle", "redux", "vote", "ballot", "any_sync", "all_sync", "match",
    "initialize", "init", "transaction_bytes", "expect", "griddep", "bulk", "tma_store", "commit", "fence",
    "warpgroup_arrive", "release", "tail", "get_barrier",
)  # fmt: skip
OF_WARP = ("__syncwarp", "sync_warp")  # barriers of the lanes of a warp


@record(frozen=True, slots=True)
class Use:
    """One access of a buffer: bytes from its start, through the whole tensor's layout."""

    event: Event
    tensor: TensorFact
    written: bool
    root: AnyLayout
    first: int
    last: int


@dataclass(slots=True)
class Order:
    """Accesses by (function, architecture, buffer), and when barriers and waits are reached, by architecture."""

    uses: dict[tuple[str, str, str], list[Use]] = field(default_factory=dict)
    barriers: dict[str, list[int]] = field(default_factory=dict)
    waits: dict[str, list[int]] = field(default_factory=dict)
    looped: dict[tuple[str, Loop], list[int]] = field(default_factory=dict)  # barriers, by the loops around them

    def before(self, use: Use) -> list[Use]:
        """Earlier accesses of the buffer, as they are reached."""
        key = (use.event.enclosing, use.event.arch, use.tensor.buffer or "")
        return [u for u in self.uses.get(key, []) if u.event.order < use.event.order]

    def after(self, use: Use) -> list[Use]:
        """Later accesses of the buffer, as they are reached."""
        key = (use.event.enclosing, use.event.arch, use.tensor.buffer or "")
        return [u for u in self.uses.get(key, []) if u.event.order > use.event.order]

    def elsewhere(self, use: Use) -> list[Use]:
        """Earlier accesses of the buffer in other functions: of calls of one function the first alone is kept."""
        _, *place = use.event.enclosing, use.event.arch, use.tensor.buffer or ""
        others = (found for (where, *at), found in self.uses.items() if at == place and where != use.event.enclosing)
        return [u for found in others for u in found if u.event.order < use.event.order]

    def held(self, use: Use) -> int:
        """When the last barrier before this access was reached; -1 for none."""
        return _last_before(self.barriers.get(use.event.arch, []), use.event.order)

    def waited(self, use: Use) -> int:
        """When the last wait before this access was reached, for copies or for a barrier; -1 for none."""
        return self.waited_at(use.event.arch, use.event.order)

    def waited_at(self, arch: str, when: int) -> int:
        """When the last wait before a time was reached; -1 for none."""
        return _last_before(self.waits.get(arch, []), when)


def _last_before(times: list[int], when: int) -> int:
    at = bisect_left(times, when)
    return times[at - 1] if at else -1


def order(context: Context, of_block: bool = False) -> Order:
    """The order of the run's accesses, made once; ``of_block``: only with barriers that hold other warps back, too."""
    if of_block and "uses of blocks" not in context.memo:
        every, found = order(context), Order()
        found.uses, found.waits = every.uses, every.waits
        _meet(found, (c for c in _barriers(context) if c.function.rpartition("::")[2] not in OF_WARP))
        context.memo["uses of blocks"] = found
    if "uses" not in context.memo:
        found = Order()
        for event in sorted(context.facts.events, key=lambda e: e.order):
            for use in uses_of(event):
                found.uses.setdefault((event.enclosing, event.arch, use.tensor.buffer or ""), []).append(use)
        barriers = _barriers(context)
        _meet(found, barriers)
        for call in barriers:
            if any(word in call.function for word in ("wait", "acquire")) or in_assembly(call):
                found.waits.setdefault(call.arch, []).append(call.order)
        for times in found.waits.values():
            times.sort()
        context.memo["uses"] = found
    return cast("Order", context.memo["uses of blocks" if of_block else "uses"])


def _meet(found: Order, barriers: Iterable[Call]) -> None:
    """Notes when threads meet."""
    for call in barriers:
        if holds_others(call.function):
            found.barriers.setdefault(call.arch, []).append(call.order)
            for loop in call.loops:
                found.looped.setdefault((call.arch, loop), []).append(call.order)
    for times in found.barriers.values():
        times.sort()


def _barriers(context: Context) -> list[Call]:
    """Barriers and waits, without functions around waits for groups of copies, which are among them."""
    found = [c for c in context.facts.calls if isinstance(c.result, Unknown) and c.result.reason == "a barrier"]
    found.sort(key=lambda c: (c.arch, c.order))
    around = wrapping(found)
    return [c for at, c in enumerate(found) if at not in around]


def holds_others(function: str) -> bool:
    """Whether what is recorded as a barrier or wait holds other threads back, by its name."""
    return not any(word in function for word in _OWN)


def in_assembly(call: Call) -> bool:
    """Assembly that may wait for copies; what the DSL calls a barrier is ``bar.sync``, which waits for threads."""
    return call.function == "barrier" and not call.span.is_python


def uses_of(event: Event) -> Iterator[Use]:
    for place, tensor in enumerate(event.operands):
        root = tensor.root_layout or tensor.layout
        if tensor.space != "smem" or tensor.buffer is None or isinstance(root, Unknown):
            continue
        if tensor.dtype is None or not tensor.dtype.bits or isinstance(tensor.offset, (Unknown, tuple, ScaledBasis)):
            continue
        whole = tensor.root_start_bits is not None and tensor.root_bits is not None
        bits = int(tensor.root_bits if whole else tensor.dtype.bits)  # type: ignore[arg-type]
        start = as_expr(tensor.root_start_bits if whole else tensor.offset)  # type: ignore[arg-type]
        try:
            first = start.evaluate({v.name: 0 for v in start.variables()}) * (1 if whole else bits)
            extent = known_value(cosize(root.b if isinstance(root, ComposedLayout) else root))  # type: ignore[arg-type]
        except (CuteError, UndecidedError, KeyError, ZeroDivisionError, ValueError, TypeError):
            continue
        if extent is None:
            continue
        written = event.kind == "copy" and place == 1
        yield Use(event, tensor, written, root, first // 8, (first + extent * bits) // 8)


def by_others(earlier: Use, use: Use) -> bool:
    """The threads that read are certainly others than those that wrote."""
    source, now = earlier.tensor.source, use.tensor.source
    if use.event.kind == "gemm" and use.tensor.provenance == "fragment":
        return _multiplied(earlier, use)
    if source is None and now is None:
        return _crossed(earlier, use)
    if (source is None) != (now is None):
        return _by_hand(earlier, use) and _crossed(earlier, use)
    if earlier.tensor.provenance != "partition":
        return False
    if use.tensor.provenance != "partition":
        return False
    if source != now and _own(earlier) and _own(use) and one_space(earlier, use) and uniform(earlier) == uniform(use):
        return _taken_from_others(earlier, use) is not False
    return source != now or earlier.root != use.root or _moved(earlier, use)


def _multiplied(earlier: Use, use: Use) -> bool:
    """WGMMAs of several warpgroups, each of which reads what threads of the others have copied; in loops runs tell."""
    operands, wgmma = use.event.operands, isinstance(use.event.tiled, TiledMMA) and use.event.tiled.atom.kind == "wgmma"
    if not wgmma or use.event.loops or len(operands) < 3 or not _own(earlier):
        return False
    return all_read(use.tensor.source, use.tensor is operands[-2], (earlier.tensor.source,))


def _by_hand(a: Use, b: Use) -> bool:
    """One is partitioned by a TiledCopy, the other without: whole blocks of known size do both, by guards."""
    if any(u.tensor.source is not None and u.tensor.provenance != "partition" for u in (a, b)):
        return False
    known = [thread_count(u.event) for u in (a, b)]
    alike = {(g.span, g.negated) for g in a.event.guards} == {(g.span, g.negated) for g in b.event.guards}
    return _own(a) and _own(b) and alike and None not in known and known[0] == known[1]


def _own(use: Use) -> bool:
    """A copy whose threads access the elements that they are given: no instruction of a whole warp or block."""
    found = use.event.tiled.atom if isinstance(use.event.tiled, TiledCopy) else use.event.tiled
    op = found.op if isinstance(found, CopyAtom) else ""
    return use.event.kind == "copy" and not any(word in op for word in ("LDSM", "STSM", "TMA", "BULK"))


def of_threads(use: Use) -> bool:
    """Each thread accesses what it is given, or its warp what its threads are given together (``ldmatrix``)."""
    found = use.event.tiled.atom if isinstance(use.event.tiled, TiledCopy) else use.event.tiled
    op = found.op if isinstance(found, CopyAtom) else ""
    return use.event.kind == "copy" and not any(word in op for word in ("TMA", "BULK"))


def places_of(use: Use) -> list[set[int]] | None:
    """The elements of each thread as they lie in memory; None where they are not numbers, or other indices choose."""
    parts = None if isinstance(use.tensor.layout, Unknown) else plain(use.tensor.layout)
    if parts is None or parts.swizzle is not None or uniform(use).variables():
        return None
    if any(v.name != THREAD for _, d in parts.modes if isinstance(d, Dyn) for v in d.expr.variables()):
        return None
    return places(use)


def one_space(a: Use, b: Use) -> bool:
    """Equal offsets of the two are the same memory: one view, or two that permute their offsets alike or not at all."""
    alike = isinstance(a.root, Layout) and isinstance(b.root, Layout)
    if isinstance(a.root, ComposedLayout) and isinstance(b.root, ComposedLayout):
        alike = (a.root.a, a.root.offset) == (b.root.a, b.root.offset)
    return (a.tensor.dtype, a.first) == (b.tensor.dtype, b.first) and (a.root == b.root or alike)


def _crossed(a: Use, b: Use) -> bool:
    """A thread has an element in one access that another thread has in the other, as the indices stand at first."""
    if not one_space(a, b):
        return False
    left, right = _by_thread(a), _by_thread(b)
    if left is None or right is None:  # strides of each thread's own
        return uniform(a) == uniform(b) and _taken_from_others(a, b) is True
    if max(len(left[1]), len(right[1])) < 2:
        return False
    owner: dict[int, int] = {}
    for thread, start in enumerate(left[1]):
        for x in left[0]:
            owner.setdefault(x + start, thread if len(left[1]) > 1 else -1)  # -1: all of them
    everyone = len(right[1]) == 1
    for thread, start in enumerate(right[1]):
        for x in right[0]:
            own = owner.get(x + start)
            if own is not None and (everyone or own != thread):
                return True
    return False


def _moved(a: Use, b: Use) -> bool:
    """One partitioning of two views of a tensor (of its transpose, say): a thread has what only others had before."""
    if (a.tensor.layout, a.tensor.offset) == (b.tensor.layout, b.tensor.offset) or not one_space(a, b):
        return False
    left, right = uniform(a), uniform(b)
    if left != right and (left.variables() or right.variables()):
        return False  # another stage, as far as the source says
    return _taken_from_others(a, b) is True


def _taken_from_others(a: Use, b: Use) -> bool | None:
    """Whether a thread has an element in ``b`` that only others had in ``a``; None where places are not numbers."""
    left, right = places(a), places(b)
    if left is None or right is None or len(left) != len(right) or swizzle_to_come(a) != swizzle_to_come(b):
        return None
    had = set().union(*left)
    return any((now & had) - then for then, now in zip(left, right, strict=True))


def swizzle_to_come(use: Use) -> Swizzle | None:
    """The swizzle that the offsets of a view do not have yet: that of a part with a thread's own strides is in them."""
    parts = None if isinstance(use.tensor.layout, Unknown) else plain(use.tensor.layout)
    return None if parts is None else parts.swizzle


def places(use: Use) -> list[set[int]] | None:
    """The elements of each thread as they lie in memory, at the first iteration; None where they are not numbers."""
    layout, offset = use.tensor.layout, use.tensor.offset
    parts = None if isinstance(layout, Unknown) else plain(layout)
    threads = thread_count(use.event) or 1
    if parts is None or isinstance(offset, (Unknown, tuple, ScaledBasis)):
        return None
    if not all(isinstance(n, int) and isinstance(d, (int, Dyn)) for n, d in parts.modes):
        return None
    modes = [(cast("int", n), as_expr(d)) for n, d in parts.modes if n != 1]
    start = ex.add(as_expr(offset), parts.offset)
    names = {v.name for e in (start, *(d for _, d in modes)) for v in e.variables()}
    if prod(n for n, _ in modes) * threads > _MOST or any(per_thread(name) for name in names - {THREAD}):
        return None
    found: list[set[int]] = []
    for thread in range(threads):
        at = {**dict.fromkeys(names, 0), THREAD: thread}
        try:
            places, strides = {start.evaluate(at)}, [(n, d.evaluate(at)) for n, d in modes]
        except (KeyError, ZeroDivisionError, ValueError):
            return None
        for extent, stride in strides:
            places = {x + i * stride for x in places for i in range(extent)}
        found.append(places)
    return found


def uniform(use: Use) -> Expr:
    """What all threads add to their offsets: the stage or slice."""
    offset = cast("Int", use.tensor.offset)
    layout = use.tensor.layout
    parts = None if isinstance(layout, Unknown) else plain(layout)
    whole = as_expr(offset) if parts is None else ex.add(as_expr(offset), parts.offset)
    return Expr(tuple(t for t in whole.terms if all(v.name != THREAD for v in Expr((t,)).variables())))


def elements(use: Use) -> set[int] | None:
    """Elements of all threads, before any swizzle, at the first iteration; None where they are not numbers."""
    found = _by_thread(use)
    return None if found is None else {x + s for x in found[0] for s in set(found[1])}


def memory(use: Use, passes: set[int]) -> set[int] | None:
    """Elements of all threads as they lie in memory, in passes that add so much to the first; None where unknown."""
    found, swizzle = elements(use), swizzle_to_come(use)
    if found is not None:
        every = {x + d for x in found for d in passes}
        return every if swizzle is None else {y for x in every if (y := known_value(swizzle(x))) is not None}
    each = places(use) if swizzle is None and passes == {0} else None
    return None if each is None else set().union(*each)


def _by_thread(use: Use) -> tuple[set[int], list[int]] | None:
    """Elements from a thread's first, and where each thread's first is: one for all where the thread does not count."""
    layout, offset = use.tensor.layout, use.tensor.offset
    parts = None if isinstance(layout, Unknown) else plain(layout)
    if parts is None or isinstance(offset, (Unknown, tuple, ScaledBasis)):
        return None
    start = as_expr(offset)
    others = {v.name: 0 for v in (*start.variables(), *parts.offset.variables())}
    if any(per_thread(name) for name in others):
        return None
    own = any(v.name == THREAD for v in (*start.variables(), *parts.offset.variables()))
    threads = (thread_count(use.event) or 1) if own else 1
    found = {0}
    for extent, stride in parts.modes:
        if not isinstance(extent, int) or not isinstance(stride, int) or len(found) * extent > _MOST:
            return None
        found = {x + i * stride for x in found for i in range(extent)}
    if len(found) * threads > _MOST:
        return None
    try:
        places = [{**others, THREAD: t} for t in range(threads)]
        starts = [start.evaluate(at) + parts.offset.evaluate(at) for at in places]
    except (KeyError, ZeroDivisionError, ValueError):
        return None
    return found, starts


def exclusive(a: Event | Call, b: Event | Call) -> bool:
    """Two branches of one condition."""
    return any(x.span == y.span and x.negated != y.negated for x in a.guards for y in b.guards)
