"""``cute::lazy::transform`` of coordinates: a tensor of what a function says of each, as predicates are."""

from __future__ import annotations

from cutecheck.model import inttuple as it
from cutecheck.model.algebra import make_layout
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Int, Sym
from cutecheck.model.layout import Layout
from cutecheck.source.eval import asked_flags, calls, predicates
from cutecheck.source.eval.intrinsics.registry import Call
from cutecheck.source.eval.intrinsics.tuples import applied
from cutecheck.source.eval.values import TensorVal, Value


def flags(c: Call) -> Value | None:
    """``transform(coordinates, f)``: only the lazy one takes what no pointer leads to; None of anything else.

    Each element is judged as ``pred(i, j) = f(coordinates(i, j))`` in loops over all of them.
    """
    if len(c.args) != 2 or not isinstance(c.args[0], TensorVal):
        return None
    tensor = c.args[0]
    layout = tensor.layout
    if tensor.pointer is not None or tensor.space != "coord" or not isinstance(layout, Layout):
        return None
    shapes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    at: list[Int] = [c.m.fresh("element", _below(s)) for s in shapes]
    coordinate = calls.apply(c.m, tensor, [c.m.dialect.from_model(x) for x in at], {}, c.span)
    if not isinstance(coordinate, tuple):
        return None
    model = c.m.dialect.to_model(coordinate)
    leaves = tuple(x for x in it.flatten_to_tuple(model) if isinstance(x, (int, Dyn, Sym)))
    bounds, complete = predicates.by_value(c.m, applied(c, c.args[1], [coordinate]), leaves)
    made: TensorVal = c.m.recorder.registers(c.m, make_layout(layout.shape), dtype("bool"), c.span, "fragment", None)
    if made.pointer is not None and isinstance(made.layout, Layout):
        element = made.layout(*at)
        at_one = element if isinstance(element, (int, Dyn, Sym)) else None
        c.m.recorder.predicate(c.m, made.pointer.buffer, c.span, tuple(bounds), complete, at_one)
        asked_flags.assigned(c.m, made.pointer.buffer, c.span, at, bounds, complete)
        c.m.recorder.sets(made)
        replay = c.m.recorder.acts()
        if replay is not None:
            replay.touched(made.pointer.buffer, made.space)
    return made


def _below(shape: object) -> Domain:
    extent = it.product(shape)
    return Domain(0, extent - 1) if isinstance(extent, int) and extent > 0 else Domain(0)
