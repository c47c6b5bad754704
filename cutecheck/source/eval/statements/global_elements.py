"""Single elements of global memory that threads store: an epilogue's, under comparisons of coordinates or not."""

from __future__ import annotations

from dataclasses import replace

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.ints import CuteError, Dyn, UndecidedError
from cutecheck.model.layout import Layout
from cutecheck.source.eval import conversions, ir, places
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.repeatable import changes_nothing
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Pointer, TensorVal


def stores(m: Machine, target: ir.Expr, env: Env) -> None:
    """What a statement assigns to, an element of a tensor of global memory."""
    place = _seen_through(target)
    if isinstance(place, (ir.Call, ir.Index)) and m.recorder.follows_stores():
        found = _located(m, place, env)
        if found is not None:
            m.recorder.stored_element(found, place.span)


def _seen_through(target: ir.Expr) -> ir.Expr | None:
    """The element that a store by another type begins with: ``*reinterpret_cast<half2*>(&t(i)) = ...``."""
    if isinstance(target, ir.Index) and [getattr(a, "value", None) for a in target.args] == [0]:
        address: ir.Expr = target.base  # reinterpret_cast<half2*>(&t(i))[0]
    elif isinstance(target, ir.Unary) and target.op == "*":
        address = target.operand
    else:
        return target.operand if isinstance(target, ir.Cast) and _to_reference(target.type) else target
    if not isinstance(address, ir.Cast):
        return target if isinstance(target, ir.Index) else None
    inside = address.operand
    while isinstance(inside, ir.Cast):
        inside = inside.operand
    if isinstance(inside, ir.Call) and getattr(inside.fn, "ident", "").endswith("raw_pointer_cast"):
        inside = inside.args[0].value if len(inside.args) == 1 else inside
    if isinstance(inside, ir.Unary) and inside.op == "&":
        return inside.operand
    return None


def _to_reference(type_: ir.Expr) -> bool:
    return isinstance(type_, ir.TypeMod) and type_.kind == "ref"


def _located(m: Machine, target: ir.Call | ir.Index, env: Env) -> TensorVal | None:
    """The element as a tensor of its own, a part of the same matrix; None for anything else."""
    base = target.fn if isinstance(target, ir.Call) else target.base
    args = [a.value for a in target.args] if isinstance(target, ir.Call) else list(target.args)
    if not isinstance(base, ir.Name) or not args or not all(changes_nothing(a) for a in args):
        return None
    t = places.whole(m, base, env)
    if not isinstance(t, TensorVal) or not isinstance(t.pointer, Pointer) or t.pointer.space != "gmem":
        return None
    if not isinstance(t.layout, Layout) or not isinstance(t.offset, (int, Dyn)):
        return None
    coord = tuple(m.dialect.to_model(conversions.number(m, m.eval(a, env), target.span)) for a in args)
    if any(isinstance(c, (Unknown, Pointer, TensorVal)) or alg.has_underscore(c) for c in coord):
        return None
    try:
        at = alg.apply_layout(t.layout, coord if len(coord) > 1 else coord[0])
    except (CuteError, UndecidedError, TypeError, ValueError):
        return None
    return replace(t, layout=Layout(1, 0), offset=t.offset + at) if isinstance(at, (int, Dyn)) else None
