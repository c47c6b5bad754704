"""Which elements of registers or tensor memory copies and products reach, in all passes of their loops."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import prod

from cutecheck.facts import TensorFact
from cutecheck.model import inttuple as it
from cutecheck.model.expr import Expr
from cutecheck.model.ints import CuteError, Dyn, Int, UndecidedError, as_expr, known_value
from cutecheck.model.layout import IntTuple, Layout

_MOST = 1 << 16  # elements, or passes of loops
_THREAD = "threadIdx.x"


def elements(tensors: Iterable[tuple[TensorFact, int | None]]) -> set[int] | None:
    """Elements of the buffer that any of the tensors has, each with the threads of its block; None if not known.

    A range of a loop's variable may be larger than what it takes: then there are too many elements, never too few.
    """
    found: set[int] = set()
    for tensor, threads in tensors:
        starts, inside = _starts(tensor, threads), _inside(tensor)
        if starts is None or inside is None or len(starts) * len(inside) > _MOST:
            return None
        found |= {start + step for start in starts for step in inside}
    return found


def first(tensor: TensorFact) -> int:
    """Elements of the first mode; 0 where they are not known."""
    if not isinstance(tensor.layout, Layout):
        return 0
    shape = tensor.layout.shape[0] if isinstance(tensor.layout.shape, tuple) else tensor.layout.shape
    known = [known_value(n) for n in it.leaves(shape) if isinstance(n, (int, Dyn))]
    return prod(n for n in known if n is not None) if None not in known else 0


def _starts(tensor: TensorFact, threads: int | None) -> set[int] | None:
    """Where a tensor starts, in elements, at each value of the loops' variables and in each thread."""
    if not isinstance(tensor.offset, (int, Dyn)):
        return None
    expression = as_expr(tensor.offset)
    ranges: dict[str, Sequence[int]] = {}
    for v in expression.variables():
        lo, hi = v.domain.bounds()
        if v.name == _THREAD and threads is not None:
            ranges[v.name] = range(threads)
        elif lo is None or hi is None or v.domain.values is not None or v.name.startswith(("threadIdx", "blockIdx")):
            return None
        else:
            ranges[v.name] = range(lo, hi + 1, max(v.domain.step, 1))
    if prod(map(len, ranges.values())) > _MOST:
        return None
    return _values(expression, ranges)


def _values(expression: Expr, ranges: dict[str, Sequence[int]]) -> set[int] | None:
    try:
        return {expression.evaluate(dict(zip(ranges, at, strict=True))) for at in itertools.product(*ranges.values())}
    except (KeyError, ZeroDivisionError, ValueError, OverflowError):
        return None


def _inside(tensor: TensorFact) -> list[int] | None:
    """Distances of the elements from the first."""
    if not isinstance(tensor.layout, Layout):
        return None
    found = [0]
    try:
        for extent, stride in _leaves(tensor.layout.shape, tensor.layout.stride):
            many, apart = known_value(extent), known_value(stride)
            if many is None or apart is None or many * len(found) > _MOST:
                return None
            found = found if apart == 0 else [x + i * apart for x in found for i in range(many)]
    except (CuteError, UndecidedError, TypeError):
        return None
    return found


def _leaves(shape: IntTuple, stride: IntTuple) -> list[tuple[Int, Int]]:
    if isinstance(shape, tuple):
        strides = stride if isinstance(stride, tuple) else (stride,) * len(shape)
        return [leaf for s, d in zip(shape, strides, strict=True) for leaf in _leaves(s, d)]
    if not isinstance(shape, (int, Dyn)) or not isinstance(stride, (int, Dyn)):
        raise TypeError
    return [(shape, stride)]
