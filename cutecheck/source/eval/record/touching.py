"""What each thread has of shared memory, in a kernel that all threads run: by its index, all else being a number."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from cutecheck.facts import TensorFact
from cutecheck.facts.touch import Block, Touch, each, hull
from cutecheck.model import inttuple as it
from cutecheck.model.algebra import cosize, get, rank
from cutecheck.model.expr import Expr, atom_expr, const, mul
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.source.eval.values import Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.running import Running

_LARGEST_BLOCK = 1024
_COLUMNS = 2  # modes of a tensor whose last one may be its stages
_THREAD = "threadIdx."


def block_of(run: Running) -> Block | None:
    """Threads of the kernel's block along x, y and z."""
    shape = run.machine.recorder.block_shape()
    known = tuple(n for n in shape if n is not None)
    if not shape or len(known) != len(shape) or not 0 < prod(known) <= _LARGEST_BLOCK:
        return None
    x, y, z = (*known, 1, 1)[:3]
    return x, y, z


def by_thread(run: Running, expr: Expr) -> Expr | None:
    """An expression of the thread's index alone: all other variables are the run's numbers."""
    values: dict[str, Expr] = {}
    for v in expr.variables():
        if not v.name.startswith(_THREAD):
            number = run.number(atom_expr(v))
            if number is None:
                return None
            values[v.name] = const(number)
    return expr.substitute(values)


def answered(run: Running, condition: object) -> Expr | None:
    """A condition by the thread's index alone, where that is what it depends on."""
    number = condition.value if isinstance(condition, Scalar) else condition
    if not isinstance(number, (int, Dyn, Sym)) or isinstance(number, Sym):
        return None
    block, found = block_of(run), by_thread(run, as_expr(number))
    return found if block is not None and found is not None and each(found, block) is not None else None


@contextmanager
def answering(m: Machine, condition: Value, holds: bool) -> Iterator[None]:
    """Where a condition holds, or does not, of the threads of a run: which ones these are."""
    replay = m.recorder.acts()
    if replay is None or replay.thread is not None:
        yield
        return
    replay.answers.append((condition, holds))
    try:
        yield
    finally:
        replay.answers.pop()


def touch_at(run: Running, start: Expr, size: int, modes: tuple[tuple[int, int], ...] = ()) -> Touch | None:
    """What threads access from these bits on; None where it is not known, or which threads come here."""
    block, first = block_of(run), by_thread(run, start)
    if block is None or first is None or not all(run.under):
        return None
    when = []
    for condition, holds in run.answers:
        answers = answered(run, condition)
        if answers is None:
            return None
        when.append((answers, holds))
    return Touch(first, size, block, modes, tuple(when))


def touch_of(run: Running, fact: TensorFact) -> Touch | None:
    """Of an operand with a plain layout of numbers."""
    if not isinstance(fact.layout, Layout) or not isinstance(fact.offset, (int, Dyn)) or fact.dtype is None:
        return None
    bits = fact.dtype.bits
    if not bits or fact.root_bits not in (None, bits) or (fact.root_layout is not None and not _plain(fact)):
        return None
    modes = []
    for extent, stride in zip(*(it.flatten_to_tuple(x) for x in (fact.layout.shape, fact.layout.stride)), strict=True):
        if not isinstance(extent, int) or not isinstance(stride, int):
            return None
        if extent != 1:
            modes.append((extent, stride * int(bits)))
    return touch_at(run, mul(as_expr(fact.offset), const(int(bits))), int(bits), tuple(modes))


def _plain(fact: TensorFact) -> bool:
    return isinstance(fact.root_layout, Layout)


def column_of(fact: TensorFact, root: object, begin: int, touch: Touch) -> tuple[int, int] | None:
    """The bits of one coordinate of the last of two modes, where no thread accesses another's: ``(N, stages)``."""
    bits = fact.dtype.bits if fact.dtype is not None else None
    if not isinstance(root, Layout) or rank(root) != _COLUMNS or not bits:
        return None
    last = get(root, 1)
    try:
        length, extent = known_value(cosize(root)), last.shape
    except (CuteError, UndecidedError):
        return None
    step, every = last.stride, hull(touch)
    if not isinstance(extent, int) or not isinstance(step, int) or extent < _COLUMNS or step < 1 or length is None:
        return None
    own = length - (extent - 1) * step
    if every is None or own > step:
        return None
    low = begin + (every[0] - begin) // (step * int(bits)) * step * int(bits)
    return (low, low + own * int(bits)) if every[1] <= low + own * int(bits) else None
