"""What every part of the record shares: places, texts, guards, hypotheses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cutecheck.facts import (
    Bindings,
    Event,
    Guard,
    Hypothesis,
    Launch,
    Lint,
    Loop,
    Predicate,
    Site,
    SmemBuffer,
    Span,
    Unknown,
)
from cutecheck.facts.core import Call as CallFact
from cutecheck.model.dtype import DType
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Int, Sym
from cutecheck.source.eval import ir
from cutecheck.source.eval.program import is_cute_header
from cutecheck.source.eval.record.conditions import conditions, divisibilities, implied, said, stated
from cutecheck.source.eval.record.describing import Describing
from cutecheck.source.eval.record.leftovers import Reads
from cutecheck.source.eval.scope import ClassInst, Env, Frame
from cutecheck.source.eval.types import class_name, spell
from cutecheck.source.eval.values import (
    Pointer,
    PtrType,
    Scalar,
    TensorVal,
    Value,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.asked_flags import Flags, Said
    from cutecheck.source.eval.handed import Handed
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying


@dataclass(slots=True)
class _Buffer:
    fact: SmemBuffer
    accesses: list[str] = field(default_factory=list)
    escapes: list[Unknown] = field(default_factory=list)


# values of the evaluator alone
Standing = tuple[tuple[Hypothesis, ...], tuple[Guard, ...]]


class RecorderState(Describing):
    """The state of one machine's record. ``source`` gives the text of a file for names in reports."""

    def __init__(self, arch: str, source: Callable[[str], list[str]]) -> None:
        super().__init__(source)
        self.arch = arch
        self.asked: frozenset[str] = frozenset()  # files that are reported on
        self.compared: dict[str, str] = {}  # unknown parameters with what runs pass by pass compare them with
        self.weighed = False  # a run has compared a number of all threads that is not followed with 0.0
        self.frame: Frame | None = None
        self.call: ir.Call | None = None
        self.sites: dict[tuple[Any, ...], Site] = {}
        # configurations without a name so far, by place, function and bindings: (name, span, value, open)
        self.loose: dict[tuple[Span, tuple[str, Bindings]], tuple[str, Span, Value, bool]] = {}
        self.reached: dict[tuple[str, str], dict[Span, Value]] = {}  # by (path, name)
        self.cut: dict[Span, str] = {}  # functions that a limit left in the middle, and which
        self.unread: dict[Span, str] = {}  # functions that are not walked, and why
        self.walked: set[Span] = set()  # functions with a body that ran under bound parameters
        self.reached_open: set[Span] = set()  # of these, under template parameters that nothing binds
        # bindings given by hand, by file and text: where they stand, and why they come to nothing
        self.wishes: dict[tuple[str, str], tuple[Span, str]] = {}
        self.open_kernels: dict[Span, str] = {}  # kernel templates that no translation unit instantiates
        self.events: dict[tuple[Any, ...], Event] = {}
        self._variants: dict[tuple[Any, ...], set[str]] = {}  # of the events of one place in one instantiation
        self.buffers: dict[str, _Buffer] = {}
        self.launches: dict[tuple[Any, ...], Launch] = {}
        self.instances: list[ClassInst] = []
        self.internals: list[tuple[str, Span | None, BaseException]] = []
        self.defined: dict[str, str] = {}  # functions that were walked, by symbol, with their files
        self.hypotheses: list[Hypothesis] = []
        self.symbols = False  # an open static integer exists
        self.calls: dict[tuple[Any, ...], CallFact] = {}
        self._telling: dict[tuple[int, str], tuple[Value, Value]] = {}  # copies with the barriers that they tell
        self._told: dict[int, str] = {}
        self._told_at: dict[int, Pointer | None] = {}  # which of an array, in a run
        self._masks: dict[int, Int] = {}  # of copies with multicast
        self._asking: dict[int, Guard] = {}  # of copies that fill with zeros where a condition does not hold
        self.handed: list[Handed] = []  # calls of functions that other units define
        self.lints: dict[Span, Lint] = {}
        self.predicates: dict[tuple[Any, ...], Predicate] = {}
        self.pending: list[Any] = []
        self.open = False  # evaluating a template whose parameters nothing binds
        self.clock = 0
        self.singles: dict[tuple[int, str], tuple[object, Pointer]] = {}  # shared numbers, by the scope and its name
        self._elements: dict[tuple[Any, ...], tuple[int, int]] = {}  # how often noted, and when last
        self.held_at = -1  # when threads were last held back, or may have been
        self._events_off = False
        self.types = 0  # how many decltype and sizeof surround what is evaluated
        self.in_barrier = 0  # how many steps of a barrier that the library has are being walked
        self.making = 0  # how many objects of watched classes are being made, one a part of the other
        self.rehearsal = 0  # how many walks that leave no fact surround this one
        self._loops: tuple[Loop, ...] = ()  # around what is walked, the outermost first
        self._passes: list[tuple[int | None, str]] = []  # of each loop around: how many, and what counts them
        self._outside = 0  # how many conditions are around the outermost loop
        self._before = 0  # how many conditions are around the innermost of them
        self._guards: list[Guard] = []
        self.replaying: Replaying | None = None  # the run of a kernel pass by pass
        self.ranks: dict[Expr, Value] = {}  # of addresses in other blocks of the cluster: in which one, as said last
        self.reads: defaultdict[str, Reads] = defaultdict(Reads)  # by kernel
        self.eventful: set[int] = set()  # loops in which something happened, by ``id``
        self.exchanges = 0  # calls among the lanes of a warp, by which nobody waits for others' memory
        self.flags: dict[tuple[str, str], Flags] = {}  # what elements of tensors of bools were computed from
        self.named: dict[Expr, Said] = {}  # what variables compare, by their values
        self.coordinates: dict[Expr, tuple[Int, ...]] = {}  # of which variables hold parts, by their values
        self.compared_as: dict[int, tuple[Value, Said]] = {}  # those that are no numbers, by the object (``id``) itself
        self.lanes: dict[int, tuple[Value, Any]] = {}  # where numbers of the DSL come from, by the object, likewise
        self.elementary: set[int] = set()  # those in which single elements of shared memory are accessed, and no more
        self.single_elements = 0  # how many of them were noted
        self._threads: dict[str, int] = {}
        self.starts: dict[str, int | None] = {}  # of members of structs in memory: bytes from the start
        self.begun: dict[tuple[object, ...], TensorVal] = {}  # tensors whose first element a pointer was taken to
        self.scales = False  # some MMA was told on the way to set its accumulators, not to add to them
        self.register_sizes: dict[str, tuple[int | None, DType | None]] = {}  # elements of tensors of registers
        self.addresses: dict[str, PtrType] = {}  # of what, by the registers of tensors of pointers
        self.of_unions: set[str] = set()  # buffers that members of a union share
        self._dims: dict[str, tuple[int | None, ...]] = {}  # of the blocks of kernels, x first
        self._grids: dict[str, tuple[int | None, ...]] = {}  # of kernels of the DSL: those of the launch that is walked

    def found(self) -> int:
        """How much of CuTe was come across so far."""
        return len(self.sites) + len(self.loose) + len(self.events)

    def left_out(self) -> int:
        """How many functions were not walked to their end so far, or raised an error."""
        return len(self.cut) + len(self.unread) + len(self.internals)

    def progress(self) -> int:
        """How much there is for which a host program is evaluated: what was come across, and launches."""
        return self.found() + len(self.launches) + len(self.handed)

    def all_found(self) -> int:
        """How much was come across that is reported or asked for, launches included."""
        return self.progress() + len(self.calls) + len(self.lints) + len(self.predicates)

    def acts(self) -> Replaying | None:
        """The run of a kernel that what happens here is a step of."""
        return self.replaying if not self.types and self.rehearsal == 1 else None

    def begins(self, span: Span) -> None:
        """A statement of a kernel that is run pass by pass."""
        if self.replaying is not None and self.frame is not None:
            self.replaying.at[self.frame.depth] = span

    def rehearses(self) -> bool:
        """What is walked leaves nothing behind, no step of a run pass by pass either."""
        return self.rehearsal > (0 if self.replaying is None else 1)

    def is_unevaluated(self) -> bool:
        """Inside decltype and sizeof, where nothing that is walked leaves a fact."""
        return self._events_off and not self.rehearsal

    def threads_of(self, kernel: str) -> int:
        """Threads of a kernel's blocks; one where that is not known."""
        return self._threads.get(kernel, 1)

    def block_shape(self) -> tuple[int | None, ...]:
        """Threads of the block along x, y and z, as far as its launch says; empty where it does not."""
        return self._dims.get(self.frame.kernel, ()) if self.frame is not None else ()

    def shape_of(self, kernel: str) -> tuple[int | None, ...]:
        """Threads of a kernel's blocks along x, y and z, as far as its launch says."""
        return self._dims.get(kernel, ())

    def in_kernel(self) -> bool:
        """Whether what is walked runs on the device, as far as a launch or a kernel's own declaration says so."""
        return self.frame is not None and bool(self.frame.kernel)

    def on_host(self) -> bool:
        """Whether what is walked is called by host code: the outermost function has no mark of the device."""
        frame = self.frame
        if frame is None or frame.kernel:
            return False
        while frame.caller is not None:
            frame = frame.caller
        return isinstance(frame.function, ir.Function) and not frame.function.flags & {"device", "kernel"}

    def _place(self, env: Env) -> tuple[str, Bindings]:
        """The qualified name of the scope of a declaration, and the bindings in force there."""
        at: Env | None = env
        while at is not None:
            if at.kind == "class" and at.cls is not None:
                names = [p.name for p in at.cls.decl.tparams or () if p.name]
                return class_name(at.cls), tuple(zip(names, (spell(a) for a in at.cls.args), strict=False))
            if at.kind == "function" and at.frame is not None:
                return at.frame.symbol, at.frame.bindings
            if at.scope is not None:
                return at.scope.path, ()
            at = at.parent
        return "", ()

    def open_parameter(self, m: Machine, p: ir.TParam) -> Value:
        """A template parameter that nothing binds: an open static integer, or an unknown type."""
        if (
            p.kind == "value"
            and isinstance(p.type, ir.Name)
            and p.type.ident in ("int", "unsigned", "size_t", "uint32_t", "int32_t")
        ):
            self.symbols = True
            return Scalar(Sym.named(p.name), "int")
        return Unknown(f"template parameter `{p.name or '<unnamed>'}` is bound nowhere in the scanned files", p.span)

    def internal(self, name: str, span: Span | None, error: BaseException) -> None:
        self.internals.append((name, span, error))

    def instantiated(self, m: Machine, inst: ClassInst) -> None:
        self.instances.append(inst)

    @contextmanager
    def unevaluated(self) -> Iterator[None]:
        """Inside decltype and sizeof nothing happens: no events, no escapes."""
        saved, self._events_off = self._events_off, True
        self.types += 1
        try:
            yield
        finally:
            self._events_off = saved
            self.types -= 1

    @contextmanager
    def rehearsing(self) -> Iterator[None]:
        """Nothing that happens inside leaves a fact."""
        saved, self._events_off = self._events_off, True
        self.rehearsal += 1
        try:
            yield
        finally:
            self.rehearsal -= 1
            self._events_off = saved

    @contextmanager
    def once(self) -> Iterator[None]:
        """What is evaluated inside is never evaluated again: its configurations are noted in a rehearsal, too."""
        saved, self.rehearsal = self.rehearsal, 0
        try:
            yield
        finally:
            self.rehearsal = saved

    def standing(self) -> Standing:
        """What holds where the evaluation is."""
        return tuple(self.hypotheses), tuple(self._guards)

    @contextmanager
    def as_of(self, standing: Standing) -> Iterator[None]:
        """What held at an earlier place is all that holds inside."""
        saved = self.hypotheses, self._guards
        self.hypotheses, self._guards = list(standing[0]), list(standing[1])
        try:
            yield
        finally:
            self.hypotheses, self._guards = saved

    @contextmanager
    def guarded(self, guard: Guard, by_thread: bool = False) -> Iterator[None]:
        """Under a condition; ``by_thread``: each thread answers it by its index, or by registers."""
        self._guards.append(guard)
        try:
            with self.undecided(by_thread):
                yield
        finally:
            self._guards.pop()

    @contextmanager
    def undecided(self, by_thread: bool) -> Iterator[None]:
        """What a run pass by pass may come to or not."""
        replay = self.replaying
        if replay is not None:
            replay.under.append(by_thread)
        try:
            yield
        finally:
            if replay is not None:
                replay.under.pop()

    @contextmanager
    def looping(
        self,
        span: Span,
        trips: int | None = None,
        whole: bool = False,
        step: int = 0,
        item: str = "",
        counter: str = "",
    ) -> Iterator[None]:
        """Inside a loop that is walked once, as :class:`Loop` says; ``trips``: how often its body runs at most, and,
        where a variable counts them, whenever it is come to."""
        saved = self._loops, self._before
        if not self._passes:
            self._outside = len(self._guards)
        self._passes.append((trips, counter))
        self._loops = (*self._loops, Loop(span, trips, self.clock, whole, step, item))
        self._before = len(self._guards)
        try:
            yield
        finally:
            self._loops, self._before = saved
            self._passes.pop()

    def counts(self) -> dict[str, int]:
        """What counts the passes of loops around, and how many, of those that make all whenever they are come to."""
        return {counter: trips for trips, counter in self._passes if counter and trips is not None}

    def in_doubt(self) -> bool:
        """Some condition of the kernel's, inside the outermost loop, may leave out what is walked."""
        return any(not g.host for g in (self._guards[self._outside :] if self._passes else self._guards))

    @contextmanager
    def on_device(self) -> Iterator[None]:
        """Inside a kernel: the loops of the host around its launch are not the kernel's, its conditions are marked."""
        saved = self._loops, self._guards, self._passes
        self._loops, self._guards, self._passes = (), [replace(g, host=True) for g in self._guards], []
        try:
            yield
        finally:
            self._loops, self._guards, self._passes = saved

    def loop_item(self, m: Machine, node: ir.Loop, env: Env) -> Value:
        return Unknown("the items of this loop are not known", node.span)

    def hypothesis(self, m: Machine, node: ir.Assert, env: Env) -> None:
        """An assertion of the scanned code (never CuTe's own) that dominates what follows."""
        if is_cute_header(node.span.path):
            return
        found = [*conditions(m, node.cond, env), *said(m, node.cond, env)]
        for condition in [*found, *(c for one in found for c in implied(one) if c not in found)]:
            self.hypotheses.append(Hypothesis(condition, node.span, node.kind, self.frame.symbol if self.frame else ""))

    def states(self, m: Machine, node: ir.Assert, value: Value) -> None:
        """An assertion whose condition has changed something: what its value says, not what its text does."""
        if not is_cute_header(node.span.path):
            where = self.frame.symbol if self.frame else ""
            self.hypotheses += [Hypothesis(c, node.span, node.kind, where) for c in stated(m, value, True)]

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """What may not be run, or not to its end: nothing that holds there holds after it."""
        known = len(self.hypotheses)
        try:
            yield
        finally:
            del self.hypotheses[known:]

    @contextmanager
    def passed(self, m: Machine, node: ir.Expr | None, env: Env, holds: bool, value: Value = None) -> Iterator[None]:
        """Where a run-time condition of the scanned code is known to hold, or not to: what it says of divisors.

        ``value``: what it evaluated to.
        """
        known = len(self.hypotheses)
        span: Span | None = getattr(node, "span", None)
        if node is not None and span is not None and not is_cute_header(span.path):
            where = self.frame.symbol if self.frame else ""
            for condition in divisibilities(m, node, env, holds, value):
                self.hypotheses.append(Hypothesis(condition, span, "guard", where))
        try:
            yield
        finally:
            del self.hypotheses[known:]
