"""What is done to tensors on the ways through a kernel, but for copies and products: who may read or write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from cutecheck.facts import Span, Unknown
from cutecheck.facts.core import Call as CallFact
from cutecheck.facts.leftovers import LEFTOVERS
from cutecheck.facts.replayed import Step
from cutecheck.source.eval.outputs import Outputs
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.record.leftovers import Reads
from cutecheck.source.eval.record.pointers import pointers
from cutecheck.source.eval.record.state import RecorderState
from cutecheck.source.eval.values import Closure, Pointer, TensorVal, Value

_EMPTIED = re.compile(r"^[\w:\s]*\b(?:clear|fill)\(|[,)].*$|\.fill\(.*$")  # around the name of a tensor that is set
_STORE = re.compile(r"\.store\(|\[| = ")  # behind the name of a tensor that is stored to


class ReadingRecorder(RecorderState):
    """Reads and writes by other means than copies and products."""

    def way(self, span: Span) -> tuple[Span, ...]:
        """The calls that lead from the body of the kernel to a place in a function, and that place."""
        calls, frame = [span], self.frame
        while frame is not None and frame.caller is not None and frame.caller.kernel:
            if isinstance(frame.called, Span):
                calls.append(frame.called)
            frame = frame.caller
        return tuple(reversed(calls))

    def takes(self, values: Iterable[Value]) -> None:
        """Elements of tensors are taken, or pointers to them, or code is given them that is not followed."""
        if self.frame is not None and self.frame.kernel:
            values = list(values)
            reads = self.reads[self.frame.kernel]
            held = list(pointers(values))
            reads.taken.update(p.buffer for p in held)
            reads.reached.update(p.buffer for p in held)
            reads.computes = reads.computes or any(p.space == "gmem" for p in held)
            reads.unsure = reads.unsure or any(isinstance(v, Closure) for v in values)

    def takes_element(self, t: TensorVal, span: Span) -> None:
        """A single element of a tensor is taken, by this expression."""
        if t.pointer is None or t.space != "rmem":
            self.takes((t,))
        elif self.frame is not None and self.frame.kernel:
            reads = self.reads[self.frame.kernel]
            reads.taken.add(t.pointer.buffer)
            reads.elements.setdefault(t.pointer.buffer, set()).add(span)

    def in_kernel(self) -> bool:
        """What is walked is part of a kernel."""
        return self.frame is not None and bool(self.frame.kernel)

    def points(self, t: TensorVal, start: Value, span: Span) -> None:
        """A pointer to the first element of a tensor is taken, by an expression."""
        if t.space == "rmem" and isinstance(start, Pointer) and self.frame is not None and self.frame.kernel:
            self.reads[self.frame.kernel].pointers[span] = start
        else:
            self.takes((t,))

    def made_over(self, start: Value, span: Span) -> None:
        """A tensor is made of a pointer: of one that an argument of this call takes, all that is read is known."""
        if self.replaying is not None:
            self.replaying.made_over(start, span)
        if isinstance(start, Pointer) and self.frame is not None and self.frame.kernel in self.reads:
            reads = self.reads[self.frame.kernel]
            reads.views.update(at for at, p in reads.pointers.items() if p is start and span.holds(at))

    def loads(self, t: TensorVal, span: Span) -> None:
        """All elements of a tensor are read, as a value."""
        if self.frame is not None and self.frame.kernel and t.pointer is not None:
            reads = self.reads[self.frame.kernel]
            tensor = self.tensor_fact(t, span)
            tensor = replace(tensor, name=tensor.name.removesuffix(".load()"))
            reads.valued(tensor, self.way(span), any(not g.host for g in self._guards), self._loops)
            replay = self.acts()
            if replay is not None:
                replay.valued(tensor, span, self.frame.symbol)

    def totals(self, values: Iterable[Value], span: Span) -> None:
        """What ``axpby`` reads: of tensors in registers all elements, and nothing else is done with them."""
        others = []
        for value in values:
            own = isinstance(value, TensorVal) and value.space == "rmem" and value.pointer is not None
            if own and isinstance(value, TensorVal) and self.frame is not None and self.frame.kernel:
                reads = self.reads[self.frame.kernel]
                reads.totalled(self.tensor_fact(value, span), self.way(span), self._loops)
            else:
                others.append(value)
        self.takes(others)

    def empties(self, t: TensorVal, span: Span) -> None:
        """All of a tensor in registers is set to one value, in each pass of a loop."""
        if self._events_off or self.frame is None or not self.frame.kernel or not self._loops or t.space != "rmem":
            return
        if len(self._guards) <= self._before:
            reads = self.reads[self.frame.kernel]
            name = t.name or _EMPTIED.sub("", self.text(span))
            reads.emptied.append((self.way(span), replace(self.tensor_fact(t, span), name=name), self._loops[-1]))

    def asks_block(self, index: str) -> None:
        """The kernel asks for an index of its block."""
        if self.frame is not None and self.frame.kernel:
            self.reads[self.frame.kernel].blocks.add(index)

    def set_later(self, kernel: str, steps: Iterable[Step], all_known: bool = False) -> tuple[Step, ...]:
        """Of reads of registers in a run of the kernel, those of such as are written later, and known to be so.

        ``all_known``: the run has met nothing that is not known, whatever walks of the kernel have.
        """
        reads = self.reads.get(kernel, Reads())
        own = ((s, s.places[0].buffer) for s in steps)
        if reads.unsure and not all_known:
            return ()
        return tuple(s for s, b in own if b in reads.given and reads.owns(b, all_known))

    def sets(self, t: TensorVal, span: Span | None = None, foreseen: bool = False) -> None:
        """Something is written to a tensor, by this statement, if it is one; ``foreseen``: by a copy or product."""
        if self.frame is not None and self.frame.kernel and t.pointer is not None:
            reads = self.reads[self.frame.kernel]
            if span not in reads.computed:
                reads.given.add(t.pointer.buffer)
            if not foreseen:
                reads.otherwise.add(t.pointer.buffer)
            reads.computes = reads.computes or t.space == "gmem"
            reads.stores = reads.stores or t.space not in ("rmem", "smem", "tmem")

    def foreseen(self, target: Value) -> None:
        """A copy or product of a loop whose changes are looked for: what it writes is written before what follows."""
        if isinstance(target, TensorVal) and target.pointer is not None:
            self.sets(target, foreseen=True)
        elif self.frame is not None and self.frame.kernel:
            self.reads[self.frame.kernel].blurred = True

    def computed(self, t: TensorVal, span: Span) -> None:
        """All elements of a tensor are set to what was computed."""
        self.sets(t)
        if self._events_off or self.frame is None or not self.frame.kernel or t.pointer is None:
            return
        reads = self.reads[self.frame.kernel]
        if t.space == "rmem":
            name = t.name or _STORE.split(self.text(span), maxsplit=1)[0]
            reads.last[t.pointer.buffer] = self.way(span), replace(self.tensor_fact(t, span), name=name)

    def is_dynamic(self, variable: str) -> bool:
        """Whether shared memory is an ``extern`` array, or its size is not known."""
        known = self.buffers.get(variable)
        return known is None or not isinstance(known.fact.size_bytes, int)

    def leaves(
        self, kernel: str, span: Span, given: Outputs | None = None, numbers: frozenset[str] = frozenset()
    ) -> None:
        """A kernel was walked to its end: what it has copied or computed, and nothing reads, is a fact; ``numbers``:
        run-time numbers that it is given.
        """
        if kernel not in self.reads:
            return
        idle = () if self.open else self.reads[kernel].idle(given, self.buffers)
        found = replace(
            self.reads[kernel].leftovers(self.is_dynamic), idle=idle, kernel=None if self.open else span,
            numbers=tuple(sorted(numbers)),
        )  # fmt: skip
        places = [at for way in (*(w for w, _ in (*found.left, *found.unset)), *found.read) for at in reversed(way)]
        at = next((p for p in places if not is_cute_header(p.path)), span)  # a file that may be reported
        self.calls["leftovers", kernel, span] = CallFact(
            "leftovers", at, (found,), Unknown(LEFTOVERS, span), kernel,
            self.arch, order=self.clock, kernel=kernel,
        )  # fmt: skip
