"""Coordinates of the DSL that a tensor does not have: neither it nor C++ CuTe says anything of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cutecheck.model import algebra as alg
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.source.eval.intrinsics.registry import Call
from cutecheck.source.eval.values import TensorVal

_SPACES = ("smem", "tmem", "rmem")


def past(c: Call, t: TensorVal, coord: Any) -> None:
    """Leave a fact where a number of Python is behind the end of the mode that it picks from, or before its start."""
    layout = t.layout.b if isinstance(t.layout, ComposedLayout) else t.layout
    if t.space not in _SPACES or not isinstance(layout, Layout) or c.m.recorder.open:
        return
    for at, extent, end in _outside(coord, layout.shape, layout.stride):
        if _goes_on(t, layout, at, extent, end):
            continue
        c.m.recorder.called(c.m, replace(c, name="coordinate", args=[layout, at, extent]), at)


def _outside(coord: Any, shape: Any, stride: Any) -> Iterator[tuple[int, int, Any]]:
    """Each number outside of its mode, with the extent of that and where its first element behind the end is."""
    if isinstance(coord, tuple):
        if isinstance(shape, tuple) and len(coord) == len(shape):
            for parts in zip(coord, shape, stride, strict=True):
                yield from _outside(*parts)
    elif type(coord) is int and any(d != 0 for d in leaves(stride)):  # one that repeats has elements without end
        extent = alg.size(shape)
        if isinstance(extent, int) and not 0 <= coord < extent:
            yield coord, extent, alg.crd2idx(extent, shape, stride)


def _goes_on(t: TensorVal, layout: Layout, at: int, extent: int, end: Any) -> bool:
    """Whether the mode goes on in one that the whole tensor has and that a slice at 0 took away.

    The instructions along N of an accumulator in tensor memory, say, of which ``acc[(None, None), 0, 0]`` is the first:
    their columns follow each other. What an index of run time picks from, a stage, is another tensor.
    """
    root = t.root.b if isinstance(t.root, ComposedLayout) else t.root
    if at < extent or not isinstance(root, Layout) or not isinstance(end, int) or end in leaves(layout.stride):
        return False
    if t.start is None or t.dtype is None or t.start[1] != t.dtype.bits or not isinstance(t.offset, (int, Dyn, Sym)):
        return False
    sizes = [n for n, d in zip(leaves(root.shape), leaves(root.stride), strict=True) if d == end]
    if not any(isinstance(n, int) and at < extent * n for n in sizes):
        return False
    offset = as_expr(t.offset)
    names = [v.name for v in offset.variables()]
    try:
        nothing = offset.evaluate(dict.fromkeys(names, 0))
        return all(offset.evaluate(dict.fromkeys(names, 0) | {n: 1}) - nothing != end for n in names)
    except (KeyError, TypeError, ZeroDivisionError):
        return False
