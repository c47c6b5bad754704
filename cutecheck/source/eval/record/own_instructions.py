"""Copies and accesses by instructions of their own, without tensors: TMA stores, bytes of each thread, other blocks."""

from __future__ import annotations

import re
from copy import copy as shallow
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import Guard, Span, TensorFact, Unknown
from cutecheck.facts.core import (
    ACROSS,
    BULK_STORE,
    CHUNK,
    ELEMENT_READ,
    ELEMENT_STORED,
    FILLED,
    GUARDED,
    MULTICAST,
    PAST_REGISTERS,
    REMOTE,
    STORED,
)
from cutecheck.facts.core import Call as CallFact
from cutecheck.model.dtype import dtype
from cutecheck.model.ints import Dyn
from cutecheck.model.layout import Layout
from cutecheck.source.eval.record.launches import LaunchRecorder
from cutecheck.source.eval.values import Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.model.expr import Expr

_FRESH = re.compile(r"#\d+")
TIMES = 16  # that one element is noted at a place of a kernel
_BYTE = dtype("uint8_t")


class InstructionRecorder(LaunchRecorder):
    """What instructions do that are given addresses."""

    def asking(self, copy: Value, guard: Guard) -> Value:
        """A copy that moves its elements where a condition holds, and zeros elsewhere; known by its identity."""
        key = (id(copy), repr(guard))
        if key not in self._telling:
            made = shallow(copy)
            self._telling[key] = (copy, made)
            self._asking[id(made)] = replace(guard, fills=True)
        return self._telling[key][1]

    def drained(self, span: Span, at: tuple[str, Expr], bytes_: Value) -> None:
        """An instruction of TMA's own name stores shared memory from here on; how much of it may not be known."""
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.drains(span, self.frame.symbol, at, bytes_)
        if self._events_off or self.frame is None:
            return
        self.clock += 1
        where, bindings = self.frame.symbol, self.frame.bindings
        begin = Dyn(at[1]) if at[1].constant is None else at[1].constant
        given = begin, self._fact(bytes_, span)
        self.calls[(span, "bulk.store", where, bindings, self.clock)] = CallFact(
            "bulk.store", span, given, Unknown(BULK_STORE, span), where, self.arch, bindings, (), self.clock,
             tuple(self._guards), len(self._loops), self._loops, self.frame.kernel, False,
            f"{self.frame.kernel}|{at[0]}",
        )  # fmt: skip

    def multicast(self, copy: Value, span: Span, given: Value = None) -> None:
        """A copy is made that brings its bytes to the blocks of a mask: the copy's own, or one that it is given."""
        mask = given.value if isinstance(given, Scalar) else self._masks.get(id(copy), given)
        if isinstance(mask, bool) or not isinstance(mask, (int, Dyn)) or self._events_off or self.frame is None:
            return
        self.clock += 1
        where, bindings = self.frame.symbol, self.frame.bindings
        kernel = self.frame.kernel
        self.calls[(span, "multicast", where, bindings, kernel if span.is_python else "")] = CallFact(
            "multicast", span, (mask,), Unknown(MULTICAST, span), where, self.arch, bindings, (), self.clock,
            tuple(self._guards), len(self._loops), self._loops, kernel,
        )  # fmt: skip

    def follows_elements(self) -> bool:
        """Whether elements of shared memory that are stored and read here are noted, or steps of a run."""
        replay = self.acts()
        if replay is not None:
            return replay.follows_elements()
        return not self._events_off and self.in_kernel() and bool(self.buffers)

    def follows_reads(self) -> bool:
        """Whether elements that are read are; in the run of one thread those of stages that TMA fills."""
        replay = self.acts()
        return self.follows_elements() or (replay is not None and replay.thread is not None and not replay.by_source)

    def chunk(self, span: Span, at: tuple[str, Expr], size: int, how: str, source: Value, maybe: bool) -> None:
        """Assembly copies bytes of each thread to shared memory, asynchronously (``copied``), stores or reads them."""
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.chunk(span, self.frame.symbol, at, size, how, source, maybe)
        if self._events_off or not self.follows_elements() or self.frame is None or maybe:
            return
        where, bindings = self.frame.symbol, self.frame.bindings
        begin = at[1].constant if at[1].constant is not None else Dyn(at[1])
        key = (span, CHUNK, how, where, self.frame.kernel, bindings, _FRESH.sub("#", f"{at[0]}+{at[1]}"))
        times, last = self._elements.get(key, (0, -1))
        if times == 0 or (last < self.held_at and times < TIMES):
            name = at[0].rpartition("::")[2].rpartition(".")[2]
            bytes_ = TensorFact(name, span, "smem", Layout(size, 1), _BYTE, at[0], begin)
            what = ELEMENT_READ if how == "read" else ELEMENT_STORED
            self._of_elements((*key, times), what, span, (bytes_,), CHUNK, (("asynchronous", how == "copied"),))
            self._elements[key] = times + 1, self.clock

    def across(self, tensor: TensorVal, of: Span, offsets: frozenset[int], span: Span) -> None:
        """What a thread reduced a fragment to, at ``of``, is brought together with other lanes' at these offsets."""
        if self._events_off or self.frame is None:
            return
        where, bindings, kernel = self.frame.symbol, self.frame.bindings, self.frame.kernel
        key = (of, "across", bindings, kernel)
        before = self.calls.get(key)
        known = dict(before.keywords)["offsets"] if before is not None else ()
        found = offsets | frozenset(known if isinstance(known, tuple) else ())
        given = before.arguments if before is not None else (self._fact(tensor, of),)
        self.clock += 1
        self.calls[key] = CallFact(
            "across", span, given, Unknown(ACROSS, of), where, self.arch, bindings, (), self.clock,
            tuple(self._guards), len(self._loops), self._loops, kernel, keywords=(("offsets", tuple(sorted(found))),),
        )  # fmt: skip

    def reaches(self, span: Span, tells: bool) -> None:
        """Shared memory of another block of the cluster is accessed; ``tells``: and a barrier there told of it."""
        if self._events_off or self.frame is None:
            return
        self.clock += 1
        where, bindings = self.frame.symbol, self.frame.bindings
        self.calls[(span, "remote", where, bindings)] = CallFact(
            "remote", span, (), Unknown(REMOTE, span), where, self.arch, bindings, (), self.clock,
            tuple(self._guards), len(self._loops), self._loops, self.frame.kernel, keywords=(("tells", tells),),
        )  # fmt: skip

    def computed(self, t: TensorVal, span: Span) -> None:
        super().computed(t, span)
        self.filled(t, span)

    def filled(self, t: TensorVal, span: Span) -> None:
        """All elements of a tensor in shared memory or registers are set to what is no other tensor's."""
        space = t.pointer.space if t.pointer is not None else t.space
        if space in ("smem", "rmem") and self.acts() is None and self.in_kernel() and not self._events_off:
            assert self.frame is not None
            buffer = t.pointer.buffer if t.pointer is not None else ""  # a helper is given one after the other
            key = (span, "filled", self.frame.symbol, self.frame.kernel, self.frame.bindings, buffer)
            if key not in self.calls:
                self._of_elements(key, FILLED, span, (self.tensor_fact(t, span),), "filled")

    def follows_stores(self) -> bool:
        """Whether elements of global memory that are stored leave facts: in kernels, outside of all runs."""
        return self.acts() is None and self.in_kernel() and not self._events_off

    def stored_element(self, t: TensorVal, span: Span) -> None:
        """An element of global memory is stored, maybe under a condition on coordinates; the first time counts."""
        if self.frame is None:
            return
        key = (span, "guarded", self.frame.symbol, self.frame.kernel, self.frame.bindings)
        if key not in self.calls:
            what = GUARDED if any(g.bounds for g in self._guards) else STORED
            self._of_elements(key, what, span, (self.tensor_fact(t, span),), "element.global")
            self.calls[key] = replace(self.calls[key], hypotheses=tuple(self.hypotheses))

    def past_registers(self, t: TensorVal, last: int, size: int, span: Span) -> None:
        """An element is read or stored behind the last that registers have, once for each place."""
        if self.frame is not None:
            key = (span, "past", self.frame.symbol, self.frame.kernel, self.frame.bindings)
            numbers = (("last", last), ("elements", size))
            self._of_elements(key, PAST_REGISTERS, span, (self.tensor_fact(t, span),), "element.registers", numbers)

    def _of_elements(
        self, key: tuple[Any, ...], what: str, span: Span, arguments: tuple[TensorFact, ...], function: str = "element",
        keywords: tuple[tuple[str, object], ...] = (),
    ) -> None:  # fmt: skip
        if self.frame is not None:
            self.clock += 1
            self.calls[key] = CallFact(
                function, span, arguments, Unknown(what, span), self.frame.symbol, self.arch, self.frame.bindings, (),
                self.clock, tuple(self._guards), len(self._loops), self._loops, self.frame.kernel,
                keywords=keywords, block=self.block_shape(),
            )  # fmt: skip
