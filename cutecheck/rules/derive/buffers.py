"""All known accesses of one shared-memory buffer together, and the layout that frees them of bank conflicts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Event, Facts, SmemBuffer, TensorFact, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.algebra import cosize
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.ints import CuteError, NotModelledError, UndecidedError, as_expr, known_value
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove.engines.compiled import function_of
from cutecheck.model.prove.engines.periods import TooManyError, values_to_try
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.synthesis import Synthesis, suggest
from cutecheck.model.units import BYTE
from cutecheck.records import record
from cutecheck.rules.derive.accesses import Access, Opaque, sides
from cutecheck.rules.derive.alignment import splits
from cutecheck.rules.derive.vectors import as_layout, leaves, plain

_TRIES = 1 << 16  # values that are listed to see a range


@record(frozen=True, slots=True)
class Group:
    """What is known of one buffer (or of the views of it that share a layout) in one instantiation.

    ``known``: accesses with a bank model; ``uncounted``: accesses that move whole vectors but have none (cp.async.cg);
    ``opaque``: why others are not known. ``descriptor``: TMA or WGMMA touch it. ``views``: layouts of whole tensors;
    ``others``: the buffer has further views with layouts of their own.
    """

    buffer: str
    enclosing: str
    arch: str
    known: tuple[Access, ...]
    uncounted: tuple[Access, ...]
    opaque: tuple[str, ...]
    descriptor: bool
    views: tuple[AnyLayout, ...]
    events: tuple[Event, ...]
    others: bool = False


@record(frozen=True, slots=True)
class Suggestion:
    """The result for one group. ``safe`` is True when every access of the buffer is known and went into it.

    ``conflicts``: accesses with conflicts as written; ``undecided``: those without a verdict. ``caveats`` say what the
    suggestion does not speak of, or takes for granted.
    """

    group: Group
    synthesis: Synthesis
    current: Swizzle | None
    conflicts: int
    undecided: int
    safe: bool
    caveats: tuple[str, ...]

    @property
    def text(self) -> str:
        """The result in one line, with the atom of a swizzle where the layouts have rows of one length."""
        return self.synthesis.text + (f": {self.atom}" if self.atom else "")

    @property
    def atom(self) -> str:
        """The swizzled atom as C++ spells it; empty where rows and the swizzle's period do not make one."""
        sw, pitch = self.synthesis.swizzle, row_pitch(self.group.views)
        if sw is None or pitch is None or sw.unit is not SwizzleUnit.ELEMENT:
            return ""
        rows, left = divmod(1 << (sw.bits + sw.base + abs(sw.shift)), pitch)
        if left or rows < 1:
            return ""
        spelled = f"Swizzle<{sw.bits},{sw.base},{sw.shift}>{{}}"
        return f"composition({spelled}, Layout<Shape<_{rows},_{pitch}>, Stride<_{pitch},_1>>{{}})"


def groups(facts: Facts, only: tuple[str, str, str] | None = None) -> list[Group]:
    """One group a buffer, instantiation and architecture, in the order of the sources; ``only`` that key."""
    found: dict[tuple[str, str, str], list[tuple[Event, TensorFact, Access | Opaque | None]]] = {}
    for event in facts.events:
        if only is not None and not any((t.buffer, event.enclosing, event.arch) == only for t in event.operands):
            continue
        by_side = {s.side: s for s in sides(event)}
        for i, tensor in enumerate(event.operands):
            if tensor.space != "smem" or tensor.buffer is None:
                continue
            if only is not None and tensor.buffer != only[0]:
                continue
            side = by_side.get("src" if i == 0 else "dst") if event.kind == "copy" else None
            found.setdefault((tensor.buffer, event.enclosing, event.arch), []).append((event, tensor, side))
    return [_group(key, entries) for key, entries in found.items()]


def _group(key: tuple[str, str, str], entries: Iterable[tuple[Event, TensorFact, Access | Opaque | None]]) -> Group:
    known: list[Access] = []
    uncounted: list[Access] = []
    opaque: list[str] = []
    views: dict[AnyLayout, None] = {}
    events: dict[str, Event] = {}
    descriptor = False
    for event, tensor, side in entries:
        events.setdefault(event.event_id, event)
        if isinstance(side, Access):
            (uncounted if side.bank() is None else known).append(side)
        elif isinstance(side, Opaque):
            opaque.append(f"{side.event.span}: {side.reason}")
        elif event.kind == "gemm":
            descriptor = descriptor or "GMMA" in str(event.tiled) or "UMMA" in str(event.tiled)
            if not descriptor:
                opaque.append(f"{event.span}: an MMA reads it without a copy")
        else:
            descriptor = True
        layout = tensor.root_layout or tensor.layout
        if not isinstance(layout, Unknown):
            views.setdefault(layout)
    return Group(*key, tuple(known), tuple(uncounted), tuple(opaque), descriptor, tuple(views), tuple(events.values()))


