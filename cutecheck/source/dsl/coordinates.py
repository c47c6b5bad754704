"""Coordinates of the DSL that a tensor does not have: neither it nor C++ CuTe says anything of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cutecheck.model import algebra as alg
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
    for at, extent in _outside(coord, layout.shape, layout.stride):
        c.m.recorder.called(c.m, replace(c, name="coordinate", args=[layout, at, extent]), at)


def _outside(coord: Any, shape: Any, stride: Any) -> Iterator[tuple[int, int]]:
    if isinstance(coord, tuple):
        if isinstance(shape, tuple) and len(coord) == len(shape):
            for parts in zip(coord, shape, stride, strict=True):
                yield from _outside(*parts)
    elif type(coord) is int and any(d != 0 for d in leaves(stride)):  # one that repeats has elements without end
        extent = alg.size(shape)
        if isinstance(extent, int) and not 0 <= coord < extent:
            yield coord, extent
