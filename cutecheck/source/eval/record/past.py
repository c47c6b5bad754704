"""Slices of tensors at coordinates that they do not have, in a kernel that is run pass by pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import size
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.model.layout import ComposedLayout, Layout

if TYPE_CHECKING:
    from cutecheck.source.eval.record.replay import Replaying

INDEX = ("threadIdx.", "blockIdx.", "cluster")  # variables that are no run-time arguments


def past_end(replay: Replaying, coord: Any, layout: Any, space: str) -> tuple[int, int] | None:
    """A coordinate of a slice, and the extent of its mode, where there is certainly no such one in it.

    The run has numbers of its own, and others may not go together as they do in it. So what decided the way here must
    be made of the same numbers as the extent; of shared memory, of those that extents of matrices are made of.
    """
    plain = layout.b if isinstance(layout, ComposedLayout) else layout
    if not isinstance(plain, Layout):
        return None
    for at, shape in _coordinates(coord, plain.shape):
        extent = as_expr(size(shape))
        value, most = replay.number(as_expr(at)), replay.number(extent)
        if value is None or most is None or 0 <= value < most:
            continue
        decisive = run_time_names(as_expr(at)) | replay.decided.keys()
        if decisive <= (run_time_names(extent) if space == "gmem" else replay.extents):
            return value, most
    return None


def _coordinates(coord: Any, shape: Any) -> Iterator[tuple[Any, Any]]:
    """Numbers of a coordinate, each with the shape of its mode."""
    if isinstance(coord, (int, Dyn, Sym)):
        yield coord, shape
    elif isinstance(coord, tuple) and isinstance(shape, tuple) and len(coord) == len(shape):
        for one, mode in zip(coord, shape, strict=True):
            yield from _coordinates(one, mode)


def run_time_names(expr: Expr) -> set[str]:
    """Of what the host decides."""
    return {v.name for v in expr.variables() if not v.name.startswith(INDEX)}


def extent_names(layout: object) -> set[str]:
    """Of what the extents of a tensor are made of."""
    if not isinstance(layout, Layout):
        return set()
    return {n for e in it.flatten_to_tuple(layout.shape) if isinstance(e, Dyn) for n in run_time_names(e.expr)}
