"""The numbers of a kernel that is run once more, pass by pass: what each is in the run, and where tensors are by them.

What is computed from a number that is made on the way (loaded, or joined after a condition) stays open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from cutecheck.facts import Span, TensorFact, Unknown
from cutecheck.facts.replayed import Place, Step
from cutecheck.facts.touch import coming, compare, each
from cutecheck.model.expr import Domain, Expr, Var
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.swizzle import offset_value
from cutecheck.source.eval import ir
from cutecheck.source.eval.record.in_clusters import tells_blocks_apart
from cutecheck.source.eval.record.library import asks_scheduler, in_library, of_kernels
from cutecheck.source.eval.record.loaded import Loaded, members
from cutecheck.source.eval.record.past import INDEX, Slices, run_time_names
from cutecheck.source.eval.record.regions import regions
from cutecheck.source.eval.record.rounds import EACH, MEMORY, OUTER, Numbers, Rounds
from cutecheck.source.eval.record.tma_tiles import walk_of
from cutecheck.source.eval.record.touching import answered, block_of, column_of, touch_of
from cutecheck.source.eval.shared_addresses import is_start
from cutecheck.source.eval.values import Extern, Pointer, Scalar, Shared, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env, Frame

FLAG = Domain(values=(0, 1))  # of what is true or false
AT_LEAST = 768  # of a run-time number: some tiles of a matrix, a multiple of most of their extents
FEWER = 192  # where 768 are too many passes of a loop
_MOST_STEPS = 4000
_OF_REGISTERS = ("fill", "store", "use", "computes")
WARP = 32
_BLOCKS = 4  # along y and z of the grid; along x so many that no block has a second tile
PASSES = 26  # of one loop; its later ones are as those before
MORE_PASSES = 130  # of one where the tiles of a row are few, or its length is a constant
TILES_OF_DSL = 3  # of a block of a kernel of the Python DSL, whose run costs more, or of a scheduler's
FEW = 3  # of one that had no end for another thread
_NUMBER = re.compile(r"#(\d+)")

_OF_COORD = re.compile(r"\*\w*Coord\.idx\b")  # what hosts of CUTLASS's multiply with: blocks of a cluster, batches
_COMPARED = re.compile(r"([A-Za-z_]\w*(?:\.\w+)+) ([=!]=) \.\.\.$")


class ReplayOver(Exception):
    """What comes next is not known, or no more need be known."""


class Running:
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
        self.read_from: dict[str, Pointer] = {}  # where numbers were read from shared memory, by their names
        self.of_elements = False  # a run of all threads goes on where elements of shared memory are read or stored
        self.state: tuple[Value, Value] = (None, None)  # of the pipeline's step that comes
        self.pointed: set[str] = set()  # buffers that are written by other means than copies, or may be; "": any
        self.moved: set[str] = set()  # accumulators in tensor memory that may start elsewhere than they did
        self.kinds: dict[str, str] = {}  # of pipelines: what made them
        # barriers of pipelines at which each thread that comes arrives once, and what their storage is called
        self.counting: dict[str, str] = {}
        self.members: dict[str, str] = {}  # barriers that are single members of shared memory, and their whole names
        # numbers without a name, or that memory holds, which decide before anything is copied
        self.made_by_host: set[str] = set()
        self.asked: dict[Expr, None] = {}  # conditions that depend on the thread
        # all numbers that do but those of operands' places, as they came out; whether who is elected was asked, and
        # whether more came of the thread
        self.heard: dict[tuple[Expr, bool], int | None] = {}
        self.elects = self.lone = False
        self.inside: set[tuple[Expr, Expr]] = set()  # coordinates that are none past their extents
        self.cost = 0  # steps of the evaluation
        self.chose = False  # something depended on ``given``
        self.apart = False  # something depended on which block of its cluster this is
        self.under: list[bool] = []  # of conditions that are not decided: whether each thread answers for itself
        self.answers: list[tuple[Value, bool]] = []  # those on threads, and whether they hold
        self.tickets: dict[str, int] = {}  # the last one that was taken of each counter
        self.responses = 0  # that told this thread whether another block was cancelled
        self.response: object = None  # the last of them: where it lies, and how often the thread has waited
        self.supposed: dict[int, int] = {}  # passes of loops over tiles that a scheduler tells of, by their ``id``
        self.heard_of: list[tuple[str, int, int] | None] = []  # where the thread waited last before it asked for a tile
        self.partial = 0  # how many loops are around of which not all passes are run
        self.steps: list[Step] = []
        # of steps whose places hang on the thread, by their number: the operands, and what lies past their ends
        self.placed: dict[int, tuple[list[TensorFact], list[tuple[int, int] | None]]] = {}
        self.escaped: set[str] = set()  # buffers of which it is not seen what is done with them, barriers or not
        self.lately: set[object] = set()  # what was done to registers since anything else was
        self.at: dict[int, Span] = {}  # the statement that runs in each function, by how deep its call is
        self.least = least  # of run-time numbers
        self.zeros = True  # numbers that are not followed, of all threads, are 0.0 where they are compared with it
        self.passes = passes  # of one loop that are run
        self.long = False  # a loop has more of them
        self.foresees = False  # it is given up as soon as that is seen
        self.shorter: Numbers = {}  # numbers at which it has few, where one says how many
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
        self.unset: list[Step] = []  # registers of which all are read as a value before any is written
        self.numbers: Numbers = dict(numbers or {})  # run-time numbers that this run has instead of its own
        self.memory = Loaded(remembers)

    def truth(self, condition: Expr, of_state: bool = False) -> bool | None:
        """Of a condition that all threads answer alike.

        ``of_state``: it is the library's, on where a pipeline is. However a thread answers, its steps are the same.
        """
        variables = condition.variables()
        self.apart |= tells_blocks_apart(condition)
        if any(v.name.startswith("threadIdx.") for v in variables):
            if self.thread is None:
                return self._all_say(condition)
            if not of_state:
                self.asked[condition] = None
        with self.unheard() if of_state else nullcontext():
            value = self.number(condition)
        if value is None:
            return None
        if not any(s.kind == "copy" for s in self.steps):
            self.made_by_host.update(v.name for v in variables if _NUMBER.search(v.name) or v.name.startswith(MEMORY))
        self.rounds.asked(condition, not of_state)
        self.rounds.decided(condition)
        self.slices.decide(condition)
        return bool(value)

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Numbers by which the run does not go on otherwise."""
        heard, self.heard = self.heard, {}
        try:
            yield
        finally:
            self.heard = heard

    def _all_say(self, condition: Expr) -> bool | None:
        """Of a condition on the thread's index alone: what all threads of the block answer, if they do alike.

        At ends of matrices others than the run's may differ.
        """
        block = None if self.by_source or run_time_names(condition) else block_of(self)
        every = None if block is None else each(condition, block)
        return None if every is None or any(every) != all(every) else any(every)

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
            own = name.partition("[")[0]
            self.numbers[name] = self.numbers.get(own, self.numbers.get(own + EACH, self.least) * (at + 1))
        return name

    def ticket(self, buffer: str, added: object) -> str | None:
        """The name of what one thread of the block finds in a counter: so many as if no other block took any."""
        block = None if self.thread is not None or self.by_source else block_of(self)
        if block is None or not isinstance(added, int) or not all(self.under):
            return None
        when = [(answered(self, condition), holds) for condition, holds in self.answers]
        known = tuple((e, holds) for e, holds in when if e is not None)
        if len(known) < len(when) or len(coming(known, block) or ()) != 1:
            return None
        self.tickets[buffer] = taken = self.tickets.get(buffer, -1) + 1
        name = f"ticket {buffer}[{taken}]"
        self.numbers[name] = taken * added
        return name

    def canceled(self, at: tuple[str, Expr] | None) -> bool:
        """Whether the scheduler of the hardware has a tile more: so it is for some, then for none.

        At one place is one response until the thread has waited for the next.
        """
        waits = sum(s.kind == "barrier" and s.function == "wait" for s in self.steps)
        place = None if at is None else (at[0], self.number(at[1]))
        self.responses += (place, waits) != self.response
        self.response = place, waits
        return self.responses < OUTER

    def number(self, expr: Expr, base: bool = False, others: Mapping[str, int] | None = None) -> int | None:
        """The value at the first thread of the first block; None where a number of it was made on the way.

        ``base``: what was loaded before the first copy, for all threads alike, may be anything that stays: it is 0.
        ``others``: numbers instead of those of the run.
        """
        values: dict[str, int] = {}
        numbers = self.numbers if others is None else {**self.numbers, **others}
        of_thread = False
        for v in expr.variables():
            if v.name in numbers:
                values[v.name] = numbers[v.name]
                continue
            if (whole := members(v.name)) in numbers:
                values[v.name] = numbers[whole]
                continue
            if v.name.startswith(INDEX):
                of_thread |= v.name == "threadIdx.x"
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
            compare(expr, values)
            found = expr.evaluate(values)
        except (KeyError, ValueError, ZeroDivisionError, OverflowError):
            found = None
        if of_thread:
            self.heard[expr, base] = found
            self.lone |= others is not None
        return found

    def past(self, at: Expr, extent: Expr) -> tuple[int, int] | None:
        """A coordinate and an extent, where it is none that there is."""
        with self.unheard():
            value, most = self.number(at), self.number(extent)
        if value is None or most is None or 0 <= value < most:
            self.inside.add((at, extent))
            return None
        self.number(at)
        self.number(extent)
        return value, most

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
        step = self.as_called(step)
        if step.kind in _OF_REGISTERS and all(p.space == "rmem" for p in step.places):
            same = step.kind, step.span, tuple((p.buffer, p.offset) for p in step.places)
            if same in self.lately:  # a loop over single numbers
                return
            self.lately.add(same)
        else:
            self.lately.clear()
        self.placed.pop(len(self.steps), None)  # of one that was taken back
        self.steps.append(step)

    def as_called(self, step: Step) -> Step:
        return step if self.caller is None else replace(step, span=self.caller[0], enclosing=self.caller[1])

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
        self.elects = True
        return (self.thread or 0) % WARP == 0

    def walks(self, node: object) -> bool:
        """Whether a loop is run: something happens in it, or it is one of a pipeline's."""
        return self.caller is not None or id(node) in self.machine.recorder.eventful

    def by_tiles(self, loop: ir.Loop, env: Env) -> bool:
        """A loop of a kernel of CUTLASS's own, or that asks the tile of its scheduler, not known to end.

        It goes through the block's tiles, as all roles have it. How many there are the scheduler says, by what the host
        has worked out; one is enough to see what is done to it.
        """
        if self.thread is None or self.by_source:
            return False
        return of_kernels(loop.span) or asks_scheduler(loop.cond, env)

    def supposes(self, loop: object, asked: Value, passes: int, of_tile: bool) -> bool | None:
        """Whether a loop of the Python DSL goes on that asks a flag which is not known: it goes through some tiles.

        A scheduler tells all roles of them, by shared memory or by what the hardware answers. ``asked``: the flag, that
        is one for all threads or, ``of_tile``, an attribute of what a scheduler gives. None: it is no such loop.
        """
        if self.thread is None or not self.by_source or not (of_tile or (passes and _is_shared(asked))):
            return None
        self.responses += 1
        self.supposed[id(loop)] = passes
        wait = next((s for s in reversed(self.steps) if s.kind == "barrier" and s.function == "wait"), None)
        at = wait.places[0] if wait is not None else None
        self.heard_of.append(None if at is None or wait is None else (at.buffer, at.offset, wait.number or 0))
        return passes < TILES_OF_DSL

    def is_zero(self, left: Value, right: Value) -> bool | None:
        """Whether a number that is not followed, of all threads, is compared with 0.0: as ``beta`` is, which says
        whether C is loaded. None: something else is compared."""
        known, other = (left, right) if isinstance(right, Shared) else (right, left)
        zero = isinstance(known, Scalar) and isinstance(known.value, float) and known.value == 0
        if not zero or self.thread is None or not isinstance(other, Shared) or other.value is not None:
            return None
        self.machine.recorder.weighed = True
        return self.zeros

    def another(self, asked: Value, text: str) -> bool | None:
        """Whether a parameter of the kernel's, of which nothing is known, is the constant that it is compared with.

        It is another one for all threads, as one of two ways in which a scheduler may order its tiles. Not where it is
        compared with several: it may be one of two.
        """
        found = _COMPARED.match(asked.what) if isinstance(asked, Extern) else None
        if found is None or self.thread is None or self.by_source:
            return None
        constant = re.split(r"[=!]=", text)[-1].rpartition("::")[2].strip()
        known = self.machine.recorder.compared.setdefault(found[1], constant)
        return found[2] == "!=" if known == constant else None

    def of_library(self, path: str) -> bool:
        return not self.by_source and in_library(path, self.machine.recorder.asked)

    def end(self) -> NoReturn:
        raise ReplayOver

    @property
    def sure(self) -> bool:
        """Nothing that may hold the thread back is unknown."""
        return self.held <= self.known

    def whole(self, value: Value, asks: bool = True) -> int | None:
        value = value.value if isinstance(value, Scalar) else value
        if not isinstance(value, (int, Dyn, Sym)):
            return None
        expr = as_expr(value)
        if asks and of_thread(value):
            self.asked[expr] = None  # threads at another barrier are another role
        return self.number(expr)

    def place(self, fact: TensorFact) -> Place | None:
        """Where an operand starts; None where that is not a number. What is read of other memory may be anything."""
        found = self._place(fact)
        if fact.space == "coord" and self.thread is not None:
            return Place(fact.name, fact.span, fact.space, "", 0, walk=walk_of(self, fact))
        return Place(fact.name, fact.span, fact.space, "", 0) if found is None and fact.space != "smem" else found

    def _place(self, fact: TensorFact) -> Place | None:
        inner = offset_value(fact.layout.offset) if isinstance(fact.layout, ComposedLayout) else 0
        if isinstance(fact.offset, (Unknown, tuple)) or not isinstance(fact.offset, (int, Dyn, Sym)):
            return None
        if not isinstance(inner, (int, Dyn)) or not fact.buffer:
            return None
        offset = self.number(as_expr(fact.offset), fact.space == "gmem")
        more = self.number(as_expr(inner))
        if offset is None or more is None:
            return None
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
        touch = touch_of(self, fact) if self.thread is None and not self.by_source else None
        column = None if touch is None or stage != whole else column_of(fact, root, begin, touch)
        if whole[1] < whole[0]:
            whole = stage = (begin, -1 - view)  # other views of it are not compared
        at = whole, stage, 0 if self.by_source else view, fact.source, None, within, column, touch
        return Place(fact.name, fact.span, fact.space, fact.buffer, offset, *at)

    def within(self, buffer: str) -> tuple[str, int] | None:
        """The variable in shared memory that a buffer is a member of, and the bits before it there."""
        if self.by_source:
            return buffer, 0  # members of a struct are apart
        return self.machine.recorder.within(buffer)


def of_thread(value: Value) -> bool:
    number = value.value if isinstance(value, Scalar) else value
    return isinstance(number, Dyn) and any(v.name.startswith("threadIdx.") for v in number.expr.variables())


def _given(v: Var, least: int) -> int:
    """A value for a run-time number: the least multiple of what divides it that is large enough, if it may be."""
    if v.domain.values:
        return max(v.domain.values)
    if _OF_COORD.match(v.name):
        return 1
    step = max(1, v.domain.divisor())
    value = -(-least // step) * step
    lo, hi = v.domain.bounds()
    if hi is not None and value > hi:
        value = hi // step * step
    return lo if lo is not None and value < lo else value


def _is_shared(value: Value) -> bool:
    """Whether a number that is not known is the same for all threads."""
    number = value.value if isinstance(value, Scalar) else value
    if isinstance(value, Shared) and value.value is None:
        return True
    if not isinstance(number, Dyn):
        return False
    return not any(v.name.startswith("threadIdx.") or PER_THREAD in v.name for v in number.expr.variables())
