"""A kernel run once more, pass by pass: its run-time arguments are given values, and loops run as they say.

What is computed from a number that is made on the way (loaded, or joined after a condition) stays open: the run ends.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from cutecheck.facts import NOT_WALKED, Span, TensorFact, Unknown
from cutecheck.facts.replayed import ANY_BARRIER, Place, Step
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, SmemPtrFlag
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import ir
from cutecheck.source.eval.record.past import INDEX, Slices
from cutecheck.source.eval.record.regions import (
    DESCRIPTOR,
    by_hardware,
    followed,
    is_asynchronous,
    regions,
    variable_of,
)
from cutecheck.source.eval.record.rounds import MEMORY, Numbers, Rounds
from cutecheck.source.eval.shared_addresses import is_start
from cutecheck.source.eval.values import Enumerated, EnumVal, Pointer, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Frame

FLAG = Domain(values=(0, 1))  # of what is true or false
AT_LEAST = 768  # of a run-time number: some tiles of a matrix, a multiple of most of their extents
FEWER = 192  # where 768 are too many passes of a loop
_MOST_STEPS = 4000
_WARP = 32
_ADDRESS = (1 << 14) - 1  # of a descriptor
_BLOCKS = 4  # along y and z of the grid; along x so many that no block has a second tile
PASSES = 26  # of one loop; its later ones are as those before
MORE_PASSES = 130  # of one where the tiles of a row are few, or its length is a constant
FEW = 3  # of one that had no end for another thread
_NUMBER = re.compile(r"#(\d+)")
_WRAPPERS = ("cp_async_wait", "cp_async_wait_group", "cp_async_fence", "cp_async_commit_group", "commit")
_RELATIONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le}
# calls of one thread that wait for others, or for its own MMAs
HOLDING = frozenset({
    "__syncthreads", "syncthreads", "cluster_sync", "cluster_wait", "warpgroup_wait", "warpgroup_commit_batch",
    "tma_store_arrive", "tma_store_wait",
})  # fmt: skip
_OF_DSL = {  # names that the Python DSL has for them
    "sync_threads": "syncthreads", "wait_group": "warpgroup_wait", "commit_group": "warpgroup_commit_batch",
    "cp_async_bulk_commit_group": "tma_store_arrive", "cp_async_bulk_wait_group": "tma_store_wait",
}  # fmt: skip
_DSL_LETS_GO = re.compile(
    r"^(?:setmaxregister|wgmma_|mbarrier_init_fence$|sync_warp$|copy_tensormap$|tcgen05_|prefetch|griddepcontrol)"
)
# what has a barrier or wait in its name and holds back no other thread of the block
_LETS_GO = re.compile(
    r"^(?:__shfl|shfl|elect|canonical|init|fence|synclog|cp_async|warpgroup_|stream_|set_barrier|__syncwarp|griddep"
    r"|launch_dep|wait_on_dep|prefetch|cluster_arrive|block_rank|tma_store_fence|tma_desc|umma_arrive|producer_tail|load_tail)|alloc|free$"
)
_OF_LIBRARY = re.compile(r"(?:^|/)(?:include/)?(?:cute|cutlass)/")  # whose steps are known as a whole
# what the DSL names after waits and barriers, and which makes nothing visible to other threads
_ASIDE = re.compile(r"shuffle|redux|vote|ballot|fence|griddep|match_")
_PLAIN = "PipelineTmaAsync.create"  # the pipeline whose steps are known as steps of its barriers
_FULL, _EMPTY = "", ".empty"
_PIPELINED = {  # what a step does with which barrier
    "producer_acquire": (("wait", _EMPTY), ("expect", _FULL)), "consumer_wait": (("wait", _FULL),),
    "consumer_release": (("arrive", _EMPTY),),
    "producer_try": (("wait", _EMPTY),), "consumer_try": (("wait", _FULL),),  # in loops, or before a wait
}  # fmt: skip


class ReplayOver(Exception):
    """What comes next is not known, or no more need be known."""


class Replaying:
    """The run of one kernel. ``made``: numbers of the machine's that were made before it.

    ``given``: what a kernel may be given or not (pointers that it compares with null, flags) is given. ``thread``: the
    run is one thread's, by whose number all conditions on threads are decided; TMA, barriers in shared memory and
    WGMMA are followed then. Without, it is that of all threads, of which only plain copies are.
    """

    def __init__(
        self, m: Machine, given: bool = False, thread: int | None = None, least: int = AT_LEAST,
        views: dict[object, int] | None = None, numbers: Numbers | None = None, remembers: bool = True,
        passes: int = PASSES, endless: set[int] | None = None,
    ) -> None:  # fmt: skip
        self.machine = m
        self.made = m.made
        self.entered = m.made  # numbers of the machine's that were made before the first copy
        self.given = given
        self.thread = thread
        self.by_source = False  # of the Python DSL: pipelines are known by their own steps, no file is the library's
        self.caller: tuple[Span, str] | None = None  # of a step of a pipeline: where it is called
        self.telling: Value = None  # the barrier that the copy which comes tells
        self.of_elements = False  # a run of all threads goes on where elements of shared memory are read or stored
        self.state: tuple[Value, Value] = (None, None)  # of the pipeline's step that comes
        self.members: dict[str, str] = {}  # barriers that are single members of shared memory, and their whole names
        self.asked: dict[Expr, None] = {}  # conditions that depend on the thread
        self.cost = 0  # steps of the evaluation
        self.chose = False  # something depended on ``given``
        self.under: list[bool] = []  # of conditions that are not decided: whether each thread answers for itself
        self.steps: list[Step] = []
        self.at: dict[int, Span] = {}  # the statement that runs in each function, by how deep its call is
        self.least = least  # of run-time numbers
        self.passes = passes  # of one loop that are run
        self.long = False  # a loop has more of them
        self.slices = Slices(self)
        # layouts of tensors in shared memory, and their numbers
        self.views: dict[object, int] = {} if views is None else views
        # loops without a condition that came to no end in a run of another thread, nor to a step, by ``id``
        self.endless: set[int] = set() if endless is None else endless
        self.known: set[Span] = set()  # calls of which it is known whom they hold back
        self.held: set[Span] = set()  # calls that may hold threads back
        # variables that are MMAs, by the call of their function, and whether they add
        self.scaled: dict[tuple[int, str], tuple[Frame, object, bool | None]] = {}
        self.scalable: set[object] = set()  # MMAs that are told so
        self.rounds = Rounds()
        self.numbers: Numbers = dict(numbers or {})  # run-time numbers that this run has instead of its own
        self.memory = Loaded(remembers)

    def truth(self, condition: Expr) -> bool | None:
        """Of a condition that all threads answer alike."""
        variables = condition.variables()
        if any(v.name.startswith("threadIdx.") for v in variables):
            if self.thread is None:
                return None
            self.asked[condition] = None
        value = self.number(condition)
        if value is None:
            return None
        self.rounds.asked(condition)
        self.slices.decide(condition)
        return bool(value)

    def is_null(self, pointer: Pointer) -> bool:
        """Of a pointer that the kernel was given."""
        if pointer.space == "smem" or pointer.offset != 0:
            return False
        self.chose = True
        return not self.given

    def loaded(self, buffer: str, offset: Expr) -> str | None:
        """The name of the number that lies there in global memory, which no thread changes; the same for all roles."""
        at = self.number(offset)
        if at is None or not self.memory.remembers or buffer.partition(".")[0] not in self.memory.of:
            return None
        name = self.memory.name(buffer, at)
        if name not in self.numbers:
            self.numbers[name] = self.numbers.get(name.partition("[")[0], self.least * (at + 1))
        return name

    def number(self, expr: Expr, base: bool = False, others: Mapping[str, int] | None = None) -> int | None:
        """The value at the first thread of the first block; None where a number of it was made on the way.

        ``base``: what was loaded before the first copy, for all threads alike, may be anything that stays: it is 0.
        ``others``: numbers instead of those of the run.
        """
        values: dict[str, int] = {}
        numbers = self.numbers if others is None else {**self.numbers, **others}
        for v in expr.variables():
            if v.name in numbers:
                values[v.name] = numbers[v.name]
                continue
            if v.name.startswith(INDEX):
                values[v.name] = (self.thread or 0) if v.name == "threadIdx.x" else 0
                continue
            number = _NUMBER.search(v.name)
            if base and number and self.made < int(number[1]) <= self.entered and PER_THREAD not in v.name:
                values[v.name] = 0
                continue
            if v.name.startswith("gridDim."):
                values[v.name] = self.least if v.name.endswith(".x") else _BLOCKS
                continue
            if PER_THREAD in v.name or (number and int(number[1]) > self.made):
                return None
            if is_start(v.name):
                values[v.name] = 0
                continue
            values[v.name] = self._flag() if v.domain.values == FLAG.values else _given(v, self.least)
        try:
            _compare(expr, values)
            return expr.evaluate(values)
        except (KeyError, ValueError, ZeroDivisionError, OverflowError):
            return None

    def _flag(self) -> int:
        self.chose = True
        return int(self.given)

    def goes_on(self, condition: Value) -> bool:
        """Whether the run goes on behind ``if (row >= end) return;``: a block without work, which memory may tell.

        Only where nothing was copied yet, and all threads answer alike.
        """
        number = condition.value if isinstance(condition, Scalar) else condition
        if not isinstance(number, Dyn) or any(s.kind == "copy" for s in self.steps):
            return False
        return not any(v.name.startswith("threadIdx.") or PER_THREAD in v.name for v in number.expr.variables())

    def add(self, step: Step) -> None:
        if len(self.steps) >= _MOST_STEPS:
            raise ReplayOver
        if self.caller is not None:
            step = replace(step, span=self.caller[0], enclosing=self.caller[1])
        self.steps.append(step)

    @contextmanager
    def calling(self, span: Span, where: str) -> Iterator[None]:
        """What happens in a function of the library is a step of its outermost caller."""
        outer = self.caller
        self.caller = (span, where) if outer is None else outer
        try:
            yield
        finally:
            self.caller = outer

    @property
    def elected(self) -> bool:
        """Whether this thread is the one that its warp elects."""
        return (self.thread or 0) % _WARP == 0

    def walks(self, node: object) -> bool:
        """Whether a loop is run: something happens in it, or it is one of a pipeline's."""
        return self.caller is not None or id(node) in self.machine.recorder.eventful

    def _of_library(self, path: str) -> bool:
        return not self.by_source and _OF_LIBRARY.search(path) is not None

    def end(self) -> NoReturn:
        raise ReplayOver

    @property
    def sure(self) -> bool:
        """Nothing that may hold the thread back is unknown."""
        return self.held <= self.known

    def passed_over(self, span: Span, buffers: dict[str, str]) -> None:
        """A loop without copies and products, which is not run: it may set any registers, those of these among them."""
        library = self._of_library(span.path)
        at = tuple(Place(name, span, "rmem", buffer, 0) for buffer, name in sorted(buffers.items()))
        self.add(Step("unknown", span, "", "library" if library else "loop", None, () if library else at))

    def scales(self, frame: Frame, name: str, mma: object, adds: bool | None) -> None:
        """``mma.accumulate_ = ...``, of a variable in a call of a function; in others it may be the same object."""
        for key, (other, of, _) in self.scaled.items():
            if other is not frame and of == mma:
                self.scaled[key] = other, of, None
        self.scaled[id(frame), name] = frame, mma, adds
        self.scalable.add(mma)

    def adds(self, frame: Frame, name: str, mma: object) -> bool | None:
        """Whether a product is added to what is in its accumulators: it is unless an MMA was told otherwise."""
        if (id(frame), name) in self.scaled:
            return self.scaled[id(frame), name][2]
        if self.by_source:
            return None
        return None if not name or mma in self.scalable or self.machine.recorder.scales else True

    def enters(self, function: ir.Function) -> None:
        """The body of a function runs."""

    def touched(self, buffer: str, space: str) -> None:
        """An element of a tensor is taken, or a pointer to it."""
        if space == "gmem":
            self.slices.by_elements.add(buffer)

    def anything(self) -> None:
        """A function that is not walked may write what it can name."""

    def assembly(self) -> None:
        """Assembly of the program's own is reached: through an address it may write shared memory."""

    def asks(self, fact: TensorFact, span: Span, where: str) -> None:
        """The predicates of a copy are read."""

    def makes(self, buffer: str, span: Span) -> None:
        """Registers that nothing has set yet: what was there before is another tensor's."""
        if self.thread is not None:
            self.add(Step("made", span, "", "", None, (Place("", span, "rmem", buffer, 0),)))

    def named(self, way: str, arguments: tuple[Value, ...], span: Span, where: str) -> None:
        """A barrier of the hardware: so many threads come there, and wait or go on (``arrive``)."""
        self.known.add(span)
        if self.thread is None:
            return
        count, which = arguments
        number = self._whole(count)
        name = str(which.value) if isinstance(which, EnumVal) else self._whole(which)
        if number is None or name is None or not all(self.under):
            self.end()
        kind = "reserved " if isinstance(which, (EnumVal, Enumerated)) else ""  # numbers of users start after these
        self.add(Step("named", span, where, way, number, (Place("", span, "", f"{kind}{name}", 0),)))

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        """A barrier, wait or commit."""
        if what == NOT_WALKED:
            self.add(Step("unknown", span, where, name))
        elif self.of_elements and (what != "a barrier" or _ASIDE.search(name)):
            return
        if self.thread is not None:
            self._held(name, args, span, where)
            return
        copied = any(s.kind == "copy" for s in self.steps)
        if what != "a barrier" or not copied:
            if copied:
                self.end()
            return  # nothing was copied before
        function = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
        if function in ("barrier", "commit") and _short(where) in _WRAPPERS:
            return  # the assembly of a function that was counted where it is called
        if self.under or looped:
            self.end()
        given = [a.value if isinstance(a, Scalar) else a for a in args]
        numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
        self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))

    def goes_into(self, bodies: list[str], span: Span) -> None:
        """A function of the program's own, in these files: what its body does is known by its steps."""
        if bodies and not any(self._of_library(path) for path in bodies):
            self.known.add(span)

    def _held(self, name: str, args: list[Value], span: Span, where: str) -> None:
        """A call that holds threads back, in the run of one of them."""
        function = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
        if self.by_source:
            function = _OF_DSL.get(function, function)
        if function in HOLDING:
            if not all(self.under):
                self.end()
            given = [a.value if isinstance(a, Scalar) else a for a in args]
            numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
            self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))
        elif not (
            _LETS_GO.search(function) or (self.by_source and _DSL_LETS_GO.search(function))
        ) and not self._of_library(span.path):
            self.held.add(span)

    def barrier(
        self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...],
        arrives: int | None = None, commits: bool = False,
    ) -> None:  # fmt: skip
        """Something is done with a barrier in shared memory, or with one of the hardware.

        ``commits``: by the MMAs of a warp, whose elected lane tells of them.
        """
        self.known.add(span)
        if kind == "init" and self.thread is not None:
            self._counts(buffer, span, where, arguments)
            return
        if self.thread is None and self.of_elements and kind == "escapes":
            return
        if self.thread is None or not all(self.under):
            self.end()
        numbers = [self._whole(a) for a in arguments]
        if kind == "escapes" or buffer == "?" or (numbers and numbers[0] is None):
            self.end()
        if kind == "wait" and (len(numbers) < 2 or numbers[1] is None):
            self.end()
        at = Place("", span, "smem", buffer, numbers[0] or 0)
        if commits and arrives is not None and (self.thread or 0) % _WARP:
            arrives = 0
        number = numbers[1] if len(numbers) > 1 else None
        self.add(Step("barrier", span, where, kind, number, (at,), commits, arrives=arrives))

    def brings(self, buffer: str, span: Span, where: str, bytes_: Value, to: tuple[str, Expr] | None) -> None:
        """TMA is told, by assembly, to fill shared memory from an address on, and a barrier of the bytes."""
        if self.thread is None or not all(self.under) or to is None:
            self.end()
        begin, size = self.number(to[1]), self._whole(bytes_)
        if begin is None:
            self.end()
        bits = (8 * begin, 8 * (begin + size) if size else -1)
        places = (
            Place("", span, "gmem", "", 0),
            Place(to[0].rpartition("::")[2].rpartition(".")[2], span, "smem", to[0], begin, bits=bits),
        )
        self.add(Step("load", span, where, buffer, None, places, True, bool(self.under)))

    def multiplies(self, name: str, span: Span, where: str, operands: list[tuple[str, Value]]) -> None:
        """An MMA that assembly starts, of these buffers by descriptors, whose lowest bits say where: in 16 bytes."""
        if self.thread is None or not all(self.under):
            self.end()
        summed = Place("", span, "rmem" if name == "wgmma" else "tmem", "", 0)
        places = [Place("", span, "rmem", "", 0)] * (2 - len(operands))
        for buffer, value in operands:
            number = self._whole(value)
            if number is None:
                self.end()
            begin = (number & _ADDRESS) * 16
            bits = (8 * begin, 8 * begin + 8)
            places.append(Place(buffer.rpartition("::")[2].rpartition(".")[2], span, "smem", buffer, begin, bits=bits))
        self.add(Step("gemm", span, where, name, None, (summed, *places, summed), True, bool(self.under)))

    def _counts(self, buffer: str, span: Span, where: str, arguments: tuple[Value, ...]) -> None:
        """A barrier is told how many arrivals it counts; which one, a loop over an array need not tell."""
        each = bool(arguments) and _of_thread(arguments[0])  # one of its own each: that makes it no other role
        known = len(arguments) > 1 and buffer != "?" and not self.under
        at, count = (self._whole(arguments[0], not each), self._whole(arguments[1])) if known else (None, None)
        if at is None or count is None:
            at, count, each = ANY_BARRIER, None, False
        self.add(Step("barrier", span, where, "init", count, (Place("", span, "smem", buffer, at),), maybe=each))

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """A step of a pipeline of the library, as what it does with its barriers: one that says when a stage is full,
        and one that says when it is empty."""
        self.known.add(span)
        if name.endswith(".create") and name != _PLAIN:
            self.held.add(Span("", 0, 0, 0, 0))  # steps of others are those of other barriers
        if name not in _PIPELINED:
            if name == "escapes" or (self.thread is None and not name.startswith("make_")):
                self.end()
            return
        index, phase = self.state
        for kind, which in _PIPELINED[name]:
            self.barrier(kind, f"{of}{which}", span, where, (index, phase) if kind == "wait" else (index,))

    def _whole(self, value: Value, asks: bool = True) -> int | None:
        value = value.value if isinstance(value, Scalar) else value
        if not isinstance(value, (int, Dyn, Sym)):
            return None
        expr = as_expr(value)
        if asks and _of_thread(value):
            self.asked[expr] = None  # threads at another barrier are another role
        return self.number(expr)

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "", adds: bool | None = None,
    ) -> None:  # fmt: skip
        """A copy or gemm, in a function at this depth of calls."""
        told, self.telling = self.telling, None
        spaces = [f.space for f in facts]
        if not {"smem", "gmem"} & set(spaces) and kind == "copy" and "rmem" not in spaces:
            return
        goes_on = is_asynchronous(tiled)
        if self.thread is not None:
            kind, by, goes_on = by_hardware(kind, tiled, facts)
            name = signals or by
            if self.by_source and kind in ("load", "drain") and not self.elected:
                return  # one thread of the warp does it
        if kind == "drain" and self.thread is None:
            return
        if not all(self.under) or not (self.thread is not None or all(followed(tiled, s) for s in spaces)):
            self.end()
        if not any(s.kind == "copy" for s in self.steps):
            self.entered = self.machine.made
        self.slices.uses(facts)
        if kind in ("copy", "drain") and facts[-1].space == "gmem" and facts[-1].buffer:
            self.memory.stored.add(facts[-1].buffer)
        places = [self.place(f) for f in facts]
        places = [p if p is None or end is None else replace(p, past=end) for p, end in zip(places, past, strict=True)]
        found = tuple(p for p in places if p is not None)
        if len(found) != len(places):
            self.end()
        number = None
        if kind == "load" and isinstance(told, Pointer) and told.space == "smem":
            number = self._whole(told.offset)
            name = told.buffer  # exactly this one of its array
            if number is None:
                self.end()
        maybe = bool(self.under) or predicated
        adds = adds if goes_on and kind == "gemm" else None
        self.add(Step(kind, span, where, name, number, found, goes_on, maybe, self.at.get(depth - 1), adds))

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        """Tensors get values that are computed."""
        places = [Place(f.name, f.span, f.space, f.buffer or "", 0) for f in facts if f.space in ("rmem", "tmem")]
        self.add(Step(name, span, where, name, None, tuple(places)))

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """A single element is read or stored: of registers, what is stored may be any of them."""
        if fact.space == "smem" and self.thread is None:
            if not self.of_elements:
                self.end()
            self.add(Step("element", span, where, "", None, (Place(fact.name, span, "smem", fact.buffer or "", 0),)))
            return
        read = self.thread is not None and not self._of_library(span.path)
        if fact.buffer and fact.space == "rmem" and (written or read):
            at = Place(fact.name, fact.span, "rmem", fact.buffer, 0)
            self.add(Step("store" if written else "use", span, where, "", None, (at,)))

    def place(self, fact: TensorFact) -> Place | None:
        """Where an operand starts; None where that is not a number. What is read of other memory may be anything."""
        found = self._place(fact)
        return Place(fact.name, fact.span, fact.space, "", 0) if found is None and fact.space != "smem" else found

    def _place(self, fact: TensorFact) -> Place | None:
        inner = fact.layout.offset if isinstance(fact.layout, ComposedLayout) else 0
        inner = 0 if isinstance(inner, SmemPtrFlag) else inner
        if isinstance(fact.offset, (Unknown, tuple)) or not isinstance(fact.offset, (int, Dyn, Sym)):
            return None
        if not isinstance(inner, (int, Dyn)) or not fact.buffer:
            return None
        offset = self.number(as_expr(fact.offset), fact.space == "gmem")
        more = self.number(as_expr(inner))
        if offset is None or more is None:
            return None
        if fact.space == "smem" and fact.dtype == DESCRIPTOR and self.thread is None:
            return None  # whom a warpgroup's instructions hold back is not known
        if fact.dtype is not None and fact.dtype.bits and fact.root_bits and fact.space == "smem":
            offset = offset * int(fact.dtype.bits) // int(fact.root_bits)  # of descriptors, and of what was recast
        offset += more
        if fact.space != "smem":
            return Place(fact.name, fact.span, fact.space, fact.buffer, offset, source=fact.source)
        root = fact.root_layout if fact.root_layout is not None else fact.layout
        view = self.views.setdefault(root, len(self.views))
        begin = 0
        if fact.root_start_bits is not None:
            found = self.number(as_expr(fact.root_start_bits))
            if found is None:
                return None
            begin = found
        elif fact.root_layout is None and fact.dtype is not None and fact.dtype.bits:
            begin = (offset - more) * int(fact.dtype.bits)
        whole, stage = regions(fact, root, offset, begin)
        if stage is None:
            return None
        within = self.within(fact.buffer)
        if whole[1] < whole[0]:
            whole = stage = (begin, -1 - view)  # other views of it are not compared
        at = whole, stage, 0 if self.by_source else view, fact.source, None, within
        return Place(fact.name, fact.span, fact.space, fact.buffer, offset, *at)

    def within(self, buffer: str) -> tuple[str, int] | None:
        """The variable in shared memory that a buffer is a member of, and the bits before it there."""
        if self.by_source:
            return buffer, 0  # members of a struct are apart
        started = self.machine.recorder.starts.get(buffer, None if "." in buffer.rpartition("::")[2] else 0)
        return None if started is None else (variable_of(buffer), 8 * started)


