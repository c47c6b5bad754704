"""Conditions on a thread's index by which each thread computes numbers of its own: a mask over its accumulators.

In the run of one thread they need not be decided, whatever the thread answers: what lies in registers is not followed.
Threads that differ in nothing else do the same.
"""

from __future__ import annotations

from cutecheck.source.eval import conversions, ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Scalar, TensorVal, Value

_CONVERSIONS = frozenset({"Float32", "Float16", "BFloat16", "Float64", "float", "float32_t", "Element"})


def decided(m: Machine, node: ir.If | ir.Select, env: Env) -> tuple[Value, bool | None]:
    """The value of a condition, and what it decides: nothing where that is the numbers in registers, in such a run."""
    run = m.recorder.acts()
    if run is None or run.thread is None or not _only_elements(m, node, env):
        cond = conversions.tested(m, node.cond, env)
        return cond, m.dialect.truth(cond)
    asked = dict(run.asked)
    cond = conversions.tested(m, node.cond, env)  # what it asks on the way (``a or b``) parts no threads, either
    run.asked = asked
    return cond, None if _of_index(cond) else m.dialect.truth(cond)


def _only_elements(m: Machine, node: ir.If | ir.Select, env: Env) -> bool:
    if isinstance(node, ir.Select):
        arms = node.then, node.other
        return all(_plain(m, x, env) for x in arms) and any(_real(m, x, env) for x in arms)
    bodies = [node.then] if node.other is None else [node.then, node.other]
    return all(body.body and all(_stores(m, s, env) for s in body.body) for body in bodies)


def _of_index(cond: Value) -> bool:
    number = cond.value if isinstance(cond, Scalar) else cond
    expr = getattr(number, "expr", None)
    return expr is not None and any(v.name.startswith("threadIdx.") for v in expr.variables())


def _stores(m: Machine, stmt: ir.Stmt, env: Env) -> bool:
    """``scores[i, j] = -inf``, of floating-point numbers in registers."""
    if not isinstance(stmt, ir.Assign) or not _plain(m, stmt.value, env) or not _plain(m, stmt.target, env):
        return False
    return isinstance(stmt.target, (ir.Index, ir.Call)) and _of_registers(m, stmt.target, env)


def _of_registers(m: Machine, node: ir.Expr, env: Env) -> bool:
    base = node.base if isinstance(node, ir.Index) else node.fn if isinstance(node, ir.Call) else None
    if not isinstance(base, ir.Name) or env.find_var(base.ident) is None:
        return False
    with m.recorder.rehearsing():
        value = m.eval(base, env)
    of = isinstance(value, TensorVal) and value.space == "rmem" and value.dtype is not None
    return of and _floats(value.dtype.name)


def _plain(m: Machine, node: ir.Expr, env: Env) -> bool:
    """Names, numbers, operators, elements and conversions: nothing happens where it is evaluated."""
    match node:
        case ir.Lit() | ir.Name() | ir.Scoped():
            return True
        case ir.Attr():
            return _plain(m, node.base, env)
        case ir.Unary():
            return node.op in ("-", "+", "!", "not") and _plain(m, node.operand, env)
        case ir.Cast():
            return _plain(m, node.operand, env)
        case ir.Binary():
            return (
                node.op in ("+", "-", "*", "/", "%", "//") and _plain(m, node.left, env) and _plain(m, node.right, env)
            )
        case ir.Index():
            return _plain(m, node.base, env) and all(_plain(m, a, env) for a in node.args)
        case ir.Sequence_():
            return all(a.name is None and not a.star and _plain(m, a.value, env) for a in node.items)
        case ir.Call():
            known = _called(node) in _CONVERSIONS or _of_registers(m, node, env)
            return known and all(_plain(m, a.value, env) for a in node.args)
        case _:
            return False


def _real(m: Machine, node: ir.Expr, env: Env) -> bool:
    """It is a floating-point number, of which none is ever the number of a tile, stage or pass."""
    if isinstance(node, ir.Unary):
        return _real(m, node.operand, env)
    if isinstance(node, ir.Binary):
        return _real(m, node.left, env) or _real(m, node.right, env)
    if isinstance(node, ir.Lit):
        return isinstance(node.value, float)
    if isinstance(node, (ir.Index, ir.Call)) and _of_registers(m, node, env):
        return True
    if isinstance(node, ir.Call):
        return _called(node) in _CONVERSIONS
    with m.recorder.rehearsing():
        value = m.eval(node, env)
    return isinstance(value, float) or (isinstance(value, Scalar) and _floats(str(value.ctype)))


def _called(node: ir.Call) -> str:
    return str(getattr(node.fn, "ident", ""))


def _floats(name: str) -> bool:
    return name in ("float", "double") or name[:1] == "f" or "float" in name.lower() or "half" in name or "bf" in name


__all__ = ["decided"]
