"""Copies, gemms, barriers and the calls that rules look at, in the order they happen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy as shallow
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from cutecheck.facts import Event, Span, TensorFact, Unknown
from cutecheck.facts.core import (
    BARRIER,
    ELEMENT_READ,
    ELEMENT_STORED,
    MEMORY_STORED,
    NOT_WALKED,
    PIPELINE,
    UNSEEN,
)
from cutecheck.facts.core import Call as CallFact
from cutecheck.facts.replayed import REPLAY, Replay, Step
from cutecheck.model.ints import Condition, Int
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.record import in_clusters
from cutecheck.source.eval.record.kinds import CONFIG_TYPES
from cutecheck.source.eval.record.own_instructions import TIMES, InstructionRecorder
from cutecheck.source.eval.record.variants import of_both, variant_of, variant_of_bounds, without_numbers
from cutecheck.source.eval.values import Extern, Pointer, Scalar, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.model.expr import Expr
    from cutecheck.source.eval.intrinsics.registry import Call
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying
    from cutecheck.source.eval.scope import Frame

_Fact = TypeVar("_Fact", Event, CallFact)

RECORDED = frozenset({
    "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_S",
    "make_tiled_copy_D", "make_tiled_mma", "make_cotiled_copy", "logical_divide", "zipped_divide", "tiled_divide",
    "flat_divide", "local_tile", "local_partition", "make_tma_copy", "make_tma_atom", "make_tma_copy_A_sm90",
    "make_tma_copy_B_sm90", "make_tma_copy_C_sm90", "make_tma_atom_A_sm100", "make_tma_atom_B_sm100",
    "partition_fragment_A", "partition_fragment_B", "partition_fragment_C", "make_fragment_A", "make_fragment_B",
    "make_fragment_C", "partition_S", "partition_D", "partition_A", "partition_B", "partition_C", "retile_S",
    "retile_D", "tile_to_shape", "make_swizzle", "complement", "make_tiled_copy_tv", "composition", "make_tensor",
    "recast", "make_fragment_like", "make_tensor_like", "make_composed_layout", "axpby", "keyword",
    "inline_asm",
})  # fmt: skip
_INDEXED = "coordinate"  # no function of CuTe's, but what a tensor of the Python DSL is indexed with


# among the lanes of a warp
EXCHANGES = ("__shfl", "__any_sync", "__all_sync", "__ballot_sync", "__match_", "__reduce_")
MOST_VARIANTS = 64  # of one call in one instantiation: with other operands each time it is reached


class EventRecorder(InstructionRecorder):
    """Events and calls."""

    def telling(self, copy: Value, barriers: str, mask: Int | None = None, one: Pointer | None = None) -> Value:
        """A copy that tells these barriers when its bytes have come: one equal to it, and known by its identity.

        ``mask``: of the blocks of the cluster that it brings its bytes to. ``one``: which of its array, in a run.
        """
        key = (id(copy), f"{barriers} {mask} {'' if one is None else one.offset}")
        if key not in self._telling:
            made = shallow(copy)
            self._telling[key] = (copy, made)  # both are kept: no other object gets their identity
            self._told[id(made)] = barriers
            self._told_at[id(made)] = one
            if mask is not None:
                self._masks[id(made)] = mask
        return self._telling[key][1]

    def telling_as(self, said: Value, atom: Value) -> Value:
        """The atom that a copy becomes, which tells the barriers that the copy does."""
        barriers = self._told.get(id(said), "")
        mask, one = self._masks.get(id(said)), self.told_at(said)
        return self.telling(atom, barriers, mask, one) if barriers else atom

    def told_by(self, copy: Value) -> str:
        """The barriers that a copy tells; empty where they are not known."""
        return self._told.get(id(copy), "")

    def told_at(self, copy: Value) -> Pointer | None:
        """Which of the barriers of an array a copy tells, where a run knows it."""
        return self._told_at.get(id(copy))

    def called(self, m: Machine, c: Call, value: Value) -> None:
        """A function of CuTe that rules look at was called."""
        name = c.name.rsplit("::", 1)[-1]
        refused = isinstance(value, Unknown) and value.rejected and value.span == c.span
        if self.rehearsal or (name not in RECORDED and name != _INDEXED and not refused):
            return
        arguments = tuple(self._fact(a, c.span) for a in c.args)
        where, bindings = (self.frame.symbol, self.frame.bindings) if self.frame is not None else ("", ())
        self.clock += 1
        kernel = self.frame.kernel if self.frame is not None else ""
        fact = CallFact(
            name, c.span, arguments, self._fact(value, c.span), where, self.arch, bindings, tuple(self.hypotheses),
            self.clock, tuple(self._guards), len(self._loops), self._loops, kernel, self.types > 0,
        )  # fmt: skip
        self.calls[(c.span, where, bindings, kernel if c.span.is_python else "")] = fact

    def synchronises(self, m: Machine, name: str, args: list[Value], span: Span, what: str = "a barrier") -> None:
        """A barrier, wait or announcement of bytes is called, or ``what``, followed or not.

        A barrier or wait leaves a fact each time it is reached.
        """
        replay = self.acts()
        if what == NOT_WALKED:
            self.loses_sight(span)
        if replay is not None and self.frame is not None:
            replay.called(name, args, what, span, self.frame.symbol, bool(self._loops))
        if self._events_off or self.frame is None:
            return
        self.clock += 1
        self.exchanges += name.rpartition("::")[2].startswith(EXCHANGES)
        where, bindings = self.frame.symbol, self.frame.bindings
        given = tuple(self._fact(a, span) for a in args)
        key: tuple[Any, ...] = (span, name, where, bindings)
        if what != "a barrier" or "expect" in name or "transaction_bytes" in name:
            if key in self.calls:
                return  # walked before: events keep their first order, too
        else:
            key = (*key, self.clock)
            self.held_at = self.clock
        self.calls[key] = CallFact(
            name.rsplit("::", 1)[-1].rsplit(".", 1)[-1], span, given, Unknown(what, span), where, self.arch,
            bindings, (), self.clock, tuple(self._guards), len(self._loops), self._loops, self.frame.kernel,
        )  # fmt: skip

    def pipelined(self, name: str, subject: str, span: Span, keywords: tuple[tuple[str, object], ...] = ()) -> None:
        """A pipeline is made, waited for or told; each time that it is reached."""
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.pipelined(name, subject, span, self.frame.symbol, keywords)
        if self._events_off or self.frame is None:
            return
        self.clock += 1
        where, bindings = self.frame.symbol, self.frame.bindings
        self.calls[(span, name, where, bindings, self.clock)] = CallFact(
            name, span, (), Unknown(PIPELINE, span), where, self.arch, bindings, (), self.clock, tuple(self._guards),
            len(self._loops), self._loops, self.frame.kernel, False, f"{self.frame.kernel}|{subject}", keywords,
        )  # fmt: skip

    def barrier(
        self, kind: str, buffer: str, span: Span, arguments: tuple[Value, ...], arrivals: int | None = None,
        commits: int | None = None, to: tuple[Value, ...] = (),
    ) -> None:  # fmt: skip
        """Something is done with a barrier in a buffer: its offset there, and the number that is given; each time.

        ``arrivals`` of each thread that comes here, at a barrier of its own block, where that is known; ``commits``:
        of each warp, once its MMAs are done (0: it is not known how many). ``to``: of an arrival, in which block of the
        cluster, and whether at all.
        """
        replay = self.acts()
        if replay is not None and self.frame is not None:
            if kind == "named":
                replay.named("sync", arguments, span, self.frame.symbol)
            else:
                arrives = arrivals if commits is None else commits or None
                if arrives is None and commits is None and kind == "arrive":
                    arrives = in_clusters.arrivals(replay, self.frame.kernel, to)
                if not replay.arrives_elsewhere(to, span):
                    replay.barrier(kind, buffer, span, self.frame.symbol, arguments, arrives, commits is not None)
        keywords = (
            () if not to else (("to", self._fact(to[0], span)), ("if", self._fact(to[-1], span) if to[1:] else 1))
        )
        keywords = keywords if commits is None else (*keywords, ("commits", commits))
        self._step_noted(kind, buffer, span, arguments, arrivals, keywords)

    def copied_by_then(self, span: Span) -> None:
        """What a thread copies by cp.async is there when the barrier that comes tells of it."""
        replay = self.acts()
        if replay is not None and self.frame is not None and replay.thread is not None:
            replay.add(Step("call", span, self.frame.symbol, "cp_async_wait", 0))

    def _step_noted(
        self, kind: str, buffer: str, span: Span, arguments: tuple[Value, ...], arrivals: int | None = None,
        keywords: tuple[tuple[str, object], ...] = (),
    ) -> None:  # fmt: skip
        if self._events_off or self.frame is None:
            return
        self.clock += 1
        self.held_at = self.clock
        where, bindings = self.frame.symbol, self.frame.bindings
        given = tuple(self._fact(a, span) for a in arguments)
        self.calls[(span, f"mbarrier.{kind}", where, bindings, self.clock)] = CallFact(
            f"mbarrier.{kind}", span, given, Unknown(BARRIER, span), where, self.arch, bindings, (), self.clock,
            tuple(self._guards), len(self._loops), self._loops, self.frame.kernel, False,
            f"{self.frame.kernel}|{buffer}", (*keywords, *(() if arrivals is None else (("arrivals", arrivals),))),
        )  # fmt: skip

    @contextmanager
    def outside(self, frame: Frame, within: list[Span]) -> Iterator[None]:
        """As a step of a caller: loops and conditions inside of the functions that it called are none of its own."""
        saved = self.frame, self._loops, self._guards
        self.frame = frame
        self._loops = tuple(x for x in self._loops if not any(_inside(x.span, w) for w in within))
        self._guards = [x for x in self._guards if not any(_inside(x.span, w) for w in within)]
        try:
            yield
        finally:
            self.frame, self._loops, self._guards = saved

    def loaded(
        self, buffer: str, span: Span, arguments: tuple[Value, ...], to: tuple[str, Expr] | None, pipeline: str = ""
    ) -> None:
        """A barrier is told of a copy by TMA that assembly starts: its offset, and the bytes; ``to`` a buffer.

        ``pipeline``: whose barrier it is, if it is of one.
        """
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.brings(pipeline or buffer, span, self.frame.symbol, arguments[1] if len(arguments) > 1 else None, to)
        self._step_noted("load", pipeline or buffer, span, arguments)

    def scaled(self, variable: str, mma: Value, value: Value) -> None:
        """``mma.accumulate_ = value``: whether its next products are added to what is in the accumulators."""
        replay = self.acts()
        number = str(value.value) if isinstance(value, Scalar) else ""
        name = getattr(value, "name", number).rpartition("::")[2]
        adds = {"Zero": False, "One": True, "0": False, "1": True}.get(name)
        if replay is not None and self.frame is not None:
            replay.scales(self.frame, variable, mma, None if replay.under else adds)
        elif not self.in_kernel():
            self.scales = True  # the kernel is given one that was told

    def arrives(self, arguments: tuple[Value, ...], span: Span) -> None:
        """A barrier of the hardware that is told of threads which do not wait there."""
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.named("arrive", arguments, span, self.frame.symbol)
        self._step_noted("named.arrive", "named", span, arguments)

    def worked_by_library(self, buffer: str, span: Span) -> None:
        """A pipeline of the library works on barriers in a buffer: what the kernel does with them is not all."""
        if self._events_off or self.frame is None:
            return
        subject = f"{self.frame.kernel}|{buffer}"
        key = ("mbarrier.escapes", subject, self.arch)
        if key not in self.calls:
            self.clock += 1
            self.calls[key] = CallFact(
                "mbarrier.escapes", span, (), Unknown(BARRIER, span), self.frame.symbol, self.arch,
                self.frame.bindings, (), self.clock, (), 0, (), self.frame.kernel, False, subject,
            )  # fmt: skip

    def assembled(self, value: Value, span: Span) -> None:
        """A value is named in assembly of the program's own: what it does with barriers is not known."""
        if isinstance(value, Pointer) and value.buffer in self.buffers and not self.in_barrier:
            self.barrier("escapes", value.buffer, span, ())

    def element(self, t: TensorVal, written: bool, span: Span) -> None:
        """One element of shared memory is stored, or read, by each thread that comes here."""
        space = t.pointer.space if t.pointer is not None else t.space
        if not written:
            self.takes_element(t, span)
        replay = self.acts()
        if replay is not None and self.frame is not None and space in ("smem", "rmem"):
            replay.element(self.tensor_fact(t, span), written, span, self.frame.symbol)
        if space == "smem" and replay is None and self.follows_elements():
            self.one_element(t, written, span)

    def of_memory(self, t: TensorVal, span: Span) -> None:
        """One element of global memory is stored by each thread that comes here: some times of each statement."""
        if self.frame is None or self._events_off or self.acts() is not None or not self.in_kernel():
            return
        key = (span, "stored element", self.frame.symbol, self.frame.kernel, self.frame.bindings)
        times, last = self._elements.get(key, (0, -1))
        if times < TIMES:
            self._elements[key] = times + 1, last
            self._of_elements((*key, times), MEMORY_STORED, span, (self.tensor_fact(t, span),), "stored element")

    def computes_with(self, t: TensorVal, spans: Sequence[Span]) -> None:
        """Elements of registers are computed with, at these places; the first of a statement's update is its own."""
        if self.frame is None or t.pointer is None:
            return
        replay = self.acts()
        fact = replace(self.tensor_fact(t, spans[0]), name=t.name)
        if replay is None:
            self.reads[self.frame.kernel].computed_with(fact, self.way(spans[0]), spans)
        elif not replay.under:
            replay.computes_with(fact, spans[0], self.frame.symbol)

    def one_element(self, t: TensorVal, written: bool, span: Span) -> None:
        """The first time counts, and the first since threads were held back, some times."""
        if self.frame is None:
            return
        replay = self.acts()
        if replay is not None:
            replay.accessed(self.tensor_fact(t, span), written, span, self.frame.symbol)
            return
        where, bindings = self.frame.symbol, self.frame.bindings
        key = (span, "element", written, where, self.frame.kernel, bindings, without_numbers(str(t.offset)))
        times, last = self._elements.get(key, (0, -1))
        if times == 0 or (last < self.held_at and times < TIMES):
            what = ELEMENT_STORED if written else ELEMENT_READ
            self._of_elements((*key, times), what, span, (self.tensor_fact(t, span),))
            self._elements[key] = times + 1, self.clock
            self.single_elements += 1

    def loses_sight(self, span: Span) -> None:
        """A function is called that is not followed: it may hold threads back, and store to memory that it finds."""
        if self.frame is not None and self.frame.kernel:
            self.reads[self.frame.kernel].stores = True
        if not self._events_off and self.follows_elements() and self.held_at != self.clock:
            self._of_elements((span, "unseen", self.clock), UNSEEN, span, ())
            self.held_at = self.clock

    def _step(
        self, replay: Replaying, kind: str, c: Call, tiled: Value, operands: list[Value], predicated: bool,
        signals: str,
    ) -> None:  # fmt: skip
        """A copy or gemm of a kernel that is run pass by pass."""
        assert self.frame is not None
        node = self.call
        spans = [a.value.span for a in node.args] if node is not None and node.span == c.span else []
        first = len(c.raw) - len(operands)
        facts = [
            self.tensor_fact(v, spans[first + i] if 0 <= first + i < len(spans) else c.span)
            for i, v in enumerate(operands) if isinstance(v, TensorVal)
        ]  # fmt: skip
        if len(facts) != len(operands) or self._loops:
            replay.end()
        past = [v.past for v in operands if isinstance(v, TensorVal)]
        replay.happened(
            kind, c.name, c.span, self.frame.symbol, tiled, facts, past, predicated, self.frame.depth, signals,
            replay.adds(self.frame, _variable(node, c), tiled),
        )  # fmt: skip

    def overwritten(self, c: Call, tensors: list[TensorVal]) -> None:
        """Tensors are cleared, filled or summed up: a step of a kernel that is run pass by pass."""
        for t in tensors:
            self.sets(t)
            self.filled(t, c.span)
            if c.name in ("clear", "fill"):
                self.empties(t, c.span)
        replay = self.acts()
        if replay is not None and self.frame is not None:
            replay.overwritten(c.name, c.span, self.frame.symbol, [self.tensor_fact(t, c.span) for t in tensors])

    def replayed(self, fact: Replay, kernel: str, span: Span) -> None:
        """A kernel was run pass by pass; of several launches, one may take what another one leaves."""
        self.clock += 1
        before = self.calls.get(("replay", kernel, span))
        if before is not None and before.arguments:
            known = cast("Replay", before.arguments[0])
            left = {_left(x, known) for x in known.missed}
            fact = replace(fact, missed=tuple(x for x in fact.missed if _left(x, fact) in left))
        every = (*fact.steps, *fact.tiles, *(s for t in fact.threads for s in t.steps))
        copies = (s.span for s in every if s.kind in ("copy", "load") and not is_cute_header(s.span.path))
        at = next(copies, span)  # the file of the kernel itself may not be one that is reported
        self.calls[("replay", kernel, span)] = CallFact(
            "replay", at, (fact,), Unknown(REPLAY, span), kernel, self.arch, (), (), self.clock, kernel=kernel
        )

    def no_longer(self, kernel: str, conditions: frozenset[Condition]) -> None:
        """A kernel is launched where these conditions are not known to hold, too."""
        if not conditions:
            return

        def without(fact: _Fact) -> _Fact:
            if fact.kernel != kernel or not any(h.condition in conditions for h in fact.hypotheses):
                return fact
            return replace(fact, hypotheses=tuple(h for h in fact.hypotheses if h.condition not in conditions))

        self.events = {key: without(event) for key, event in self.events.items()}
        self.calls = {key: without(call) for key, call in self.calls.items()}

    def event(
        self, m: Machine, kind: Any, c: Call, tiled: Value, operands: list[Value], predicate: Value,
        active: int | None = None, signals: str = "",
    ) -> None:  # fmt: skip
        """A copy or gemm happens; ``active``: in so many threads, from the first on (None: in all)."""
        replay = self.acts()
        if replay is not None and self.frame is not None:
            if isinstance(predicate, TensorVal):
                named = self.call.args[-3:-2] if self.call is not None and self.call.span == c.span else ()
                at = named[0].value.span if named else c.span
                replay.asks(self.tensor_fact(predicate, at), c.span, self.frame.symbol)
            self._step(replay, kind, c, tiled, operands, predicate is not None, signals)
        if self.rehearsal:
            self.foreseen(operands[0 if kind == "gemm" and len(operands) > 3 else -1] if operands else None)
        if self._events_off or self.frame is None:
            return
        node = self.call
        spans = [a.value.span for a in node.args] if node is not None and node.span == c.span else []
        first = 1 if c.name == "cooperative_copy" else len(c.raw) - len(operands)
        reason = None
        facts: list[TensorFact] = []
        for i, v in enumerate(operands):
            span = spans[first + i] if 0 <= first + i < len(spans) else c.span
            if isinstance(v, TensorVal):
                facts.append(self.tensor_fact(v, span))
            else:
                reason = reason or (
                    v if isinstance(v, Unknown) else Unknown(f"operand {i + 1} is not a tensor cutecheck follows", span)
                )
                facts.append(TensorFact(self.text(span), span, "unknown", reason, None, offset=reason))
        if isinstance(tiled, (Unknown, Extern)):
            reason = reason or (
                tiled if isinstance(tiled, Unknown) else Unknown("the copy object is not known", c.span)
            )
        if self.open and reason is not None:
            if self.frame.kernel:  # it happens all the same, to the operands that are known
                self.reads[self.frame.kernel].unsure = True
            return
        threads, block = (self.block_threads(), self.block_shape()) if active is None else (active, ())
        self.clock += 1
        place = (c.span, self.frame.symbol, self.frame.bindings)
        variant = variant_of(facts, tiled)
        same = self.events.get((*place, variant))
        if same is not None and (same.threads, same.block) != (threads, block):
            variant = f"{variant}@{threads}{block or ''}"  # the kernel is launched with blocks of several sizes
        own = self._asking.get(id(tiled))
        guards = tuple(self._guards) if own is None else (*self._guards, own)
        variant = variant_of_bounds(variant, self.events.get((*place, variant)), guards)
        known = self._variants.setdefault(place, set())
        if variant not in known and len(known) >= MOST_VARIANTS:
            variant = "more"
            reason = Unknown(f"more than {MOST_VARIANTS} calls with other operands at this place", c.span)
        known.add(variant)
        ident = f"{kind}:{c.span}:{self.frame.symbol}:{self.arch}:{variant}"
        event = Event(
            ident, kind, c.name, c.span, tiled if isinstance(tiled, CONFIG_TYPES) else None,
            spans[0] if tiled is not None and spans else None, tuple(facts),
            self.tensor_fact(predicate, c.span) if isinstance(predicate, TensorVal) else None, predicate is not None,
            self.frame.symbol, self.arch, len(self._loops), guards, threads, reason,
            tuple(self.hypotheses), self.clock, self._loops, block, self.frame.kernel,
            f"{self.frame.kernel}|{signals}" if signals else "",
        )  # fmt: skip
        if event.kernel:
            self.reads[event.kernel].happened(event, m.recorder)
        key = (*place, variant)
        self.events[key] = of_both(self.events.get(key, event), event)  # walked before: events keep their first order
        for v in operands:
            if isinstance(v, TensorVal) and v.pointer is not None and v.pointer.buffer in self.buffers:
                self.buffers[v.pointer.buffer].accesses.append(ident)


def _inside(span: Span, around: Span) -> bool:
    at = (span.line, span.column), (span.end_line, span.end_column)
    begin, end = (around.line, around.column), (around.end_line, around.end_column)
    return span.path == around.path and begin <= at[0] and at[1] <= end


def _variable(node: ir.Call | None, c: Call) -> str:
    """The variable that is the first operand of a call; empty where it is an expression."""
    first = node.args[0].value if node is not None and node.span == c.span and node.args else None
    return first.ident if isinstance(first, ir.Name) else ""


def _left(missed: tuple[str, int, int], run: Replay) -> tuple[object, ...]:
    """A tile that a launch leaves out: which copies take the others, and whether it is the first or last of them.

    Launches have buffers and extents of their own.
    """
    buffer, tile, most = missed
    taken = frozenset(s.span for s in (*run.steps, *run.tiles) if s.places[:1] and s.places[0].buffer == buffer)
    ends = tile == 0, tile == most - 1
    return (taken, *ends) if taken and any(ends) else missed
