"""A kernel run once more, pass by pass: its run-time arguments are given values, and loops run as they say.

What is computed from a number that is made on the way (loaded, or joined after a condition) stays open: the run ends.
"""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from cutecheck.facts import NOT_WALKED, Span, TensorFact, Unknown
from cutecheck.facts.replayed import Place, Step
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import cosize, get, rank, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Layout, SmemPtrFlag
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.eval import classes, ir
from cutecheck.source.eval.record.past import INDEX, Slices, extent_names
from cutecheck.source.eval.values import Object, Pointer, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

FLAG = Domain(values=(0, 1))  # of what is true or false
AT_LEAST = 768  # of a run-time number: some tiles of a matrix, a multiple of most of their extents
FEWER = 192  # where 768 are too many passes of a loop
_MOST_STEPS = 4000
_BLOCKS = 4  # along y and z of the grid; along x so many that no block has a second tile
PASSES = 26  # of one loop; its later ones are as those before
_NUMBER = re.compile(r"#(\d+)")
_WRAPPERS = ("cp_async_wait", "cp_async_wait_group", "cp_async_fence", "cp_async_commit_group", "commit")
_RELATIONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le}
_TILE = 2  # modes of a tile without stages
_OPEN = (0, -1)  # bits of which the end is not known
# calls of one thread that wait for others, or for its own MMAs
HOLDING = frozenset({
    "__syncthreads", "syncthreads", "cluster_sync", "cluster_wait", "warpgroup_wait", "warpgroup_commit_batch",
})  # fmt: skip
_FULL, _EMPTY = "", ".empty"
_PIPELINED = {  # what a step does with which barrier
    "producer_acquire": (("wait", _EMPTY), ("expect", _FULL)), "consumer_wait": (("wait", _FULL),),
    "consumer_release": (("arrive", _EMPTY),),
    "producer_try": (("wait", _EMPTY),), "consumer_try": (("wait", _FULL),),  # in loops, or before a wait
}  # fmt: skip
_DESCRIPTOR = dtype("uint128_t")  # of shared memory, as WGMMA and UMMA read it


class ReplayOver(Exception):
    """What comes next is not known, or no more need be known."""


