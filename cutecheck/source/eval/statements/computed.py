"""Loops that only compute numbers: they are run as often as their condition says, where that is known.

What such a loop adds up, or writes into the elements of an array, is then known to the last bit. Loops that may do
anything else are walked once for all their iterations.
"""

from __future__ import annotations

from typing import Any

from cutecheck.model.identity import once
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.mentions import parts_in
from cutecheck.source.eval.repeatable import is_assignment
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import Address, Closure, EnumVal, FuncSet, Intrinsic, Object, Reference, Scalar, Value

ITERATIONS = 4096
STEPS = 50_000  # of one run of a loop
_ATTEMPTS = 3  # that came to no end, of one loop
_DEPTH = 3  # functions that call each other
_NUMBERS = frozenset((
    "size", "get", "rank", "shape", "stride", "max", "min", "ceil_div", "abs", "gcd", "lcm", "cosize", "depth",
    "log_2", "bit_width", "has_single_bit", "popcount", "round_up", "tuple_size",
))  # fmt: skip
_NEVER = (ir.Opaque, ir.With, ir.Try, ir.Lambda, ir.Comprehension, ir.Requires)
_STEPS = ("++", "--", "p++", "p--")


def computes(m: Machine, node: ir.Loop, env: Env) -> bool:
    """Whether running a loop exactly is worth it, and leaves no fact."""
    if m.dialect.name != "cpp" or node.kind == "foreach" or m.recorder.is_unevaluated():
        return False
    if m.functions.get(("endless", id(node)), 0) >= _ATTEMPTS:
        return False
    called = _plain(node)
    return called is not None and _worth(node, env) and all(_computes(m, fn, env, 0) for fn in called)


def gave_up(m: Machine, node: ir.Loop) -> None:
    key = ("endless", id(node))
    m.functions[key] = m.functions.get(key, 0) + 1


def _worth(node: ir.Loop, env: Env) -> bool:
    """It changes a number or an element that is followed, of a variable outside."""
    for name in _written(node):
        at = env.find_var(name)
        value = at.vars[name] if at is not None else None
        if isinstance(value, (Address, EnumVal, Object, Reference, Elements)):
            return True
        if isinstance(value, Scalar) and not (value.value is None and value.ctype in ("float", "double")):
            return True
    return False


@once
def _written(node: Any) -> tuple[str, ...]:
    """Names of variables that are written, or of which a part is."""
    found: dict[str, None] = {}
    for at in parts_in(node):
        target: Any = None
        if isinstance(at, ir.Assign):
            target = at.target
        elif isinstance(at, ir.Binary) and is_assignment(at):
            target = at.left
        elif isinstance(at, ir.Unary) and at.op in _STEPS:
            target = at.operand
        while isinstance(target, (ir.Index, ir.Attr)):
            target = target.base
        if isinstance(target, ir.Name):
            found[target.ident] = None
    return tuple(found)


@once
def _plain(node: Any) -> tuple[ir.Expr, ...] | None:
    """What a statement calls, if it does nothing but compute; None if it may do more."""
    called: list[ir.Expr] = []
    for at in parts_in(node):
        if isinstance(at, _NEVER) or (isinstance(at, ir.Jump) and at.kind in ("goto", "raise")):
            return None
        if isinstance(at, ir.Local):
            decl = at.decl
            if not isinstance(decl, ir.Variable) or decl.flags & {"static", "shared", "extern", "thread"}:
                return None
        elif isinstance(at, ir.Assign) and not isinstance(at.target, (ir.Name, ir.Attr, ir.Index, ir.Unary)):
            return None
        elif isinstance(at, ir.Call):
            if at.launch is not None:
                return None
            called.append(at.fn)
    return tuple(called)


def _computes(m: Machine, fn: ir.Expr, env: Env, depth: int) -> bool:
    """What a call runs does nothing but compute, either."""
    if not isinstance(fn, (ir.Name, ir.Scoped, ir.Attr, ir.Construct)):
        return False
    with m.recorder.rehearsing(), m.budget.aside(), m.journal.forgetting():
        value: Value = m.eval(fn, env)
    if isinstance(value, Intrinsic):
        return value.name in _NUMBERS
    if isinstance(value, (Layout, ComposedLayout, Swizzle)):
        return True
    if isinstance(value, Closure):
        called = _plain(value.node.body.get())
        return called is not None and depth < _DEPTH and all(_computes(m, f, value.env, depth + 1) for f in called)
    if not isinstance(value, FuncSet):
        return is_type(value)
    for entry in value.entries:
        body = entry.decl.body
        if body is None or "kernel" in entry.decl.flags or depth >= _DEPTH:
            return False
        called = _plain(body.get())
        inner = Env(entry.env, "function", self_=value.self_)
        if called is None or not all(_computes(m, f, inner, depth + 1) for f in called):
            return False
    return True
