"""A kernel run once more, pass by pass: its run-time arguments are given values, and loops run as they say.

What is computed from a number that is made on the way (loaded, or joined after a condition) stays open: the run ends.
"""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import NOT_WALKED, Span, TensorFact
from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import AS_VALUE, BY_ELEMENT, BY_HAND, COMPUTED, OF_TENSOR, Place, Step
from cutecheck.facts.touch import hull, starts
from cutecheck.model.expr import const, mul
from cutecheck.model.identity import once
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.eval import ir
from cutecheck.source.eval.mentions import parts_in
from cutecheck.source.eval.record.holding import Holding
from cutecheck.source.eval.record.regions import by_hardware, followed, is_asynchronous, reduces
from cutecheck.source.eval.record.running import WARP
from cutecheck.source.eval.record.touching import touch_at
from cutecheck.source.eval.record.unwritten import Unwritten
from cutecheck.source.eval.values import Pointer, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.scope import Frame


_HOLD_BACK = ("barrier", "named", "call", "warp")  # steps at which other threads may be waited for
_READS = ("made", "computes", "use")  # steps of registers that write nothing there


def _written(step: Step) -> tuple[Place, ...]:
    """What a step may write of its operands."""
    return () if step.kind in _READS else step.places[1:] if step.kind == "copy" else step.places


def _buffers(step: Step) -> list[str]:
    return [p.buffer for p in step.places]


@once
def _declared(node: ir.Lambda) -> frozenset[str]:
    """The parameters and variables of a lambda, and what it has a copy of."""
    copies = (name for name, refers, init in node.captures if not refers or init is not None)
    inside = (getattr(at.decl, "name", "") for at in parts_in(node.body.get()) if isinstance(at, ir.Local))
    return frozenset((*(p.name for p in node.params), *copies, *inside))


def _owner(frame: Frame, name: str) -> Frame:
    """The activation whose variable a name is: in a lambda that has references that of who made it."""
    while frame.closure is not None and frame.closure[0] is not None:
        outer, node = frame.closure
        named = node.default == "&" or any(name == captured for captured, _, _ in node.captures)
        if not named or name in _declared(node):
            break
        frame = outer
    return frame


