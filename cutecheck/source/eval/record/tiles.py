"""A kernel run once more for what it takes and leaves, whatever orders it: tiles of global memory that its copies take,
and registers and shared memory that it reads and nothing writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import NOT_WALKED, Span, TensorFact
from cutecheck.facts.replayed import COMPUTED, PASSED, Place, Step
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import used_otherwise
from cutecheck.source.eval.record.passing import Passing
from cutecheck.source.eval.record.regions import by_hardware, may_overlap, tensor_of
from cutecheck.source.eval.record.replay import Replaying
from cutecheck.source.eval.record.rounds import Numbers
from cutecheck.source.eval.record.running import MORE_PASSES
from cutecheck.source.eval.values import Pointer, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

MOST_COST = 64_000  # steps of the evaluation
_LEAST = 384  # of run-time numbers: some tiles, a multiple of most of their extents
FEW_TILES = 96  # where they are too many, of numbers in memory
_MOST_ELEMENTS = 4096  # of a tensor in registers
_FRAGMENT = "rmem@"  # how the buffers of tensors are named that own their registers


class TileWalk(Replaying):
    """The run of all threads of a kernel, of whose barriers and asynchronous instructions not all need be known.

    Its steps are copies of global memory and products, with places in global memory and those stages in shared memory
    that do not exist, and ``unwritten``: a fragment is read that nothing has written (``accumulates``: by a product
    that adds to it), or shared memory that nothing writes.
    What is done to a tensor by other means than CuTe's (an element is taken, a pointer to it) may write it.
    """

    def __init__(self, m: Machine, given: bool = False, numbers: Numbers | None = None) -> None:
        super().__init__(m, given, least=_LEAST, passes=MORE_PASSES, numbers=numbers)
        self.foresees = True
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

    def unwritten(self) -> list[Step]:
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
        super().touched(buffer, space)
        if space == "rmem":
            self.set.add(buffer)
            self.passing.computed(buffer)
        elif space != "gmem":
            self._anywhere(buffer)

    def _anywhere(self, buffer: str) -> None:
        """Something may be stored to shared memory, wherever in this buffer; "": in any."""
        self.stores.append(Place("", Span("", 0, 0, 0, 0), "smem", buffer, 0, (0, -1)))

    def moves(self, buffer: str, space: str) -> None:
        """``sQ.data() = sQ.data() + stage``: nothing is written there."""
        if space != "smem":
            super().moves(buffer, space)

    def computes_with(self, fact: TensorFact, span: Span, where: str) -> None:
        if not self.parts.get(fact.buffer or ""):
            self._read(fact, span, where, COMPUTED)

    def pointed_at(self, pointer: Pointer, span: Span) -> None:
        if pointer.space == "rmem" and pointer.buffer not in self.set:
            self.bare = pointer, span
        if pointer.space == "smem":
            self.taken.append((pointer.buffer, span))
        else:
            super().pointed_at(pointer, span)

    def made_over(self, start: Value, span: Span) -> None:
        """``make_tensor(sA.data() + size(sA), ...)``: what is stored there is stored to a tensor."""
        if isinstance(start, Pointer) and start.space == "smem":
            self.taken = [(b, at) for b, at in self.taken if b != start.buffer or not span.holds(at)]
        if self.bare is not None and start is self.bare[0] and span.holds(self.bare[1]):
            self.set.discard(self.bare[0].buffer)

    def anything(self) -> None:
        self.follows = False
        self.assembly()

    def assembly(self, stores: bool = True) -> None:
        if stores:  # not a wait, a commit or a fence
            self.touched("", "smem")

    def passed_over(self, span: Span, buffers: dict[str, str], apart: bool = False) -> None:
        self.set.update(buffers)
        for buffer in buffers:
            self.passing.computed(buffer)

    def makes(self, buffer: str, span: Span) -> None:
        """A fragment is declared again in the next pass of a loop: what was in it may still be there, by chance."""

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        for fact in facts:
            self._written(fact)
            if fact.space != "smem":
                self.passing.computed(fact.buffer or "")
            elif name == "clear":  # where a predicate leaves out what is loaded
                self.passing.brought.append(self.stores[-1])

    def follows_elements(self) -> bool:
        return False

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        self.touched(fact.buffer or "", fact.space)

    def named(self, way: str, arguments: tuple[Value, ...], span: Span, where: str) -> None:
        """Whom it holds back is not asked."""

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        if what == NOT_WALKED:
            self.end()

    def barrier(
        self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...],
        arrives: int | None = None, commits: bool = False,
    ) -> None:  # fmt: skip
        """Whom it holds back is not asked."""

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """Nor here."""

    def asks(self, fact: TensorFact, span: Span, where: str) -> None:
        """The predicates of a copy."""
        self._read(fact, span, where)

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "", adds: bool | None = None,
    ) -> None:  # fmt: skip
        """A copy or gemm."""
        if not all(self.under):
            self.end()
        self.around = self.at.get(depth - 1)
        *inputs, target = facts if kind != "gemm" or len(facts) < 4 else (*facts[1:], facts[0])
        sums = kind == "gemm" and not by_hardware(kind, tiled, facts)[2]
        for fact in inputs[:1] if kind != "gemm" else inputs[:2]:
            self._read(fact, span, where)
        if sums:
            self._read(facts[-1], span, where, "accumulates")
        self._written(target)
        if kind == "gemm":
            self.passing.multiplied([self._where(f) for f in inputs[:2]], target.buffer or "")
        else:
            read = Step("unwritten", span, where, PASSED, None, (self._where(inputs[0]),), caller=self.around)
            self.passing.copied(read, self.stores[-1] if target.space == "smem" else self._where(target))
        places = tuple(
            Place(f.name, f.span, f.space, f.buffer or "", 0, past=end)
            for f, end in zip(facts, past, strict=True) if f.space == "gmem" or (f.space == "smem" and end is not None)
        )  # fmt: skip
        if not places and kind != "gemm":
            return
        self.slices.uses(facts)
        self.add(Step(kind, span, where, name, None, places, False, bool(self.under) or predicated))

    def _read(self, fact: TensorFact, span: Span, where: str, how: str = "") -> None:
        buffer = fact.buffer or ""
        if fact.space == "rmem" and buffer.startswith(_FRAGMENT) and buffer not in self.set:
            if buffer in self.parts and not self.parts[buffer].isdisjoint(self._elements(fact) or self.parts[buffer]):
                return
            self.set.add(buffer)
            if self.follows and not self._of_library(span.path):
                self.add(Step("unwritten", span, where, how, None, (Place(fact.name, fact.span, "rmem", buffer, 0),)))
        elif fact.space == "smem" and buffer and not self._of_library(span.path):
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
        start, count = self.number(as_expr(fact.offset)), known_value(size(plain))
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
        begin = None if fact.root_start_bits is None else self.number(as_expr(fact.root_start_bits))
        return tensor_of(fact, begin, self.within(fact.buffer or ""))

    def _may_overlap(self, read: Place, store: Place) -> bool:
        """Whether a store to shared memory may be one to the tensor that is read."""
        return not store.buffer or may_overlap(read, store, self.machine.recorder.is_dynamic)
