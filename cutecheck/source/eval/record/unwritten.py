"""Registers and shared memory that a run reads and nothing writes; kept beside the run's own steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cutecheck.facts import Span, TensorFact
from cutecheck.facts.replayed import COMPUTED, PASSED, Place, Step
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import used_otherwise
from cutecheck.source.eval.record.passing import Passing
from cutecheck.source.eval.record.regions import by_hardware, may_overlap, tensor_of
from cutecheck.source.eval.values import Pointer, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.record.running import Running

_MOST_ELEMENTS = 4096  # of a tensor in registers
_FRAGMENT = "rmem@"  # how the buffers of tensors are named that own their registers


class Unwritten:
    """What one run reads that nothing in it wrote: steps of kind ``unwritten``.

    A fragment is read that nothing has written (``accumulates``: by a product that adds to it), or shared memory that
    nothing writes. What is done to a tensor by other means than CuTe's (an element is taken, a pointer to it) may write
    it.
    """

    def __init__(self, running: Running, found: Callable[[Step], None] | None = None) -> None:
        self.running = running
        self.registers: list[Step] = []  # reads of registers
        self.found = self.registers.append if found is None else found  # is told of them as they come
        self.known = True  # nothing was called that may write anything
        self.set: set[str] = set()  # buffers of registers of which all is written, or may be
        self.parts: dict[str, set[int]] = {}  # of others the elements that are written
        self.stores: list[Place] = []  # what is written in shared memory; no buffer where that is not known
        # the first read of each tensor there, by its buffer and bits
        self.loads: dict[tuple[str, tuple[int, int]], Step] = {}
        self.taken: list[tuple[str, Span]] = []  # pointers to tensors there of which not only tensors are made
        self.otherwise: set[str] = set()  # variables and members of which more is done than CuTe's
        self.bare: tuple[Pointer, Span] | None = None  # the last pointer to registers that nothing had written
        self.passing = Passing()
        self.around: Span | None = None  # the call of the function that the last step is in
        self.follows = True  # no code that is not walked may have written registers by another name

    def all(self) -> tuple[Step, ...]:
        """All that was kept here, at the end of the run."""
        return *self.registers, *self.never_stored(), *self.passed_on()

    def never_stored(self) -> list[Step]:
        """Reads of shared memory that nothing in the whole run writes."""
        for buffer in {b for b, _ in self.taken}:
            self._anywhere(buffer)
        return [
            x for x in self.loads.values()
            if self.otherwise.isdisjoint(x.places[0].buffer.rpartition("::")[2].split("."))
            and not any(self._may_overlap(x.places[0], s) for s in self.stores)
        ]  # fmt: skip

    def passed_on(self) -> list[Step]:
        """Reads of shared memory that all copies to global memory store, and where only an operand is."""
        found = self.passing.stored()
        if not all(self.passing.is_brought(x.places[0], self.stores, self._may_overlap) for x in found):
            return []  # results are stored as well, by way of shared memory
        return [x for x in found if self.otherwise.isdisjoint(x.places[0].buffer.rpartition("::")[2].split("."))]

    def enters(self, function: ir.Function) -> None:
        self.otherwise |= used_otherwise(function)

    def touched(self, buffer: str, space: str) -> None:
        """An element is taken, or a pointer: it may be written."""
        if space == "rmem":
            self.set.add(buffer)
            self.passing.computed(buffer)
        elif space != "gmem":
            self._anywhere(buffer)

    def _anywhere(self, buffer: str) -> None:
        """Something may be stored to shared memory, wherever in this buffer; "": in any."""
        self.stores.append(Place("", Span("", 0, 0, 0, 0), "smem", buffer, 0, (0, -1)))

    def computes_with(self, fact: TensorFact, span: Span, where: str) -> None:
        if not self.parts.get(fact.buffer or ""):
            self.read(fact, span, where, COMPUTED)

    def pointed_at(self, pointer: Pointer, span: Span) -> None:
        if pointer.space == "rmem" and pointer.buffer not in self.set:
            self.bare = pointer, span
        if pointer.space == "smem":
            self.taken.append((pointer.buffer, span))
        else:
            self.touched(pointer.buffer, pointer.space)

    def made_over(self, start: Value, span: Span) -> None:
        """``make_tensor(sA.data() + size(sA), ...)``: what is stored there is stored to a tensor."""
        if isinstance(start, Pointer) and start.space == "smem":
            self.taken = [(b, at) for b, at in self.taken if b != start.buffer or not span.holds(at)]
        if self.bare is not None and start is self.bare[0] and span.holds(self.bare[1]):
            self.set.discard(self.bare[0].buffer)

    def anything(self) -> None:
        self.follows = False
        self.touched("", "smem")

    def passed_over(self, buffers: dict[str, str]) -> None:
        """A loop that is not run may set any of these registers."""
        self.set.update(buffers)
        for buffer in buffers:
            self.passing.computed(buffer)

    def overwritten(self, name: str, facts: list[TensorFact]) -> None:
        for fact in facts:
            self._written(fact)
            if fact.space != "smem":
                self.passing.computed(fact.buffer or "")
            elif name == "clear":  # where a predicate leaves out what is loaded
                self.passing.brought.append(self.stores[-1])

    def asks(self, fact: TensorFact, span: Span, where: str) -> None:
        """The predicates of a copy."""
        self.read(fact, span, where)

    def happened(
        self, kind: str, span: Span, where: str, tiled: object, facts: list[TensorFact], around: Span | None
    ) -> None:
        """A copy or gemm, in a function that is called there."""
        self.around = around
        *inputs, target = facts if kind != "gemm" or len(facts) < 4 else (*facts[1:], facts[0])
        sums = kind == "gemm" and not by_hardware(kind, tiled, facts)[2]
        for fact in inputs[:1] if kind != "gemm" else inputs[:2]:
            self.read(fact, span, where)
        if sums:
            self.read(facts[-1], span, where, "accumulates")
        self._written(target)
        if kind == "gemm":
            self.passing.multiplied([self._where(f) for f in inputs[:2]], target.buffer or "")
        else:
            read = Step("unwritten", span, where, PASSED, None, (self._where(inputs[0]),), caller=self.around)
            self.passing.copied(read, self.stores[-1] if target.space == "smem" else self._where(target))

    def read(self, fact: TensorFact, span: Span, where: str, how: str = "") -> None:
        buffer = fact.buffer or ""
        if fact.space == "rmem" and buffer.startswith(_FRAGMENT) and buffer not in self.set:
            if buffer in self.parts and not self.parts[buffer].isdisjoint(self._elements(fact) or self.parts[buffer]):
                return
            self.set.add(buffer)
            if self.follows and not self.running.of_library(span.path):
                at = Place(fact.name, fact.span, "rmem", buffer, 0)
                self.found(self.running.as_called(Step("unwritten", span, where, how, None, (at,))))
        elif fact.space == "smem" and buffer and not self.running.of_library(span.path):
            place = self._where(fact)
            read = Step("unwritten", span, where, "", None, (place,), caller=self.around)
            self.loads.setdefault((buffer, place.root), read)

    def _written(self, fact: TensorFact) -> None:
        if fact.space == "rmem":
            elements = self._elements(fact)
            if elements is None:
                self.set.add(fact.buffer or "")
            else:
                self.parts.setdefault(fact.buffer or "", set()).update(elements)
        elif fact.space == "smem":
            self.stores.append(self._where(fact))

    def _elements(self, fact: TensorFact) -> set[int] | None:
        """The elements of its buffer of registers that a tensor has; None where they are not known."""
        plain = fact.layout
        if not isinstance(plain, Layout) or not isinstance(fact.offset, (int, Dyn, Sym)) or fact.dtype is None:
            return None
        start, count = self.running.number(as_expr(fact.offset)), known_value(size(plain))
        if start is None or count is None or count > _MOST_ELEMENTS or fact.root_bits not in (None, fact.dtype.bits):
            return None
        modes = list(zip(*(it.flatten_to_tuple(x) for x in (plain.shape, plain.stride)), strict=True))
        found = {start}
        for extent, stride in modes:
            if not isinstance(extent, int) or not isinstance(stride, int):
                return None
            found = {x + i * stride for x in found for i in range(extent)}
        return found

    def _where(self, fact: TensorFact) -> Place:
        """The tensor in shared memory that an operand is of; one without an end where that is not known."""
        if fact.space != "smem":
            return Place(fact.name, fact.span, fact.space, fact.buffer or "", 0)
        begin = None if fact.root_start_bits is None else self.running.number(as_expr(fact.root_start_bits))
        return tensor_of(fact, begin, self.running.within(fact.buffer or ""))

    def _may_overlap(self, read: Place, store: Place) -> bool:
        """Whether a store to shared memory may be one to the tensor that is read."""
        return not store.buffer or may_overlap(read, store, self.running.machine.recorder.is_dynamic)
