"""One value for the two that a variable may have after a branch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Int, Sym, as_expr
from cutecheck.source.eval import classes
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import Extern, Object, Pointer, Scalar, TensorVal, Value


def join(m: Machine, a: Value, b: Value, what: str, span: Span, cond: Value = None) -> Value:
    """One value for two: the same, a run-time integer covering both, or Unknown."""
    if a is b or _same(a, b):
        return a
    own = m.dialect.joined(m, a, b, what, span)
    if own is not None:
        return own
    if isinstance(a, Unknown):
        return a
    if isinstance(b, Unknown):
        return b
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        if a.value is None or b.value is None or isinstance(a.value, float) or isinstance(b.value, float):
            return Scalar(None, a.ctype)
        static = isinstance(cond, Sym) or (isinstance(cond, Scalar) and isinstance(cond.value, Sym))
        return Scalar(_cover(m, a.value, b.value, what, span, static), a.ctype)
    if isinstance(a, (int, Dyn, Sym)) and isinstance(b, (int, Dyn, Sym)):
        return _cover(m, a, b, what, span)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(join(m, x, y, what, span, cond) for x, y in zip(a, b, strict=True))
    if isinstance(a, Pointer) and isinstance(b, Pointer) and a.buffer == b.buffer and a.type == b.type:
        if isinstance(a.offset, Unknown) or isinstance(b.offset, Unknown):
            return replace(a, offset=Unknown("the offset depends on an unknown condition", span))
        return replace(a, offset=_cover(m, a.offset, b.offset, what, span))
    if isinstance(a, TensorVal) and isinstance(b, TensorVal) and a.layout == b.layout and a.pointer is not None:
        pointer = join(m, a.pointer, b.pointer, what, span)
        if isinstance(pointer, Pointer):
            return replace(a, pointer=pointer)
    if (
        isinstance(a, Object)
        and isinstance(b, Object)
        and type_key(a.cls) == type_key(b.cls)
        and a.pointer == b.pointer
    ):
        joined = {}
        for name in dict.fromkeys((*a.fields, *b.fields)):  # the others are as the class says
            one, other = (classes.get_field(m, o, name, span) for o in (a, b))
            joined[name] = join(m, one, other, what, span, cond)
        return replace(a, fields=joined)
    if isinstance(a, Extern) or isinstance(b, Extern):
        return Extern(what, span)
    return Unknown(f"{what} depends on a condition that is not known", span)


def _same(a: Value, b: Value) -> bool:
    try:
        return type(a) is type(b) and bool(a == b)
    except TypeError:
        return False


def _cover(m: Machine, a: Any, b: Any, what: str, span: Span, static: bool = True) -> Int:
    """A fresh integer in the hull of two, a multiple of what divides both; static when they and the condition are."""
    static = static and isinstance(a, (int, Sym)) and isinstance(b, (int, Sym))
    m.recorder.symbols = m.recorder.symbols or static
    if isinstance(a, int) and isinstance(b, int):
        domain = Domain(values=tuple(sorted({a, b})))
        if static:
            return Sym.named(f"({m.recorder.text(span) or what})", domain)
        return m.fresh(what.strip("`") or "join", domain)

    (al, ah), (bl, bh) = ex.bounds(as_expr(a)), ex.bounds(as_expr(b))
    lo = None if al is None or bl is None else min(al, bl)
    hi = None if ah is None or bh is None else max(ah, bh)
    step = math.gcd(ex.divisor(as_expr(a)), ex.divisor(as_expr(b))) or 1
    if static:
        return Sym.named(f"({m.recorder.text(span) or what})", Domain(lo, hi, step))
    return m.fresh(what.strip("`") or "join", Domain(lo, hi, step))
