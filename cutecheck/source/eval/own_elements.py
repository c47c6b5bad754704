"""Conditions on a thread's index by which each thread computes numbers of its own: a mask over its accumulators.

In the run of one thread they need not be decided, whatever the thread answers: what lies in registers is not followed.
Threads that differ in nothing else do the same.
"""

from __future__ import annotations

from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.eval import conversions, ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.values import Scalar, TensorVal, Value

_RELATIONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_CONVERSIONS = frozenset({"Float32", "Float16", "BFloat16", "Float64", "float", "float32_t", "Element"})


def decided(m: Machine, node: ir.If | ir.Select, env: Env) -> tuple[Value, bool | None]:
    """The value of a condition, and what it decides: nothing where that is the numbers in registers, in such a run."""
    run = m.recorder.acts()
    of_numbers = isinstance(node, ir.Select) and _numbers(node) is not None
    if run is None or run.thread is None or of_numbers or not _only_elements(m, node, env):
        cond = conversions.tested(m, node.cond, env)
        chosen = number(m, node, cond) if isinstance(node, ir.Select) and of_numbers else None
        return cond, None if chosen is not None else m.dialect.truth(cond)
    asked = dict(run.asked)
    cond = conversions.tested(m, node.cond, env)  # what it asks on the way (``a or b``) parts no threads, either
    run.asked = asked
    return cond, None if _of_index(cond) else m.dialect.truth(cond)


def number(m: Machine, node: ir.Select, cond: Value) -> Value:
    """``warp == 0 ? 0 : 1`` in the run of one thread: one number for all, asked where it decides; None of others."""
    run, numbers = m.recorder.acts(), _numbers(node)
    if run is None or run.thread is None or numbers is None or not _of_index(cond):
        return None
    if not isinstance(cond, Scalar) or cond.ctype != "bool" or not isinstance(cond.value, Dyn):
        return None
    return Scalar(cond.value * (numbers[0] - numbers[1]) + numbers[1], "int")


def joined(m: Machine, node: ir.Binary, left: Value, env: Env) -> Value:
    """``warp == 0 && elect_one_sync()`` in the run of one thread, asked as a whole: threads of other warps are those
    that are not elected. None where the right side does more than compare."""
    run, one = m.recorder.acts(), _truth(left)
    if run is None or run.thread is None or one is None or not _of_index(left) or not _compares(node.right):
        return None
    right = conversions.tested(m, node.right, env)
    other = _truth(right)
    if other is None or not _of_index(right):  # what all threads answer alike is asked of those that come to it
        return None
    whole = one * other if node.op == "&&" else one + other - one * other
    with run.unheard():  # where the left side decides, nothing need be known of the other
        known = run.number(as_expr(whole)) is not None
    return Scalar(whole, "bool") if known else None


def _truth(value: Value) -> int | Dyn | None:
    known = isinstance(value, Scalar) and value.ctype == "bool" and isinstance(value.value, (int, Dyn))
    return value.value if known else None


def _compares(node: ir.Expr) -> bool:
    """Variables and numbers alone are compared: nothing that a thread which is not asked would do."""
    if isinstance(node, ir.Binary) and node.op in _RELATIONS:
        return _computes(node.left) and _computes(node.right)
    if isinstance(node, ir.Binary) and node.op in ("&&", "||"):
        return _compares(node.left) and _compares(node.right)
    elects = isinstance(node, ir.Call) and _called(node) == "elect_one_sync" and not node.args
    return elects or isinstance(node, ir.Name)


def _computes(node: ir.Expr) -> bool:
    if isinstance(node, ir.Binary):
        return node.op in ("+", "-", "*", "/", "%") and _computes(node.left) and _computes(node.right)
    if isinstance(node, (ir.Attr, ir.Cast)):
        return _computes(node.base if isinstance(node, ir.Attr) else node.operand)
    return isinstance(node, (ir.Lit, ir.Name, ir.Scoped))


def _numbers(node: ir.Select) -> tuple[int, int] | None:
    """What is chosen of two plain numbers."""
    if not isinstance(node.then, ir.Lit) or not isinstance(node.other, ir.Lit):
        return None
    arms = node.then, node.other
    found = [a.value for a in arms if isinstance(a.value, int) and not isinstance(a.value, bool) and a.ctype == "int"]
    return (found[0], found[1]) if len(found) == 2 else None


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


__all__ = ["decided", "joined", "number"]
