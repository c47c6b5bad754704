"""Counted loops: the values that their variable takes, how often they run, and iterations told by the variable."""

from __future__ import annotations

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.integers import domain_of
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.records import record
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.havoc import assigned_in
from cutecheck.source.eval.statements.recurrences import Recurrence
from cutecheck.source.eval.threads import varies
from cutecheck.source.eval.values import Scalar, Value, constant


@record(frozen=True, slots=True)
class Induction:
    """``for (int i = a; i < b; i += step)``: the name, the values it takes in the body, and those after the loop."""

    name: str
    step: int
    domain: Domain
    after: Domain
    stop: tuple[int | None, int | None]  # what it is compared with: the number, and the most that it may be


def known_of(v: Value) -> int | None:
    return constant(v) if isinstance(v, (Scalar, int, Dyn)) else None


def induction_of(m: Machine, node: ir.Loop, env: Env) -> Induction | None:
    if (
        not isinstance(node.init, ir.Local)
        or not isinstance(node.init.decl, ir.Variable)
        or not isinstance(node.cond, ir.Binary)
    ):
        return None
    name = node.init.decl.name
    if (
        not isinstance(node.cond.left, ir.Name)
        or node.cond.left.ident != name
        or not isinstance(node.step, (ir.ExprStmt, ir.Assign))
        or name in assigned_in(node.body)
    ):
        return None
    step = _step(m, node.step, name, env)
    if step is None:
        return None
    start = env.vars.get(name)
    stop = m.eval(node.cond.right, env)
    seen = (known_of(stop), high_of(stop))
    if isinstance(start, Scalar) and isinstance(stop, Scalar):
        _, stop = m.dialect.alike(start, stop)
    op, end = node.cond.op, known_of(stop)
    first = start.value if isinstance(start, Scalar) else start
    unit = abs(step) if isinstance(first, int) and first % step == 0 else 1
    own = domain_of(start.ctype) if isinstance(start, Scalar) else ex.ANY
    if step < 0 and op in (">", ">=", "!="):
        end = own.lo if end is None else end
        low = None if end is None else end if op == ">=" else end + 1
        if own.lo is not None and (low is None or low + step < own.lo):
            return None  # a number without sign comes round
        after = Domain(own.lo, high_of(start), unit)
        return Induction(name, step, Domain(low, high_of(start), unit), after, seen)
    if step < 0 or op not in ("<", "<=", "!="):
        return None
    high = high_of(stop) if end is None else end
    top = None if high is None else high if op == "<=" else high - 1
    if own.hi is not None and (top is None or top + step > own.hi):
        return None
    return Induction(name, step, Domain(_low(start), top, unit), Domain(_low(start), None, unit), seen)


def _step(m: Machine, node: ir.ExprStmt | ir.Assign, name: str, env: Env) -> int | None:
    """What is added to the variable after each iteration, where that is a constant."""
    if isinstance(node, ir.Assign):
        if node.op not in ("+=", "-=") or not (isinstance(node.target, ir.Name) and node.target.ident == name):
            return None
        step = constant(m.eval(node.value, env))
        return None if not step else step if node.op == "+=" else -step
    at = node.expr
    if not (isinstance(at, ir.Unary) and isinstance(at.operand, ir.Name) and at.operand.ident == name):
        return None
    return 1 if "+" in at.op else -1 if "-" in at.op else None


def count_by(m: Machine, induction: Induction, start: Value, env: Env, loop: Recurrence) -> None:
    """Iterations so far, told by the induction variable; where threads start apart it is told by them."""
    first = start.value if isinstance(start, Scalar) else start
    now = env.vars[induction.name]
    value = now.value if isinstance(now, Scalar) else now
    if not isinstance(first, (int, Dyn, Sym)) or not isinstance(value, (int, Dyn, Sym)):
        return
    if varies(first) or (abs(induction.step) != 1 and first != 0):
        loop.count = m.fresh("iteration", ex.NATURAL)
        value = Dyn(as_expr(first + loop.count * induction.step))
        m.journal.set(env.vars, induction.name, Scalar(value, now.ctype) if isinstance(now, Scalar) else value)
    elif abs(induction.step) == 1:
        loop.count = (value - first) * induction.step


def values_of(item: Value) -> int | None:
    """How many values the item of a loop takes at most; None where its range is open."""
    variables = item.expr.variables() if isinstance(item, Dyn) else ()
    if len(variables) != 1:
        return None
    domain = next(iter(variables)).domain
    lo, hi = domain.bounds()
    return None if lo is None or hi is None else max(0, (hi - lo) // max(1, domain.divisor()) + 1)


def trips_of(m: Machine, node: ir.Loop, env: Env, induction: Induction | None) -> int | None:
    """How often the body of a loop that counts up between known numbers runs, if nothing leaves it."""
    if induction is None or not isinstance(node.cond, ir.Binary) or node.cond.op not in ("<", "<="):
        return None
    lo, hi = induction.domain.bounds()
    if lo is None or hi is None or induction.step < 1 or constant(m.eval(node.cond.right, env)) is None:
        return None
    return max(0, (hi - lo) // induction.step + 1)


def _low(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[0] if isinstance(value, (int, Dyn, Sym)) else None


def high_of(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[1] if isinstance(value, (int, Dyn, Sym)) else None