class Loaded:
    """Global memory as a run reads it: at one place is one number, as long as no thread stores to the buffer."""

    def __init__(self, remembers: bool) -> None:
        self.remembers = remembers
        self.read: set[str] = set()
        self.stored: set[str] = set()
        self.of: frozenset[str] = frozenset()  # the kernel's parameters: what they lead to

    def name(self, buffer: str, at: int) -> str:
        self.read.add(buffer)
        return f"{MEMORY}{buffer}[{at}]"


def _compare(expr: Expr, values: dict[str, int]) -> None:
    """Values of the comparisons in an expression, by their text, as :meth:`Expr.evaluate` looks them up."""
    for atom in {a for monomial, _ in expr.terms for a in monomial if isinstance(a, Op)}:
        for argument in atom.args:
            _compare(argument, values)
        if atom.kind == "opaque" and atom.label in _RELATIONS:
            left, right = (a.evaluate(values) for a in atom.args)
            values[str(atom)] = int(_RELATIONS[atom.label](left, right))


def _of_thread(value: Value) -> bool:
    number = value.value if isinstance(value, Scalar) else value
    return isinstance(number, Dyn) and any(v.name.startswith("threadIdx.") for v in number.expr.variables())


def _given(v: Var, least: int) -> int:
    """A value for a run-time number: the least multiple of what divides it that is large enough, if it may be."""
    if v.domain.values:
        return max(v.domain.values)
    step = max(1, v.domain.divisor())
    value = -(-least // step) * step
    lo, hi = v.domain.bounds()
    if hi is not None and value > hi:
        value = hi // step * step
    return lo if lo is not None and value < lo else value


def of_library(span: Span) -> bool:
    """Whether this stands in a header of CuTe or CUTLASS."""
    return _OF_LIBRARY.search(span.path) is not None


def _short(symbol: str) -> str:
    """Of a function, without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]
