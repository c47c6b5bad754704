"""Single elements of shared memory that a kernel's C++ statements read and store, each thread that comes there one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

from cutecheck.facts import Guard, Unknown
from cutecheck.model import algebra as alg
from cutecheck.model.ints import CuteError, Dyn, Int
from cutecheck.model.layout import AnyLayout, ComposedLayout, Layout, Swizzle
from cutecheck.source.eval import conversions, ir, places
from cutecheck.source.eval.intrinsics import element_of
from cutecheck.source.eval.intrinsics.cuda_math import RESULTS
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.repeatable import changes_nothing, is_assignment
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.threads import answered
from cutecheck.source.eval.values import ArrayType, Pointer, ScalarType, TensorVal, Value

_OF_NUMBERS = frozenset({"max", "min", "float", "double", "int", "unsigned", "half_t", "bfloat16_t", *RESULTS})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^"})


def reads(m: Machine, expr: ir.Expr | None, env: Env) -> None:
    """What a statement computes a number of."""
    if expr is not None and m.dialect.by_value and m.recorder.follows_reads():
        _read(m, expr, env)


def stores(m: Machine, target: ir.Expr, env: Env) -> None:
    """What a statement assigns to; in the run of one thread this buffer is written by other means than copies."""
    replay = m.recorder.replaying
    if replay is not None and replay.thread is not None and m.dialect.by_value:
        buffer = _stored_to(m, target, env)
        if buffer is not None:
            replay.touched(buffer, "smem")
    if m.dialect.by_value and m.recorder.follows_elements():
        _note(m, target, env, True)


def _stored_to(m: Machine, target: ir.Expr, env: Env) -> str | None:
    """The buffer in shared memory that an assignment stores to, empty where it may be any; None where it is none.

    Elements of tensors say so themselves.
    """
    if isinstance(target, ir.Unary) and target.op == "*":
        value = m.eval(target.operand, env) if changes_nothing(target.operand) else Unknown("", target.span)
    elif isinstance(target, ir.Index):
        base = target.base
        while isinstance(base, ir.Index):
            base = base.base
        plain = isinstance(base, ir.Name) or (isinstance(base, ir.Attr) and changes_nothing(base))
        known = changes_nothing(base)
        value = places.whole(m, base, env) if plain else m.eval(base, env) if known else Unknown("", target.span)
    else:
        return None
    if isinstance(value, Unknown):
        return ""
    inside = isinstance(value, (Pointer, TensorVal)) and value.space == "smem"
    pointer = value.pointer if isinstance(value, TensorVal) else value
    return (pointer.buffer if isinstance(pointer, Pointer) else "") if inside else None


def _read(m: Machine, expr: ir.Expr, env: Env) -> None:
    """The elements that are read where an expression is computed; not those of which an address is taken."""
    match expr:
        case ir.Binary() if not is_assignment(expr):
            _read(m, expr.left, env)
            if expr.op not in ("&&", "||"):
                _read(m, expr.right, env)
        case ir.Select():
            _read(m, expr.cond, env)
            _read_one_of(m, expr, env)
        case ir.Cast():
            _read(m, expr.operand, env)
        case ir.Unary() if expr.op in ("+", "-", "!", "~"):
            _read(m, expr.operand, env)
        case ir.Call() if getattr(expr.fn, "ident", "") in _OF_NUMBERS:
            for arg in expr.args:
                _read(m, arg.value, env)
        case ir.Call():
            _note(m, expr, env, False)
            for arg in expr.args:
                if _is_number(arg.value):
                    _read(m, arg.value, env)
        case ir.Index() | ir.Unary(op="*") | ir.Name():
            _note(m, expr, env, False)


def _is_number(expr: ir.Expr) -> bool:
    """What is computed for an argument, and can be no reference to an element."""
    if isinstance(expr, ir.Select):
        return isinstance(expr.then, ir.Lit) or isinstance(expr.other, ir.Lit)
    if isinstance(expr, ir.Call):
        return getattr(expr.fn, "ident", "") in _OF_NUMBERS - {"max", "min"}
    return isinstance(expr, ir.Binary) and expr.op in _ARITHMETIC


def _read_one_of(m: Machine, expr: ir.Select, env: Env) -> None:
    """``cond ? s[i] : x``: what threads read for which the condition holds, where it is known which these are."""
    if not changes_nothing(expr.cond):
        return
    cond = conversions.tested(m, expr.cond, env)
    known = m.dialect.truth(cond)
    _, asks, alike = answered(m, expr.cond, cond, env)
    guard = Guard(m.recorder.text(expr.cond), expr.cond.span, asks=asks, alike=alike)
    for holds, arm in ((True, expr.then), (False, expr.other)):
        if known is None and (alike or asks is not None):
            with m.recorder.guarded(replace(guard, negated=not holds)):
                _read(m, arm, env)
        elif known is holds:
            _read(m, arm, env)


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
    if base is None or not all(_only_computes(m, a, env) for a in args):
        return None
    numbers = [conversions.number(m, m.eval(a, env), place.span) for a in args]
    if isinstance(base, Pointer):
        at = element_of(m, base, numbers[0], place.span) if isinstance(place, ir.Index) and len(numbers) == 1 else None
        return _pointed(at) if isinstance(at, Pointer) else None
    coord = tuple(m.dialect.to_model(n) for n in numbers)
    one = _in_tensor(base, coord if len(coord) > 1 else coord[0])
    if one is None or m.recorder.follows_elements():
        return one
    return base.derive(one.layout, one.offset, base.provenance)  # the stage that it lies in is asked for


def _only_computes(m: Machine, expr: ir.Expr, env: Env) -> bool:
    """Also a part of a coordinate: ``get<0>(cA(0, m, 0))`` of an identity tensor's partition."""
    if isinstance(expr, ir.Binary) and not is_assignment(expr):
        return _only_computes(m, expr.left, env) and _only_computes(m, expr.right, env)
    of = expr.args[0].value if isinstance(expr, ir.Call) and len(expr.args) == 1 and not expr.launch else None
    if getattr(getattr(expr, "fn", None), "ident", "") != "get" or not isinstance(of, ir.Call) or of.launch:
        return changes_nothing(expr)
    if not isinstance(of.fn, ir.Name) or not all(changes_nothing(a.value) for a in of.args):
        return False
    value = places.whole(m, of.fn, env)
    return isinstance(value, TensorVal) and value.space == "coord"


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


def _followed(layout: object) -> TypeGuard[AnyLayout]:
    """Also a swizzle of the elements' numbers, not of their addresses."""
    if isinstance(layout, ComposedLayout) and isinstance(layout.a, Swizzle) and isinstance(layout.offset, (int, Dyn)):
        return isinstance(layout.b, Layout)
    return isinstance(layout, Layout)


def _in_tensor(t: TensorVal, coord: Any) -> TensorVal | None:
    if not _followed(t.layout) or not isinstance(t.offset, (int, Dyn)) or t.pointer is None:
        return None
    if isinstance(coord, (Unknown, Pointer, TensorVal)) or alg.has_underscore(coord):
        return None
    try:
        at = alg.apply_layout(t.layout, coord)
    except (CuteError, TypeError, ValueError):
        return None
    offset: Int | None = t.offset + at if isinstance(at, (int, Dyn)) else None
    return None if offset is None else TensorVal(Layout(1, 0), t.pointer, "smem", t.dtype, offset)
