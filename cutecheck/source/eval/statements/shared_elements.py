"""Single elements of shared memory that a kernel's C++ statements read and store, each thread that comes there one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutecheck.facts import Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import Layout
from cutecheck.source.eval import conversions, ir, places
from cutecheck.source.eval.intrinsics import element_of
from cutecheck.source.eval.intrinsics.cuda_math import RESULTS
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.repeatable import changes_nothing, is_assignment
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import ArrayType, Pointer, ScalarType, TensorVal, Value

_OF_NUMBERS = frozenset({"max", "min", "float", "double", "int", "unsigned", "half_t", "bfloat16_t", *RESULTS})


def reads(m: Machine, expr: ir.Expr | None, env: Env) -> None:
    """What a statement computes a number of."""
    if expr is not None and m.dialect.by_value and m.recorder.follows_elements():
        for place in _read(expr):
            _note(m, place, env, False)


def stores(m: Machine, target: ir.Expr, env: Env) -> None:
    """What a statement assigns to."""
    if m.dialect.by_value and m.recorder.follows_elements():
        _note(m, target, env, True)


def _read(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The elements that are read for sure where an expression is computed; not those of which an address is taken."""
    match expr:
        case ir.Binary() if not is_assignment(expr):
            yield from _read(expr.left)
            if expr.op not in ("&&", "||"):
                yield from _read(expr.right)
        case ir.Select():
            for part in (expr.cond, expr.then, expr.other):
                yield from _read(part)
        case ir.Cast():
            yield from _read(expr.operand)
        case ir.Unary() if expr.op in ("+", "-", "!", "~"):
            yield from _read(expr.operand)
        case ir.Call() if getattr(expr.fn, "ident", "") in _OF_NUMBERS:
            for arg in expr.args:
                yield from _read(arg.value)
        case ir.Index() | ir.Call() | ir.Unary(op="*") | ir.Name():
            yield expr


def _note(m: Machine, place: ir.Expr, env: Env, written: bool) -> None:
    found = _located(m, place, env)
    if found is not None:
        m.recorder.one_element(found, written, place.span)


def _located(m: Machine, place: ir.Expr, env: Env) -> TensorVal | None:
    """One element of shared memory as a tensor of its own; None for anything else."""
    if isinstance(place, ir.Name):
        return _pointed(m.recorder.single(place.ident, env))
    if isinstance(place, ir.Unary) and place.op == "*" and changes_nothing(place.operand):
        return _pointed(m.eval(place.operand, env))
    if isinstance(place, ir.Call):
        args = [a.value for a in place.args]
        base = _base(m, place.fn, env) if args and not place.launch else None
    elif isinstance(place, ir.Index):
        args, base = list(place.args), _base(m, place.base, env)
    else:
        return None
    if base is None or not all(map(changes_nothing, args)):
        return None
    numbers = [conversions.number(m, m.eval(a, env), place.span) for a in args]
    if isinstance(base, Pointer):
        at = element_of(m, base, numbers[0], place.span) if isinstance(place, ir.Index) and len(numbers) == 1 else None
        return _pointed(at) if isinstance(at, Pointer) else None
    coord = tuple(m.dialect.to_model(n) for n in numbers)
    return _in_tensor(base, coord if len(coord) > 1 else coord[0])


def _base(m: Machine, expr: ir.Expr, env: Env) -> Pointer | TensorVal | None:
    """The array or tensor in shared memory of which an element is meant."""
    value: Value = None
    if isinstance(expr, ir.Index) and len(expr.args) == 1 and changes_nothing(expr.args[0]):
        outer = _base(m, expr.base, env)
        if isinstance(outer, Pointer) and isinstance(outer.type, ArrayType):
            value = element_of(m, outer, conversions.number(m, m.eval(expr.args[0], env), expr.span), expr.span)
    elif isinstance(expr, ir.Name) or (isinstance(expr, ir.Attr) and changes_nothing(expr)):
        value = places.whole(m, expr, env)
    space = value.space if isinstance(value, (Pointer, TensorVal)) else ""
    return value if space == "smem" and isinstance(value, (Pointer, TensorVal)) else None


def _pointed(value: Value) -> TensorVal | None:
    if not isinstance(value, Pointer) or value.space != "smem" or isinstance(value.offset, Unknown):
        return None
    if not isinstance(value.type, ScalarType) or not value.type.dtype.bits:
        return None
    return TensorVal(Layout(1, 0), value, "smem", value.type.dtype)


def _in_tensor(t: TensorVal, coord: Any) -> TensorVal | None:
    if not isinstance(t.layout, Layout) or not isinstance(t.offset, (int, Dyn)) or t.pointer is None:
        return None
    if isinstance(coord, (Unknown, Pointer, TensorVal)) or alg.has_underscore(coord):
        return None
    try:
        at = alg.apply_layout(t.layout, coord)
    except (CuteError, TypeError, ValueError):
        return None
    offset: Int | None = t.offset + at if isinstance(at, (int, Dyn)) else None
    return None if offset is None else TensorVal(Layout(1, 0), t.pointer, "smem", t.dtype, offset)
