"""A kernel run once more, pass by pass: its run-time arguments are given values, and loops run as they say.

What is computed from a number that is made on the way (loaded, or joined after a condition) stays open: the run ends.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, NoReturn

from cutecheck.facts import NOT_WALKED, Span, TensorFact, Unknown
from cutecheck.facts.replayed import Place, Step
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import get, rank, size
from cutecheck.model.atoms import CopyAtom
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, as_expr, known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.eval.values import Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_AT_LEAST = 768  # of a run-time number: some tiles of a matrix, a multiple of most of their extents
_MOST_STEPS = 4000
PASSES = 26  # of one loop; its later ones are as those before
_NUMBER = re.compile(r"#(\d+)")
_WRAPPERS = ("cp_async_wait", "cp_async_wait_group", "cp_async_fence", "cp_async_commit_group", "commit")
_RELATIONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le}
_INDEX = ("threadIdx.", "blockIdx.", "cluster")


class ReplayOver(Exception):
    """What comes next is not known, or no more need be known."""


class Replaying:
    """The run of one kernel. ``made``: numbers of the machine's that were made before it."""

    def __init__(self, m: Machine) -> None:
        self.machine = m
        self.made = m.made
        self.entered = m.made  # numbers of the machine's that were made before the first copy
        self.under: list[Value] = []  # conditions that are not decided
        self.steps: list[Step] = []
        self.views: dict[object, int] = {}  # layouts of tensors in shared memory, and their numbers

    def truth(self, condition: Expr) -> bool | None:
        """Of a condition that all threads answer alike."""
        variables = condition.variables()
        if any(v.name.startswith("threadIdx.") for v in variables):
            return None
        value = self.number(condition)
        return None if value is None else bool(value)

    def number(self, expr: Expr, base: bool = False) -> int | None:
        """The value at the first thread of the first block; None where a number of it was made on the way.

        ``base``: what was loaded before the first copy, for all threads alike, may be anything that stays: it is 0.
        """
        values: dict[str, int] = {}
        for v in expr.variables():
            number = _NUMBER.search(v.name)
            loaded = base and number is not None and self.made < int(number[1]) <= self.entered
            if v.name.startswith(_INDEX) or (loaded and PER_THREAD not in v.name):
                values[v.name] = 0
                continue
            if PER_THREAD in v.name or v.name.startswith("gridDim") or (number and int(number[1]) > self.made):
                return None
            values[v.name] = _given(v)
        try:
            _compare(expr, values)
            return expr.evaluate(values)
        except (KeyError, ValueError, ZeroDivisionError, OverflowError):
            return None

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

    def happened(
        self, kind: str, name: str, span: Span, where: str, tiled: object, facts: list[TensorFact], predicated: bool
    ) -> None:
        """A copy or gemm."""
        spaces = [f.space for f in facts]
        if not {"smem", "gmem"} & set(spaces) and kind == "copy" and "rmem" not in spaces:
            return
        if any(not self._by_threads(c) for c in self.under) or not all(followed(tiled, s) for s in spaces):
            self.end()
        if not any(s.kind == "copy" for s in self.steps):
            self.entered = self.machine.made
        places = [self.place(f) for f in facts]
        found = tuple(p for p in places if p is not None)
        if len(found) != len(places):
            self.end()
        maybe = bool(self.under) or predicated
        self.add(Step(kind, span, where, name, None, found, is_asynchronous(tiled), maybe))

    def overwritten(self, name: str, span: Span, where: str, facts: list[TensorFact]) -> None:
        """Tensors get values that are computed."""
        places = [Place(f.name, f.span, f.space, f.buffer or "", 0) for f in facts if f.space == "rmem"]
        self.add(Step(name, span, where, name, None, tuple(places)))

    def element(self, fact: TensorFact, written: bool, span: Span, where: str) -> None:
        """A single element is read or stored: of registers, what is stored may be any of them."""
        if fact.space == "smem":
            self.end()
        if written and fact.buffer:
            self.add(Step("store", span, where, "", None, (Place(fact.name, fact.span, "rmem", fact.buffer, 0),)))

    def _by_threads(self, condition: Value) -> bool:
        """A condition that threads answer, each by its index."""
        number = condition.value if isinstance(condition, Scalar) else condition
        return isinstance(number, Dyn) and any(v.name.startswith("threadIdx.") for v in number.expr.variables())

    def place(self, fact: TensorFact) -> Place | None:
        """Where an operand starts; None where that is not a number."""
        inner = fact.layout.offset if isinstance(fact.layout, ComposedLayout) else 0
        if isinstance(fact.offset, (Unknown, tuple)) or not isinstance(fact.offset, (int, Dyn, Sym)):
            return None
        if not isinstance(inner, (int, Dyn)) or not fact.buffer:
            return None
        offset = self.number(as_expr(fact.offset), fact.space == "gmem")
        more = self.number(as_expr(inner))
        if offset is None or more is None:
            return None
        root = 0
        if fact.root_start_bits is not None and fact.space == "smem":
            found = self.number(as_expr(fact.root_start_bits))
            if found is None:
                return None
            root = found
        offset += more
        stage = _stage(fact, offset, root)
        if stage is None:
            return None
        view = self.views.setdefault(fact.root_layout, len(self.views)) if fact.space == "smem" else 0
        return Place(fact.name, fact.span, fact.space, fact.buffer, offset, (root, view), stage, fact.source)


def _compare(expr: Expr, values: dict[str, int]) -> None:
    """Values of the comparisons in an expression, by their text, as :meth:`Expr.evaluate` looks them up."""
    for atom in {a for monomial, _ in expr.terms for a in monomial if isinstance(a, Op)}:
        for argument in atom.args:
            _compare(argument, values)
        if atom.kind == "opaque" and atom.label in _RELATIONS:
            left, right = (a.evaluate(values) for a in atom.args)
            values[str(atom)] = int(_RELATIONS[atom.label](left, right))


def _given(v: Var) -> int:
    """A value for a run-time number: the least multiple of what divides it that is large enough, if it may be."""
    if v.domain.values:
        return max(v.domain.values)
    step = max(1, v.domain.divisor())
    value = -(-_AT_LEAST // step) * step
    lo, hi = v.domain.bounds()
    if hi is not None and value > hi:
        value = hi // step * step
    return lo if lo is not None and value < lo else value


def _stage(fact: TensorFact, offset: int, root_bits: int) -> int | None:
    """Which of the stages an operand is of, told by the last mode of three or more of the whole tensor."""
    root = fact.root_layout.b if isinstance(fact.root_layout, ComposedLayout) else fact.root_layout
    if fact.space != "smem" or root is None:
        return 0
    try:
        last = rank(root) - 1
        if last < 2:
            return 0
        extent, whole = known_value(size(get(root, last))), known_value(size(root))
    except (CuteError, UndecidedError):
        return None
    bits = fact.root_bits or (fact.dtype.bits if fact.dtype is not None else None)
    own = fact.dtype.bits if fact.dtype is not None else None
    if extent is None or whole is None or not bits or own != bits:
        return None
    if extent < 2:
        return 0
    if _goes_on(fact, whole // extent):
        return None  # a copy of several stages
    return (offset - root_bits // int(bits)) * extent // whole


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


def _short(symbol: str) -> str:
    """Of a function, without namespaces and template arguments."""
    return symbol.partition("<")[0].rpartition("::")[2]