class Replaying:
    """The run of one kernel. ``made``: numbers of the machine's that were made before it.

    ``given``: what a kernel may be given or not (pointers that it compares with null, flags) is given. ``thread``: the
    run is one thread's, by whose number all conditions on threads are decided; TMA, barriers in shared memory and
    WGMMA are followed then. Without, it is that of all threads, of which only plain copies are.
    """

    def __init__(self, m: Machine, given: bool = False, thread: int | None = None, least: int = AT_LEAST) -> None:
        self.machine = m
        self.made = m.made
        self.entered = m.made  # numbers of the machine's that were made before the first copy
        self.given = given
        self.thread = thread
        self.state: tuple[Value, Value] = (None, None)  # of the pipeline's step that comes
        self.members: dict[str, str] = {}  # barriers that are single members of shared memory, and their whole names
        self.asked: dict[Expr, None] = {}  # conditions that depend on the thread
        self.cost = 0  # steps of the evaluation
        self.chose = False  # something depended on ``given``
        self.under: list[bool] = []  # of conditions that are not decided: whether each thread answers for itself
        self.steps: list[Step] = []
        self.at: dict[int, Span] = {}  # the statement that runs in each function, by how deep its call is
        self.least = least  # of run-time numbers
        self.long = False  # a loop has more passes than are run
        self.slices = Slices(self)
        self.views: dict[object, int] = {}  # layouts of tensors in shared memory, and their numbers

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
        self.slices.decide(condition)
        return bool(value)

    def is_null(self, pointer: Pointer) -> bool:
        """Of a pointer that the kernel was given."""
        if pointer.space == "smem" or pointer.offset != 0:
            return False
        self.chose = True
        return not self.given

    def number(self, expr: Expr, base: bool = False) -> int | None:
        """The value at the first thread of the first block; None where a number of it was made on the way.

        ``base``: what was loaded before the first copy, for all threads alike, may be anything that stays: it is 0.
        """
        values: dict[str, int] = {}
        for v in expr.variables():
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
        self.steps.append(step)

    def end(self) -> NoReturn:
        raise ReplayOver

    def passed_over(self, span: Span) -> None:
        """A loop without copies and products, which is not run: it may set any registers."""
        self.add(Step("unknown", span, "", ""))

    def called(self, name: str, args: list[Value], what: str, span: Span, where: str, looped: bool) -> None:
        """A barrier, wait or commit."""
        if what == NOT_WALKED:
            self.add(Step("unknown", span, where, name))
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

    def _held(self, name: str, args: list[Value], span: Span, where: str) -> None:
        """A call that holds threads back, in the run of one of them."""
        function = name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]
        if function in HOLDING:
            if not all(self.under):
                self.end()
            given = [a.value if isinstance(a, Scalar) else a for a in args]
            numbers = [a for a in given if isinstance(a, int) and not isinstance(a, bool)]
            self.add(Step("call", span, where, function, numbers[0] if len(numbers) == 1 else None))

    def barrier(self, kind: str, buffer: str, span: Span, where: str, arguments: tuple[Value, ...]) -> None:
        """Something is done with a barrier in shared memory, or with one of the hardware."""
        if self.thread is None or not all(self.under):
            self.end()
        numbers = [self._whole(a) for a in arguments]
        if kind == "escapes" or buffer == "?" or (numbers and numbers[0] is None):
            self.end()
        if kind == "wait" and (len(numbers) < 2 or numbers[1] is None):
            self.end()
        if kind == "init":
            return
        at = Place("", span, "smem", buffer, numbers[0] or 0)
        self.add(Step("barrier", span, where, kind, numbers[1] if len(numbers) > 1 else None, (at,)))

    def pipelined(self, name: str, of: str, span: Span, where: str, keywords: tuple[tuple[str, object], ...]) -> None:
        """A step of a pipeline of the library, as what it does with its barriers: one that says when a stage is full,
        and one that says when it is empty."""
        if name not in _PIPELINED:
            if name == "escapes" or (self.thread is None and not name.startswith("make_")):
                self.end()
            return
        index, phase = self.state
        for kind, which in _PIPELINED[name]:
            self.barrier(kind, f"{of}{which}", span, where, (index, phase) if kind == "wait" else (index,))

    def _whole(self, value: Value) -> int | None:
        value = value.value if isinstance(value, Scalar) else value
        return self.number(as_expr(value)) if isinstance(value, (int, Dyn, Sym)) else None

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact],
        past: list[tuple[int, int] | None], predicated: bool, depth: int, signals: str = "",
    ) -> None:  # fmt: skip
        """A copy or gemm, in a function at this depth of calls."""
        spaces = [f.space for f in facts]
        if not {"smem", "gmem"} & set(spaces) and kind == "copy" and "rmem" not in spaces:
            return
        goes_on = is_asynchronous(tiled)
        if self.thread is not None:
            kind, by, goes_on = _by_hardware(kind, tiled, facts)
            name = signals or by
        if kind == "tma store":
            return
        if not all(self.under) or not (self.thread is not None or all(followed(tiled, s) for s in spaces)):
            self.end()
        if not any(s.kind == "copy" for s in self.steps):
            self.entered = self.machine.made
        self.slices.extents.update(n for f in facts if f.space == "gmem" for n in extent_names(f.root_layout))
        places = [self.place(f) for f in facts]
        places = [p if p is None or end is None else replace(p, past=end) for p, end in zip(places, past, strict=True)]
        found = tuple(p for p in places if p is not None)
        if len(found) != len(places):
            self.end()
        maybe = bool(self.under) or predicated
        self.add(Step(kind, span, where, name, None, found, goes_on, maybe, self.at.get(depth - 1)))

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        """Tensors get values that are computed."""
        places = [Place(f.name, f.span, f.space, f.buffer or "", 0) for f in facts if f.space == "rmem"]
        self.add(Step(name, span, where, name, None, tuple(places)))

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """A single element is read or stored: of registers, what is stored may be any of them."""
        if fact.space == "smem" and self.thread is None:
            self.end()
        if written and fact.buffer:
            self.add(Step("store", span, where, "", None, (Place(fact.name, fact.span, "rmem", fact.buffer, 0),)))

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
        if fact.space == "smem" and fact.dtype == _DESCRIPTOR and self.thread is None:
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
        whole, stage = _regions(fact, root, offset, begin)
        if stage is None:
            return None
        if whole[1] < whole[0]:
            whole = stage = (begin, -1 - view)  # other views of it are not compared
        return Place(fact.name, fact.span, fact.space, fact.buffer, offset, whole, stage, view, fact.source)


def with_flags(m: Machine, value: Value, name: str) -> Value:
    """An argument whose flags that are not known are variables, so that each has one value in a run."""
    if isinstance(value, Scalar) and value.ctype == "bool" and value.value is None:
        return Scalar(Dyn.named(name, FLAG), "bool")
    if not isinstance(value, Object) or value.pointer is not None:
        return value
    for _, decl in classes.fields(m, value.cls):
        if isinstance(decl.type, ir.Name) and decl.type.ident == "bool":
            classes.get_field(m, value, decl.name, decl.span)
    held = {n: with_flags(m, v, f"{name}.{n}") for n, v in value.fields.items()}
    if all(held[n] is v for n, v in value.fields.items()):
        return value
    made = Object(value.cls, {}, None, value.name, value.initial, value.zeroed)
    made.fields.update(held)
    return made


