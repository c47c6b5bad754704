"""Which tile of its tensor a TMA copy takes: by the modes of the tensor, whose coordinates the run knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cutecheck.facts import TensorFact
from cutecheck.facts.replayed import Along
from cutecheck.model import inttuple as it
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.source.eval.record.in_clusters import axis_of_neighbour, beside
from cutecheck.source.eval.record.rounds import MEMORY

if TYPE_CHECKING:
    from cutecheck.source.eval.record.running import Running

_FRESH = re.compile(r"#\d+")


def walk_of(run: Running, fact: TensorFact) -> tuple[Along, ...] | None:
    """Of each mode of the tensor where the tile starts, how far it goes, and how many elements there are.

    A start that the run does not know (a scheduler's) is its text; None where the modes are not known.
    """
    root, offset = fact.root_layout, fact.offset
    if fact.space != "coord" or not isinstance(root, Layout) or not isinstance(fact.layout, Layout):
        return None
    if not isinstance(root.shape, tuple) or not isinstance(root.stride, tuple) or not isinstance(offset, tuple):
        return None
    spans = _spans(fact.layout)
    axis = axis_of_neighbour(run)
    found: list[Along] = []
    for extent, stride in zip(root.shape, root.stride, strict=True):
        if not isinstance(stride, ScaledBasis) or len(stride.path) != 1 or stride.value != 1 or spans is None:
            return None
        at = offset[stride.path[0]] if stride.path[0] < len(offset) else 0
        if not isinstance(at, (int, Dyn)) or not isinstance(extent, (int, Dyn)):
            return None
        start, many = run.number(as_expr(at)), run.number(as_expr(extent))
        if many is None:
            return None
        named = _FRESH.sub("", str(extent))
        span = spans.get(stride.path[0], 1)
        next_one = None if axis is None or start is None else beside(run, as_expr(at), axis)
        found.append(Along(str(at) if start is None else start, span, many, named, _read(as_expr(at)), next_one))
    return tuple(found)


def _read(at: Expr) -> tuple[str, ...]:
    """The buffers in global memory that numbers of an expression come from."""
    names = (v.name.partition("[")[0] for v in at.variables() if v.name.startswith(MEMORY))
    return tuple(sorted(set(names)))


def _spans(layout: Layout) -> dict[int, int] | None:
    """How far a tile goes along each coordinate."""
    shape, stride = it.flatten_to_tuple(layout.shape), it.flatten_to_tuple(layout.stride)
    last: dict[int, int] = {}
    for extent, step in zip(shape, stride, strict=True):
        if isinstance(step, int) and step == 0:
            continue
        if not isinstance(extent, int) or not isinstance(step, ScaledBasis) or len(step.path) != 1:
            return None
        if not isinstance(step.value, int):
            return None
        last[step.path[0]] = last.get(step.path[0], 0) + (extent - 1) * abs(step.value)
    return {mode: n + 1 for mode, n in last.items()}