def parts(group: Group) -> list[Group]:
    """The group by view: tensors with one swizzle and one size of memory are views of the same data."""
    if len(group.views) < 2:
        return [group]
    by_view: dict[object, list[Access]] = {}
    for access in (*group.known, *group.uncounted):
        by_view.setdefault(_view(access), []).append(access)
    made = []
    for accesses in by_view.values():
        known = tuple(a for a in accesses if a in group.known)
        layouts = dict.fromkeys(a.tensor.root_layout for a in accesses if a.tensor.root_layout is not None)
        events = tuple({a.event.event_id: a.event for a in accesses}.values())
        if known:
            rest = tuple(a for a in accesses if a not in group.known)
            made.append(replace(group, known=known, uncounted=rest, views=tuple(layouts), events=events, others=True))
    return made


def _view(access: Access) -> tuple[object, ...]:
    layout = access.tensor.root_layout
    return access.root_swizzle, access.element_bits, None if layout is None else _cosize(layout)


def _cosize(layout: AnyLayout) -> int | None:
    """Elements of memory of a layout, without its swizzle; None where that is open."""
    try:
        plain_layout = layout.b if isinstance(layout, ComposedLayout) else layout
        return known_value(cosize(plain_layout)) if isinstance(plain_layout, Layout) else None
    except (CuteError, NotModelledError, UndecidedError):
        return None


def bare(access: Access) -> BankAccess | None:
    """The access on the same layout without its swizzle; None where it cannot be taken off.

    A swizzle that CuTe has already written into the offsets is taken off by applying it again: it is its own inverse.
    """
    payload = access.bank()
    if payload is None or splits(access):
        return None
    if payload.swizzle is not None:
        return replace(payload, swizzle=None)
    swizzle = access.root_swizzle
    if swizzle is None:
        return payload
    if swizzle.unit is not SwizzleUnit.ELEMENT or swizzle.shift < swizzle.bits:
        return None
    modes = leaves(payload.rest.shape, payload.rest.stride)
    if modes is None:
        return None
    period = 1 << (swizzle.bits + swizzle.base + swizzle.shift)
    inside = [(i, e, s) for i, (e, s) in enumerate(modes) if ex.divisor(as_expr(s)) % period]
    total = payload.offset
    for i, extent, stride in inside:
        size = known_value(extent)
        index = ex.var(f"value[r{i}]", Domain(0, None if size is None else size - 1))
        total = ex.add(total, ex.mul(index, as_expr(stride)))
    offset = unswizzled(total, swizzle)
    kept = [m for i, m in enumerate(modes) if i not in {n for n, _, _ in inside}]
    return None if offset is None else replace(payload, offset=offset, rest=as_layout(tuple(kept)))