def _compare(expr: Expr, values: dict[str, int]) -> None:
    """Values of the comparisons in an expression, by their text, as :meth:`Expr.evaluate` looks them up."""
    for atom in {a for monomial, _ in expr.terms for a in monomial if isinstance(a, Op)}:
        for argument in atom.args:
            _compare(argument, values)
        if atom.kind == "opaque" and atom.label in _RELATIONS:
            left, right = (a.evaluate(values) for a in atom.args)
            values[str(atom)] = int(_RELATIONS[atom.label](left, right))


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


def _regions(fact: TensorFact, root: object, offset: int, begin: int) -> tuple[tuple[int, int], tuple[int, int] | None]:
    """The bits of the whole tensor in its buffer, and those of the stage that an operand is of.

    Stages are the last mode of three or more. No stage where it is not known which; an end before the start where it
    is not known.
    """
    inner = root.b if isinstance(root, ComposedLayout) else root
    bits = fact.root_bits or (fact.dtype.bits if fact.dtype is not None else None)
    if not isinstance(inner, Layout) or not bits:
        return _OPEN, None if isinstance(inner, Layout) and rank(inner) > _TILE else _OPEN
    try:
        last = rank(inner) - 1
        length, extent = known_value(cosize(inner)), known_value(size(get(inner, last)))
    except (CuteError, UndecidedError):
        return _OPEN, None if rank(inner) > _TILE else _OPEN
    whole = _OPEN if length is None else (begin, begin + length * int(bits))
    if last < _TILE or extent == 1:
        return whole, whole
    modes = zip(*(it.flatten_to_tuple(x) for x in (get(inner, last).shape, get(inner, last).stride)), strict=True)
    steps = [d for n, d in modes if n != 1]
    step = steps[0] if len(steps) == 1 else None
    if length is None or extent is None or not isinstance(step, int) or step < 1 or fact.dtype is None:
        return _OPEN, None
    if not fact.dtype.bits or _goes_on(fact, step * int(bits) // int(fact.dtype.bits)):
        return _OPEN, None  # a copy of several stages
    if length - (extent - 1) * step > step:
        return whole, whole  # parts of one tile
    first = begin + (offset - begin // int(bits)) // step * step * int(bits)
    return whole, (first, first + (length - (extent - 1) * step) * int(bits))


def _goes_on(fact: TensorFact, stage: int) -> bool:
    """Whether an operand has elements that are a whole stage apart."""
    if isinstance(fact.layout, Unknown):
        return True
    inner = fact.layout.b if isinstance(fact.layout, ComposedLayout) else fact.layout
    if not isinstance(inner, Layout):
        return True
    extents, strides = (it.flatten_to_tuple(x) for x in (inner.shape, inner.stride))
    return any(
        n != 1 and isinstance(d, int) and d > 0 and d % stage == 0 for n, d in zip(extents, strides, strict=True)
    )


def is_asynchronous(tiled: object) -> bool:
    """A copy by ``cp.async``, which goes on after its call."""
    atom = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    return isinstance(atom, CopyAtom) and atom.op.startswith("SM80_CP_ASYNC")


def followed(tiled: object, space: str) -> bool:
    """Whether a copy is one that this run follows: plain, by ``cp.async`` or ``ldmatrix``."""
    atom = tiled.atom if isinstance(tiled, TiledCopy) else tiled
    return space != "coord" and not (isinstance(atom, CopyAtom) and ("TMA" in atom.op or "BULK" in atom.op))


def _by_hardware(kind: str, tiled: object, facts: list[TensorFact]) -> tuple[str, str, bool]:
    """What a copy or gemm is to barriers: a load or store by TMA, or an MMA that goes on after its call."""
    atom = getattr(tiled, "atom", tiled)
    op = str(getattr(atom, "op", ""))
    if kind == "copy" and ("TMA" in op or "BULK" in op):
        return ("load" if "LOAD" in op or "G2S" in op else "tma store"), "tma", True
    described = kind == "gemm" and any(f.space == "smem" and f.dtype == _DESCRIPTOR for f in facts)
    by = "" if not described else "umma" if any(f.space == "tmem" for f in facts) else "wgmma"
    return kind, by, described


def _short(symbol: str) -> str:
    """Of a function, without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]