class Replaying(Holding):
    """The run of one kernel: copies, products, and what else is done to tensors, as steps.

    ``unwritten``: of a run of all threads, what it reads that nothing wrote is kept beside them.
    """

    unwritten: Unwritten | None = None

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        if self.unwritten is not None and what == NOT_WALKED:
            self.unwritten.known = False
        super().called(name, args, what, span, where, looped)

    def passed_over(self, span: Span, buffers: dict[str, str], apart: bool = False) -> None:
        """A loop without copies and products, which is not run: it may set any registers, those of these among them.

        ``apart``: none of a tensor, by all that it names.
        """
        if self.unwritten is not None:
            self.unwritten.passed_over(buffers)
        library = self.of_library(span.path) or apart
        at = tuple(Place(name, span, "rmem", buffer, 0) for buffer, name in sorted(buffers.items()))
        self.add(Step("unknown", span, "", "library" if library else "loop", None, () if library else at))

    def scales(self, frame: Frame, name: str, mma: object, adds: bool | None) -> None:
        """``mma.accumulate_ = ...``, of a variable in a call of a function; in others it may be the same object."""
        frame = _owner(frame, name)
        for key, (other, of, _) in self.scaled.items():
            if other is not frame and of == mma:
                self.scaled[key] = other, of, None
        self.scaled[id(frame), name] = frame, mma, adds
        self.scalable.add(mma)

    def adds(self, frame: Frame, name: str, mma: object) -> bool | None:
        """Whether a product is added to what is in its accumulators: it is unless an MMA was told otherwise."""
        frame = _owner(frame, name)
        if (id(frame), name) in self.scaled:
            return self.scaled[id(frame), name][2]
        if self.by_source:
            return None
        return None if not name or mma in self.scalable or self.machine.recorder.scales else True

    def enters(self, function: ir.Function) -> None:
        """The body of a function runs."""
        if self.unwritten is not None:
            self.unwritten.enters(function)

    def touched(self, buffer: str, space: str) -> None:
        """An element of a tensor is taken, or a pointer to it."""
        self._reached(buffer, space)
        if self.unwritten is not None:
            self.unwritten.touched(buffer, space)

    def _reached(self, buffer: str, space: str) -> None:
        if space == "gmem":
            self.slices.by_elements.add(buffer)
        else:
            self.pointed.add(buffer)
        if space == "tmem" and any(p.buffer == buffer for s in self.steps for p in s.places):
            self.moved.add(buffer)  # ``acc.data() = base + slot * columns`` in each pass

    def moves(self, buffer: str, space: str) -> None:
        """``t.data() = ...``: a tensor is told to start elsewhere; in shared memory nothing is written by that."""
        self._reached(buffer, space)
        if self.unwritten is not None and space != "smem":
            self.unwritten.touched(buffer, space)

    def computes_with(self, fact: TensorFact, span: Span, where: str) -> None:
        """An element of registers is computed with."""
        if self.unwritten is not None:
            self.unwritten.computes_with(fact, span, where)
        if self.thread is not None and not self.of_library(span.path):
            at = Place(fact.name, fact.span, "rmem", fact.buffer or "", 0)
            self.add(Step("computes", span, where, COMPUTED, None, (at,)))

    def pointed_at(self, pointer: Pointer, span: Span) -> None:
        """A pointer to a tensor's first element is taken, by this expression."""
        self._reached(pointer.buffer, pointer.space)
        if self.unwritten is not None:
            self.unwritten.pointed_at(pointer, span)

    def made_over(self, start: Value, span: Span) -> None:
        """A tensor is made of a pointer, by this expression: what is done to the registers there is done to it."""
        if self.unwritten is not None:
            self.unwritten.made_over(start, span)

    def anything(self) -> None:
        """A function that is not walked may write what it can name."""
        self.pointed.add("")
        if self.unwritten is not None:
            self.unwritten.anything()

    def assembly(self, stores: bool = True) -> None:
        """Assembly of the program's own is reached: through an address it may write shared memory.

        ``stores``: that of CUTLASS says when it does.
        """
        if stores:
            self.pointed.add("")
            if self.unwritten is not None:
                self.unwritten.touched("", "smem")

    def asks(self, fact: TensorFact, span: Span, where: str) -> None:
        """The predicates of a copy are read."""
        if self.unwritten is not None:
            self.unwritten.asks(fact, span, where)

    def makes(self, buffer: str, span: Span) -> None:
        """Registers that nothing has set yet: what was there before is another tensor's."""
        if self.thread is not None:
            self.add(Step("made", span, "", "", None, (Place("", span, "rmem", buffer, 0),)))

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "", adds: bool | None = None,
    ) -> None:  # fmt: skip
        """A copy or gemm, in a function at this depth of calls."""
        told, self.telling = self.telling, None
        if self.unwritten is not None:
            self.unwritten.happened(kind, span, where, tiled, facts, self.at.get(depth - 1))
        spaces = [f.space for f in facts]
        if not {"smem", "gmem"} & set(spaces) and kind == "copy" and "rmem" not in spaces:
            return
        goes_on = is_asynchronous(tiled)
        if self.thread is not None:
            copied = kind == "copy" and goes_on
            kind, by, goes_on = by_hardware(kind, tiled, facts)
            goes_on |= copied and kind == "copy"
            name = signals or by
            if self.by_source and kind in ("load", "drain") and not self.elected:
                return  # one thread of the warp does it
        elif kind == "gemm" and (by := by_hardware(kind, tiled, facts)[1]):
            name, goes_on = by, True
        if kind == "drain" and self.thread is None:
            return
        if name == "umma" and self.thread is None:
            self.end()
        if not all(self.under) or not (self.thread is not None or all(followed(tiled, s) for s in spaces)):
            self.end()
        if not any(s.kind == "copy" for s in self.steps):
            self.entered = self.machine.made
        if self.thread is None:
            self.slices.uses(facts)
        if kind in ("copy", "drain") and facts[-1].space == "gmem" and facts[-1].buffer:
            self.memory.stored.add(facts[-1].buffer)
        with self.unheard() if self.thread is not None else nullcontext():
            found = self._places(facts, past)
        if found is None:
            self.end()
        number = None
        if kind == "load" and isinstance(told, Pointer) and told.space == "smem":
            number = self.whole(told.offset)
            if number is None and self.by_source:
                self.end()
            name = told.buffer if number is not None else name  # exactly this one of its array
        maybe, masked = bool(self.under) or predicated, predicated and not self.under
        if kind == "drain":
            adds = True if reduces(tiled) else None
        elif kind != "gemm" or not goes_on:
            adds = None
        caller = self.at.get(depth - 1)
        self.add(Step(kind, span, where, name, number, found, goes_on, maybe, caller, adds, masked=masked))
        if self.thread is not None:
            self.placed[len(self.steps) - 1] = facts, past

    def _places(self, facts: list[TensorFact], past: list[tuple[int, int] | None]) -> tuple[Place, ...] | None:
        places = [self.place(f) for f in facts]
        places = [p if p is None or end is None else replace(p, past=end) for p, end in zip(places, past, strict=True)]
        found = tuple(p for p in places if p is not None)
        return found if len(found) == len(places) else None

    def of_thread(self, thread: int) -> Replaying | None:
        """The run of another thread, if that is this one but for where the operands of its copies and products are."""
        if self.lone or (self.elects and self.elected != (thread % WARP == 0)):
            return None
        other = copy(self)
        other.thread = thread
        steps = other._placed_anew()
        if steps is None or self._placed_anew() != self.steps:  # what is known now was not known then
            return None
        other.steps = steps
        return other

    def _placed_anew(self) -> list[Step] | None:
        """The steps as this thread has them; None where it is told anything else than the run was."""
        steps = list(self.steps)
        heard = self.heard
        with self.unheard():
            if any(self.number(e, base) != answer for (e, base), answer in heard.items()):
                return None
            if any(self.past(*pair) is not None for pair in tuple(self.inside)):
                return None
            for at, operands in self.placed.items():
                places = self._places(*operands)
                if places is None:
                    return None
                if places != steps[at].places:
                    steps[at] = replace(steps[at], places=places)
        return steps

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        """Tensors get values that are computed."""
        if self.unwritten is not None:
            self.unwritten.overwritten(name, facts)
        self.pointed.update(f.buffer or "" for f in facts if f.space == "smem")
        places = [Place(f.name, f.span, f.space, f.buffer or "", 0) for f in facts if f.space in ("rmem", "tmem")]
        self.add(Step(name, span, where, name, None, tuple(places)))

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """A single element is read or stored: of registers, what is stored may be any of them."""
        if self.unwritten is not None:
            self.unwritten.touched(fact.buffer or "", fact.space)
        if fact.space == "smem" and self.thread is None:
            if not self.of_elements:
                if written:
                    place = self._place(fact)
                    whole = (0, -1) if place is None else place.root
                    at = Place(fact.name, span, "smem", fact.buffer or "", 0, bits=whole)
                    self.add(Step("element", span, where, OF_TENSOR, None, (at,)))
                return
            self.add(Step("element", span, where, "", None, (Place(fact.name, span, "smem", fact.buffer or "", 0),)))
            return
        read = self.thread is not None and not self.of_library(span.path)
        if fact.buffer and fact.space == "rmem" and (written or read):
            at = Place(fact.name, fact.span, "rmem", fact.buffer, 0)
            self.add(Step("store" if written else "use", span, where, "", None, (at,)))

    def valued(self, fact: TensorFact, span: Span, where: str) -> None:
        """All elements of a tensor are read, as a value."""
        buffer = fact.buffer or ""
        if fact.space == "smem":
            place = self.place(fact)
            if place is None or not all(self.under):
                self.end()
            places = tuple(p for p in (place, Place("", span, "rmem", "", 0)) if p is not None)
            self.add(Step("copy", span, where, AS_VALUE, None, places, maybe=bool(self.under)))
        if fact.space == "rmem" and not any(s.kind not in _READS and buffer in _buffers(s) for s in self.steps):
            at = Place(fact.name, span, "rmem", buffer, 0)
            self.unset.append(Step("unwritten", span, where, AS_VALUE, None, (at,), maybe=bool(self.under)))

    def never_set(self) -> list[Step]:
        """Reads of registers before anything has set them; of those under a condition, where all that ever writes them
        is computed from them by the same statement: whichever comes first reads what nothing has set."""
        found: list[Step] = []
        for read in self.unset:
            buffer = read.places[0].buffer
            writes = [s for s in self.steps if any(p.buffer == buffer for p in _written(s))]
            by_itself = [w for w in writes if w.kind == "fill" and w.span.holds(read.span)]
            if not read.maybe or (writes and len(by_itself) == len(writes)):
                found.append(read)
        return found

    def follows_elements(self) -> bool:
        """Whether single elements of shared memory that statements read and store are steps."""
        return self.thread is None and not self.by_source

    def _of_stage(self, fact: TensorFact, span: Span, where: str) -> None:
        """The thread reads one element of a tensor with stages; the same place counts once until it waits again."""
        with self.unheard():
            place = self.place(fact)
        if place is None or place.space != "smem" or not place.root[0] < place.root[1] or place.bits == place.root:
            return
        for step in reversed(self.steps):
            if step.kind in _HOLD_BACK:
                break
            if step.function == BY_ELEMENT and step.span == span and step.places[0].bits == place.bits:
                return
        places = (replace(place, offset=place.bits[0], name=fact.name), Place("", span, "rmem", "", 0))
        self.add(Step("copy", span, where, BY_ELEMENT, None, places, maybe=bool(self.under)))

    def accessed(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """Each thread that comes here reads or stores one element of shared memory, a part of what lies there."""
        if self.thread is not None:
            self._of_stage(fact, span, where)
            return
        if self.unwritten is not None:
            self.unwritten.touched(fact.buffer or "", fact.space)
        bits = int(fact.dtype.bits) if fact.dtype is not None and fact.dtype.bits else 0
        known = isinstance(fact.offset, (int, Dyn)) and bits and fact.root_bits in (None, bits)
        touch = touch_at(self, mul(as_expr(fact.offset), const(bits)), bits) if known else None  # type: ignore[arg-type]
        buffer = fact.buffer or ""
        if written:
            region = hull(touch) if touch is not None and not self.partial else None
            at = Place(fact.name, span, "smem", buffer, 0, bits=region or (0, -1))
            self.add(Step("element", span, where, BY_HAND, None, (at,)))
            return
        found = starts(touch) if touch is not None else None
        if not found or not buffer:
            return
        begin = next(iter(found.values()))
        here = Place(fact.name, span, "smem", buffer, begin // 8, bits=(begin, begin + bits), touch=touch)
        places = (here, Place("", span, "rmem", "", 0))
        self.add(Step("copy", span, where, CHUNK, None, places, maybe=bool(self.under)))
