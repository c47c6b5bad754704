"""What a call returns: one value for all that the function's body may return, as its declared type has it."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.model.prove.domains import PER_THREAD
from cutecheck.source.eval import copies, initialisation, ir, leaks, qualifiers, temporaries
from cutecheck.source.eval.containers import NoValue
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.record.ways import result_tells
from cutecheck.source.eval.scope import ClassInst, Env, Frame
from cutecheck.source.eval.statements.joins import join
from cutecheck.source.eval.symbolic import symbolic
from cutecheck.source.eval.values import (
    VARIANT,
    Cell,
    Extern,
    Object,
    Scalar,
    ScalarType,
    Value,
    VoidType,
    is_variant,
)


def result(m: Machine, fn: ir.Function | ir.Lambda, frame: Frame, env: Env, span: Span) -> Value:
    """What a call returns: of all that its body may return, as the declared type has it."""
    m.returned = _merged(frame)
    if len(frame.returns or ()) > 1 and fn.ret is not None and any(isinstance(v, tuple) for v in frame.returns or ()):
        made = m.eval(fn.ret, env) if not qualifiers.is_auto(fn.ret) else None
        if isinstance(made, ClassInst):  # `return {a, b};` beside `return made_elsewhere();`
            frame.returns = [
                initialisation.convert(m, made, v, span) if isinstance(v, tuple) else v for v in frame.returns or ()
            ]
    made = m.eval(fn.ret, env) if fn.ret is not None and not qualifiers.is_auto(fn.ret) else None
    if is_variant(made) and len(frame.returns or ()) > 1:  # which of them it holds is not known
        frame.returns = [Extern(VARIANT, span, made)]
    value = _joined(m, frame.returns or [], span, frame.apart)
    if frame.refers and m.returned is None and isinstance(value, Unknown) and not qualifiers.constant(fn.ret):
        leaks.leak_pointed(m)
        m.returned = leaks.apart(value, "returned").cells
    deduced = isinstance(fn, ir.Lambda) if fn.ret is None else qualifiers.is_auto(fn.ret)
    if frame.empty and deduced and not frame.returns and isinstance(value, Unknown):
        return NoValue(value.reason, value.span)
    result_tells(m, frame, value)
    if not frame.refers and (isinstance(value, Object) or (type(value) is tuple)):
        value = copies.copied(m, value)
        temporaries.made(m, value)
    if fn.ret is not None and not qualifiers.is_auto(fn.ret) and isinstance(value, (Scalar, int, Extern, tuple)):
        typed = m.eval(fn.ret, env)
        if not isinstance(typed, Unknown):
            return initialisation.convert(m, typed, value, span)
    return unfollowed(m, fn, env, value, span) if isinstance(value, Unknown) else value


def unfollowed(m: Machine, fn: ir.Function | ir.Lambda, env: Env, value: Unknown, span: Span) -> Value:
    """What a call returns of which only ``value``'s reason is known: a number or variant, where it returns one."""
    if fn.ret is not None and not qualifiers.is_auto(fn.ret):
        typed = m.eval(fn.ret, env)
        if is_variant(typed):
            return Extern(VARIANT, span, typed)
        if isinstance(typed, ScalarType):
            name = "lambda" if isinstance(fn, ir.Lambda) else fn.name
            return symbolic(m, typed, f"{name}(){PER_THREAD}{m.number()}", span)
    return value


def unevaluated(m: Machine, fn: ir.Function, env: Env, span: Span) -> Value:
    """What a function that is declared alone returns, of which only the type is asked."""
    if fn.ret is None or qualifiers.is_auto(fn.ret):
        return Unknown(f"`{fn.name}` is declared but not defined in the scanned files", span)
    typed = m.eval(fn.ret, env)
    if isinstance(typed, VoidType):
        return m.dialect.no_value(span)
    return symbolic(m, typed, f"{fn.name}(){PER_THREAD}{m.number()}", span)


def _merged(frame: Frame) -> tuple[Cell, ...] | None:
    """The cells that a function returned a reference to."""
    if not frame.refers or not frame.cells or None in frame.cells:
        return None
    return tuple({(id(w), n): (w, n) for cells in frame.cells for w, n in cells or ()}.values())


def _joined(m: Machine, returns: list[Value], span: Span, varying: bool) -> Value:
    if not returns:
        return m.dialect.no_value(span)
    value = returns[0]
    which = Unknown("which of its values a function returns", span)
    for other in returns[1:]:
        value = join(m, value, other, "returned value", span, which, varying)
    return value
