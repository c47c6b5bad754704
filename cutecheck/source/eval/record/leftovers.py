"""What a kernel copies or computes and then leaves: fragments and shared memory that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutecheck.facts import Event, Loop, Span, TensorFact
from cutecheck.facts.leftovers import Leftovers, Way
from cutecheck.facts.replayed import Place
from cutecheck.model.ints import Dyn, Sym, known_value
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import used_otherwise
from cutecheck.source.eval.outputs import allocates, elsewhere, quiet
from cutecheck.source.eval.record.portions import elements, first
from cutecheck.source.eval.record.regions import may_overlap, tensor_of, variable_of
from cutecheck.source.eval.record.unfilled import Filled, unfilled

if TYPE_CHECKING:
    from cutecheck.source.eval.outputs import Outputs
    from cutecheck.source.eval.record.buffers import BufferRecorder
    from cutecheck.source.eval.values import Pointer

_FRAGMENT = "rmem@"  # how the buffers of tensors are named that own their registers
_TENSOR_MEMORY = "tmem@"
Part = tuple[Way, TensorFact, int | None]  # with the threads of the block


@dataclass(frozen=True, slots=True)
class _Use:
    """A tensor in shared memory that is copied to, or read, and the loops and conditions around that."""

    tensor: TensorFact
    place: Place
    loops: frozenset[Loop]
    under: frozenset[tuple[Span, bool]]

    def may_come_after(self, store: _Use) -> bool:
        """Whether this read, which is met before a store, may happen after it: in the next pass of a loop around both,
        or by threads that go another way."""
        return not self.loops.isdisjoint(store.loops) or not self.under <= store.under


@dataclass(slots=True)
class Reads:
    """What may read tensors of a kernel, on all ways through it.

    ``taken``: buffers of which an element or a pointer is taken, or which are passed to code that is not followed.
    ``reached``: those of which more than single elements is taken; ``elements``: where single ones are; ``computed``:
    where these are computed with, and statements that do no more (``acc[i] += x``).
    ``pointers``: those to the first element of registers that Python's ``iterator`` takes, by place; ``views``: where
    nothing but another tensor over the same registers is made of it.
    ``early``: reads of whole fragments, as values, which come before whatever writes to them, under no condition, up to
    the first write that is not known (``blurred``).
    ``used``: the first copy or product that reads each buffer of registers; ``given``: those of them that something
    writes. ``last``: the last copy or product into each buffer of registers.
    ``written``: by the way there, those into shared memory that nothing has read since, nor a pass of a loop before it;
    ``seen``: the others. ``loaded``: what was read there. ``unsure``: what is not known may read any of them.
    ``computes``: it has products, or copies to global memory; else it shows or times how something is loaded.
    ``stores``: it copies to memory that is neither shared nor the thread's own.
    ``fills``: where copies write to shared memory. ``values``: buffers of it that are read as a value.
    ``sums``: what products are summed up in, of registers and tensor memory, by buffer; ``parts``: what copies and
    products read of each buffer; ``whole``: those that are read as values. ``blocks``: indices of its block that the
    kernel asks for.
    ``totals``: registers that ``axpby`` adds to what is stored. ``loops``: those around what reads each buffer;
    ``added``: around the products that are summed up in each; ``emptied``: where each pass of a loop
    sets all of it.
    ``filled``: what copies fill of each buffer of registers; ``operands``: the last product that takes each as A or B;
    ``otherwise``: those that are written by other means.
    ``entered``: the functions that were walked, by identity. ``refilled`` and ``reread``: buffers of shared memory that
    are copied to, and read, in loops.
    """

    taken: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    elements: dict[str, set[Span]] = field(default_factory=dict)
    computed: set[Span] = field(default_factory=set)
    pointers: dict[Span, Pointer] = field(default_factory=dict)
    views: set[Span] = field(default_factory=set)
    early: dict[str, tuple[Way, TensorFact]] = field(default_factory=dict)
    blurred: bool = False
    used: dict[str, tuple[Way, TensorFact]] = field(default_factory=dict)
    given: set[str] = field(default_factory=set)
    last: dict[str, tuple[Way, TensorFact]] = field(default_factory=dict)
    written: dict[Way, _Use] = field(default_factory=dict)
    seen: set[Way] = field(default_factory=set)
    loaded: dict[tuple[Way, str], _Use] = field(default_factory=dict)
    unsure: bool = False
    computes: bool = False
    stores: bool = False
    loads: bool = False  # it copies from global memory
    entered: dict[int, ir.Function] = field(default_factory=dict)
    refilled: set[str] = field(default_factory=set)
    reread: set[str] = field(default_factory=set)
    values: set[str] = field(default_factory=set)
    fills: dict[Way, Place] = field(default_factory=dict)
    sums: dict[str, list[Part]] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    blocks: set[str] = field(default_factory=set)
    totals: set[str] = field(default_factory=set)
    loops: dict[str, set[Loop]] = field(default_factory=dict)
    added: dict[str, set[Loop]] = field(default_factory=dict)
    emptied: list[tuple[Way, TensorFact, Loop]] = field(default_factory=list)
    filled: dict[str, list[Filled]] = field(default_factory=dict)
    operands: dict[str, Part] = field(default_factory=dict)
    otherwise: set[str] = field(default_factory=set)

    def happened(self, event: Event, recorder: BufferRecorder) -> None:
        """A copy or product."""
        way = recorder.way(event.span)
        inputs, target = operands_of(event)
        if event.loops:
            self.reread.update(t.buffer for t in inputs if t.space == "smem" and t.buffer)
            self.refilled.update(t.buffer for t in (target,) if t.space == "smem" and t.buffer)
        self.computes = self.computes or event.kind == "gemm" or target.space in ("gmem", "coord")
        self.stores = self.stores or target.space not in ("rmem", "smem", "tmem")
        if any(t.space == "unknown" or t.buffer is None for t in event.operands if t.space != "coord"):
            self.unsure = True
        if event.predicate is not None:
            self.used.setdefault(event.predicate.buffer or "", (way, event.predicate))
        self._sums_up(event, way, inputs, target)
        self.loads = self.loads or any(t.space == "gmem" for t in inputs)
        for tensor in inputs:
            if tensor.space != "smem":
                self.used.setdefault(tensor.buffer or "", (way, tensor))
                continue
            use = _use(event, tensor, recorder)
            self.loaded[way, tensor.buffer or ""] = use
            for at, store in list(self.written.items()):
                if may_overlap(use.place, store.place, recorder.is_dynamic):
                    del self.written[at]
                    self.seen.add(at)
        threads = None if event.threads is None else known_value(event.threads)
        for tensor in inputs[:2] if event.kind == "gemm" else ():
            if tensor.space == "rmem":
                self.operands[tensor.buffer or ""] = way, tensor, threads
        if target.space == "rmem" and event.kind == "copy":
            self.filled.setdefault(target.buffer or "", []).append((target, threads))
        if target.space == "rmem":
            self.given.add(target.buffer or "")
            self.last[target.buffer or ""] = way, target
        elif target.space == "smem":
            self.fills[way] = _use(event, target, recorder).place
        if target.space == "smem" and way not in self.seen:
            store = _use(event, target, recorder)
            again = (x for x in self.loaded.values() if x.may_come_after(store))
            if any(may_overlap(x.place, store.place, recorder.is_dynamic) for x in again):
                self.written.pop(way, None)
                self.seen.add(way)
            else:
                self.written[way] = store

    def _sums_up(self, event: Event, way: Way, inputs: Sequence[TensorFact], target: TensorFact) -> None:
        threads = None if event.threads is None else known_value(event.threads)
        if event.kind == "gemm" and target.space in ("rmem", "tmem"):
            self.sums.setdefault(target.buffer or "", []).append((way, target, threads))
            self.added.setdefault(target.buffer or "", set()).update(event.loops)
        for tensor in inputs:
            self.loops.setdefault(tensor.buffer or "", set()).update(event.loops)
            if tensor.space in ("rmem", "tmem"):
                self.parts.setdefault(tensor.buffer or "", []).append((way, tensor, threads))

    def partly(self) -> Iterator[tuple[Way, TensorFact, int, int]]:
        """Products that are summed up and of which the kernel reads a part alone: where, and how many of how many."""
        for buffer, sums in self.sums.items():
            read = self.parts.get(buffer)
            if not read or buffer in self.whole or self._is_taken(buffer):
                continue
            if not buffer.startswith((_FRAGMENT, _TENSOR_MEMORY)):
                continue
            if buffer.startswith(_FRAGMENT) and min(first(t) for _, t, _ in read) < max(first(t) for _, t, _ in sums):
                continue  # some values of each instruction: others may be rows that pad it
            if len({t.dtype for _, t, _ in (*read, *sums)}) != 1:
                continue
            have, want = elements((t, n) for _, t, n in read), elements((t, n) for _, t, n in sums)
            if have and want and want - have:
                yield read[-1][0], read[-1][1], len(want & have), len(want)

    def valued(self, tensor: TensorFact, way: Way, perhaps: bool, loops: tuple[Loop, ...]) -> None:
        """A tensor is read as a value; ``perhaps``: under a condition of the device."""
        buffer = tensor.buffer or ""
        self.loops.setdefault(buffer, set()).update(loops)
        self.whole.add(buffer)
        if tensor.space != "rmem":
            self.taken.add(buffer)
            self.values.update({buffer} if tensor.space == "smem" else ())
            self.computes = self.computes or tensor.space == "gmem"
            return
        self.used.setdefault(buffer, (way, tensor))
        if buffer not in self.given and not perhaps and not self.blurred:
            self.early.setdefault(buffer, (way, tensor))

    def computed_with(self, tensor: TensorFact, way: Way, spans: Iterable[Span]) -> None:
        """Elements of a fragment are computed with, at these places."""
        self.used.setdefault(tensor.buffer or "", (way, tensor))
        self.computed.update(spans)

    def holes(self) -> Iterator[tuple[Way, TensorFact, int, int]]:
        """Operands in registers that a product takes whole, and slices of which along K no copy fills: one of them."""
        for buffer, (way, tensor, threads) in self.operands.items():
            known = buffer in self.filled and buffer not in self.otherwise and buffer not in self.sums
            if known and buffer.startswith(_FRAGMENT) and not self._is_taken(buffer):
                left = unfilled(tensor, threads, self.filled[buffer])
                if left is not None:
                    yield way, tensor, left[0][0], left[1]

    def totalled(self, tensor: TensorFact, way: Way, loops: tuple[Loop, ...]) -> None:
        """All of a tensor in registers is read, and nothing else is done with it."""
        buffer = tensor.buffer or ""
        self.totals.add(buffer)
        self.whole.add(buffer)
        self.used.setdefault(buffer, (way, tensor))
        self.loops.setdefault(buffer, set()).update(loops)

    def dropped(self) -> Iterator[tuple[Way, TensorFact, Loop]]:
        """Sums that each pass of a loop sets anew, and adds products to, and that nothing in the loop reads."""
        for way, tensor, loop in self.emptied:
            buffer = tensor.buffer or ""
            inside = loop in self.added.get(buffer, ()) and loop not in self.loops.get(buffer, ())
            if inside and buffer in self.used and buffer.startswith(_FRAGMENT) and not self._is_taken(buffer):
                yield way, tensor, loop

    def leftovers(self, is_dynamic: Callable[[str], bool]) -> Leftovers:
        """What nothing reads of what was copied or computed last, and what is read that nothing writes; nothing where
        that cannot be told."""
        every = [*self.last.values(), *((at, use.tensor) for at, use in self.written.items())]
        left = () if self.unsure or not self.computes else tuple(x for x in every if not self._is_read(x[1]))
        read = tuple(sorted({*self.seen, *(at for at, tensor in every if (at, tensor) not in left)}))
        never = {b: x for b, x in self.used.items() if b not in self.given}
        first = {**never, **self.early}
        unset = () if self.unsure else tuple(x for buffer, x in first.items() if self._is_own(buffer, x[1]))
        empty = () if self.unsure else tuple(self._unfilled(is_dynamic))
        partly = () if self.unsure or not self.computes else tuple(self.partly())
        blocks = (
            () if self.unsure or not self.stores or elsewhere(self.entered.values()) else tuple(sorted(self.blocks))
        )
        taken = tuple(sorted(self.taken | self.totals))
        dropped = () if self.unsure else tuple(self.dropped())
        holes = () if self.unsure else tuple(self.holes())
        return Leftovers(
            left, read, (*unset, *empty), partly=partly, blocks=blocks, taken=taken, dropped=dropped, holes=holes,
            homeless=self._homeless(),
        )  # fmt: skip

    def _homeless(self) -> tuple[Way, TensorFact] | None:
        """The first product into tensor memory where nothing that was walked names an allocation."""
        first = next(((w, t) for parts in self.sums.values() for w, t, _ in parts if t.space == "tmem"), None)
        if first is None or self.unsure or first[1].span.is_python or allocates(self.entered.values()):
            return None
        return first

    def _unfilled(self, is_dynamic: Callable[[str], bool]) -> Iterator[tuple[Way, TensorFact]]:
        """What copies and products of Python's read of shared memory that nothing writes, by each buffer the first.

        A kernel that copies to none shows how shared memory is read.
        """
        told: set[str] = set()
        if not self.fills:
            return
        for (way, buffer), use in self.loaded.items():
            if buffer in told or buffer in self.given or self._is_taken(buffer) or not use.tensor.span.is_python:
                continue
            if is_dynamic(variable_of(buffer)):
                continue  # an address that was computed: it may lead anywhere
            if not any(may_overlap(use.place, fill, is_dynamic) for fill in self.fills.values()):
                told.add(buffer)
                yield way, use.tensor

    def idle(self, given: Outputs | None, shared: Collection[str]) -> tuple[tuple[Span, str], ...]:
        """What may be written of global memory that the kernel loads from, and nothing is: all that it is given.

        ``shared``: the variables in shared memory.
        """
        if given is None or self.unsure or self.stores or not quiet(self.entered.values()):
            return ()
        written = {buffer for _, buffer in given.written}
        own = {b for b in self.taken if b.startswith(_FRAGMENT) or b.partition(".")[0] in shared or b in shared}
        elsewhere = self.taken - given.constant - own
        if written & given.constant or elsewhere or not (self.loads or self.taken & given.constant):
            return ()
        return tuple((p.span, p.name) for p, buffer in given.written if buffer not in self.used)

    def _is_read(self, tensor: TensorFact) -> bool:
        buffer = tensor.buffer or ""
        return self._is_taken(buffer) or (tensor.space == "rmem" and buffer in self.used) or self._otherwise(tensor)

    def _is_own(self, buffer: str, tensor: TensorFact) -> bool:
        """Whether it is registers that nothing else is known to reach."""
        known = buffer not in self.reached and self.elements.get(buffer, set()) <= self.computed
        return tensor.space == "rmem" and buffer.startswith(_FRAGMENT) and known and not self._is_pointed_at(buffer)

    def owns(self, buffer: str, elements: bool = False) -> bool:
        """Whether a buffer is registers that nothing but copies, products and stores reaches, and not said yet.

        ``elements``: single elements may be taken, too, which a run thread by thread has seen.
        """
        taken = buffer in self.reached or self._is_pointed_at(buffer) if elements else self._is_taken(buffer)
        return buffer.startswith(_FRAGMENT) and buffer not in self.early and not taken

    def _is_taken(self, buffer: str) -> bool:
        return buffer in self.taken or self._is_pointed_at(buffer)

    def _is_pointed_at(self, buffer: str) -> bool:
        return any(p.buffer == buffer for at, p in self.pointers.items() if at not in self.views)

    def _otherwise(self, tensor: TensorFact) -> bool:
        """Whether a tensor owns its memory alone, and no function names it but to make tensors over it."""
        buffer = tensor.buffer or ""
        if tensor.space == "rmem":
            return not buffer.startswith(_FRAGMENT)
        if tensor.span.is_python:
            return False  # what is no tensor's there is taken from one, or from a pointer that is
        names = variable_of(buffer).rpartition("::")[2], *buffer.rpartition("::")[2].split(".")
        return any(not used_otherwise(f).isdisjoint(names) for f in self.entered.values())


def _use(event: Event, tensor: TensorFact, recorder: BufferRecorder) -> _Use:
    start = tensor.root_start_bits
    begin = known_value(start) if isinstance(start, (int, Dyn, Sym)) else None
    place = tensor_of(tensor, begin, recorder.within(tensor.buffer or ""))
    under = frozenset((g.span, g.negated) for g in event.guards if not g.host)
    return _Use(tensor, place, frozenset(event.loops), under)


def operands_of(event: Event) -> tuple[tuple[TensorFact, ...], TensorFact]:
    """What a copy or product reads but for the sums that it goes on with, and what it writes."""
    if event.kind != "gemm":
        return event.operands[:-1], event.operands[-1]
    if len(event.operands) < 4:
        return event.operands[:-1], event.operands[-1]
    target, *inputs, sums = event.operands
    return tuple(t for t in (*inputs, sums) if t.buffer != target.buffer), target