def unswizzled(offset: Expr, swizzle: Swizzle) -> Expr | None:
    """``swizzle`` of an offset, written out; for shift >= bits that is its own inverse.

    Whole periods stay outside; None where what is left is not seen to lie in one period.
    """
    period = 1 << (swizzle.bits + swizzle.base + swizzle.shift)
    whole = Expr(tuple(t for t in offset.terms if t[1] % period == 0))
    low = ex.sub(offset, whole)
    constant = (low.terms and low.evaluate({v.name: 0 for v in low.variables()}) // period * period) or 0
    low, whole = ex.sub(low, ex.const(constant)), ex.add(whole, ex.const(constant))
    if not _within(low, period):
        return None
    low = ex.op("and", low, ex.const(period - 1))
    mask = ((1 << swizzle.bits) - 1) << (swizzle.base + swizzle.shift)
    moved = ex.op("div", ex.op("and", low, ex.const(mask)), ex.const(1 << swizzle.shift))
    return ex.add(whole, ex.op("xor", low, moved))


def _within(e: Expr, limit: int) -> bool:
    """Every value of the expression is at least 0 and below ``limit``."""
    lo, hi = ex.bounds(e)
    if lo is not None and lo >= 0 and hi is not None and hi < limit:
        return True
    names = sorted({v.name: v for v in e.variables()}.items())
    try:
        choices = [values_to_try(e, name, v.domain, 1 << 62)[0] for name, v in names]
    except TooManyError:
        return False
    if math.prod(map(len, choices)) > _TRIES:
        return False
    function = function_of(e, tuple(n for n, _ in names))
    return all(0 <= function(*numbers) < limit for numbers in itertools.product(*choices))


def row_pitch(layouts: Iterable[AnyLayout]) -> int | None:
    """Elements of a row, where all layouts are rows of one static pitch."""
    pitches = set()
    for layout in layouts:
        taken = plain(layout)
        if taken is None:
            return None
        steps = sorted(s for e, s in taken.modes if isinstance(s, int) and isinstance(e, int) and e > 1 and s > 0)
        widest = next((e * s for e, s in taken.modes if s == 1 and isinstance(e, int)), None)
        if widest is None or not steps:
            return None
        pitches.add(next((s for s in steps if s >= widest), widest))
    return pitches.pop() if len(pitches) == 1 else None


def synthesise(group: Group, options: Options, complete: bool) -> Suggestion | str:
    """The suggestion for one group; a text where nothing can be searched."""
    if not group.known:
        why = f": {group.opaque[0]}" if group.opaque else ""
        return f"no access of `{group.buffer}` with a bank model is known{why}"
    payloads: list[BankAccess] = []
    left: list[str] = list(group.opaque)
    for access in group.known:
        payload = bare(access)
        if payload is None:
            left.append(f"{access.event.span}: its swizzle cannot be taken off, or splits its vectors")
        else:
            payloads.append(payload)
    if not payloads:
        return f"no access of `{group.buffer}` can be moved to another layout: {left[0]}"
    swizzles = {a.root_swizzle for a in group.known if a.root_swizzle is not None}
    unit = SwizzleUnit.BYTE if group.descriptor else next((s.unit for s in swizzles), SwizzleUnit.ELEMENT)
    tile = _tile(group, payloads)
    per_unit = 1 if unit is SwizzleUnit.ELEMENT else 8
    widest = max((a.bits // (a.element_bits if per_unit == 1 else BYTE) for a in group.uncounted), default=1)
    synthesis = suggest(
        list(dict.fromkeys(payloads)),
        pitch=row_pitch(group.views),
        tile=tile,
        unit=unit,
        descriptor=group.descriptor,
        whole=widest,
        known=f"for the {len(group.known)} known accesses" if len(group.known) > 1 else "for the one known access",
        arch=group.arch,
        options=options,
    )
    verdicts = [prove(make_obligation(p, arch=group.arch), options).verdict for a in group.known if (p := a.bank())]
    return Suggestion(
        group,
        synthesis,
        swizzles.pop() if len(swizzles) == 1 else None,
        sum(v is Verdict.REFUTED for v in verdicts),
        sum(v not in (Verdict.REFUTED, Verdict.PROVED) for v in verdicts),
        complete and not left,
        _caveats(group, synthesis, left, complete, tile),
    )


def _tile(group: Group, payloads: list[BankAccess]) -> int | None:
    """Elements that the period of a swizzle must divide: the memory of every view, and where the views start."""
    sizes = [n for n in map(_cosize, group.views) if n]
    if not sizes or len(sizes) < len(group.views):
        return None
    starts: dict[str, int] = {}
    for payload in payloads:
        zero = {v.name: 0 for v in payload.offset.variables()}
        try:
            start = payload.offset.evaluate(zero)
        except (KeyError, ZeroDivisionError, ValueError):
            continue
        starts[payload.what] = min(start, starts.get(payload.what, start))
    return math.gcd(*sizes, min(starts.values(), default=0))


def _caveats(group: Group, synthesis: Synthesis, left: list[str], complete: bool, tile: int | None) -> tuple[str, ...]:
    found = []
    if not complete:
        found.append("the buffer escapes into code that was not followed: unknown accesses may conflict, or disagree")
    if group.others:
        found.append("other views of this memory have layouts of their own: data must not pass from one to another")
    for text in dict.fromkeys(left):
        found.append(f"not included: {text}")
    if group.uncounted:
        found.append(
            f"{len(group.uncounted)} cp.async.cg writes keep their vectors whole; theirs is a cost model, no bank model"
        )
    if tile is None:
        found.append("the size of the tile is open: the period of the swizzle must divide it")
    elif synthesis.swizzle is not None:
        sw = synthesis.swizzle
        period = 1 << (sw.bits + sw.base + abs(sw.shift))
        what = "elements" if sw.unit is SwizzleUnit.ELEMENT else "bytes"
        found.append(f"every view starts at a multiple of {period} {what} of its allocation")
    return tuple(found)


def excess_bytes(facts: Facts) -> Counter[tuple[str, str, str]]:
    """Bytes by which the views of each buffer of known size reach past it, where they do."""
    found: Counter[tuple[str, str, str]] = Counter()
    for group in groups(facts):
        buffer = buffer_of(group, facts)
        size = known_value(buffer.size_bytes) if buffer is not None and buffer.size_bytes is not None else None
        if buffer is None or size is None or buffer.element_bits is None:
            continue
        widest = max((int(n) for n in map(_cosize, group.views) if n), default=0) * int(buffer.element_bits) // 8
        if widest > int(size):
            found[(group.buffer, group.enclosing, group.arch)] = widest - int(size)
    return found


def buffer_of(group: Group, facts: Facts) -> SmemBuffer | None:
    """The allocation of a group, where the front end saw it."""
    key = (group.buffer, group.enclosing, group.arch)
    return next((b for b in facts.buffers if (b.buffer_id, b.enclosing, b.arch) == key), None)


def suggestions(group: Group, facts: Facts, options: Options) -> list[Suggestion | str]:
    """One layout for the whole buffer where one frees every access; else one for each of its views."""
    buffer = buffer_of(group, facts)
    complete = buffer is not None and buffer.accesses_complete and not buffer.escapes
    whole = synthesise(group, options, complete)
    by_view = parts(group)
    if isinstance(whole, str) or offered(whole.synthesis) or len(by_view) < 2:
        return [whole]
    return [synthesise(part, options, complete) for part in by_view]


def offered(synthesis: Synthesis) -> bool:
    """There is a layout under which every access is free."""
    return (
        synthesis.plain or synthesis.swizzle is not None or synthesis.padding is not None or synthesis.xor is not None
    )
