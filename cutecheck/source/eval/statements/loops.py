"""Loops: unrolled when short and pure, else walked once with what they assign forgotten."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements.assignments import bind_target
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.havoc import _assigned_in, havoc
from cutecheck.source.eval.values import Scalar, Value, constant


def iterate(m: Machine, value: Value, span: Span) -> Iterator[Value] | list[Value] | Unknown:
    """The items of a value that can be enumerated."""
    own = m.dialect.items(m, value, span)
    if isinstance(own, (list, Unknown)):
        return own
    if isinstance(value, (list, tuple)):
        return [m.dialect.from_model(v) for v in value]
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, range):
        count = range_length(value)
        if count > m.budget.limits.loop_iterations:
            return Unknown(f"a range of {count} items", span)
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return value if isinstance(value, Unknown) else Unknown("the items of this value are not known", span)


def range_length(value: range) -> int:
    """``len``, also of more items than a machine word counts."""
    return max(0, -((value.start - value.stop) // value.step))


@runs(ir.Loop)
def _loop(m: Machine, node: ir.Loop, env: Env) -> Done:
    inner = Env(env, "block") if m.dialect.block_scope else env
    if node.init is not None:
        m.run(node.init, inner)
    if node.kind == "foreach":
        return _foreach(m, node, inner)
    if m.dialect.unrolls(m, env) or (node.kind == "for" and _short_and_pure(m, node)):
        done = _unroll(m, node, inner)
        if done is not None:
            return done
    domain = _induction(m, node, inner)
    trips = _trips(m, node, inner, domain)
    havoc(m, node, inner, domain)
    m.dialect.settle(m, lambda: m.run(node.body, inner), node.span)
    with m.recorder.looping(node.span, trips):
        done = m.run(node.body, inner)
        if node.step is not None and done is not Done.RETURN:
            m.run(node.step, inner)
    havoc(m, node, inner, None)
    return Done.MAYBE if done in (Done.RETURN, Done.MAYBE) else Done.NORMAL


def _short_and_pure(m: Machine, node: ir.Loop) -> bool:
    return False


def _unroll(m: Machine, node: ir.Loop, env: Env) -> Done | None:
    """Run a loop of a constexpr function exactly; None when a condition is not known (state is restored)."""
    mark = m.journal.mark()
    for _ in range(m.budget.limits.loop_iterations):
        if not (node.kind == "do" and _ == 0):
            known = m.dialect.truth(m.eval(node.cond, env)) if node.cond is not None else True
            if known is None:
                m.journal.undo(mark)
                return None
            if not known:
                return Done.NORMAL
        done = m.run(node.body, env)
        if done is Done.RETURN:
            return Done.RETURN
        if done is Done.BREAK:
            return Done.NORMAL
        if node.step is not None:
            m.run(node.step, env)
    m.journal.undo(mark)
    return None


def _foreach(m: Machine, node: ir.Loop, env: Env) -> Done:
    iterable = m.eval(node.iterable, env) if node.iterable is not None else None
    items = iterate(m, iterable, node.span)
    if isinstance(items, Unknown):
        havoc(m, node, env, None)
        if node.target is not None:
            item = m.dialect.loop_item(m, iterable, node, env)
            item = m.recorder.loop_item(m, node, env) if item is None else item
            bind_target(m, node.target, item, env, node.span)
        m.dialect.settle(m, lambda: m.run(node.body, env), node.span)
        with m.recorder.looping(node.span):
            m.run(node.body, env)
        havoc(m, node, env, None)
        return Done.NORMAL
    for item in items:
        bind_target(m, node.target, item, env, node.span)
        done = m.run(node.body, env)
        if done is Done.RETURN:
            return Done.RETURN
        if done is Done.BREAK:
            break
    return Done.NORMAL


def _induction(m: Machine, node: ir.Loop, env: Env) -> tuple[str, Domain] | None:
    """``for (int i = a; i < b; ++i)``: the name and the values it takes in the body."""
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
    ):
        return None
    if name in _assigned_in(node.body):
        return None
    start = env.vars.get(name)
    stop = m.eval(node.cond.right, env)
    lo = _low(start)
    step = 1
    if isinstance(node.step, ir.Assign) and node.step.op in ("+=", "-="):
        step = constant(m.eval(node.step.value, env)) or 1
    down = (
        isinstance(node.step, ir.ExprStmt) and isinstance(node.step.expr, ir.Unary) and "-" in node.step.expr.op
    ) or (isinstance(node.step, ir.Assign) and node.step.op == "-=")
    end = constant(stop) if isinstance(stop, (Scalar, int, Dyn)) else None
    high = _high(stop) if end is None else end
    if down:
        top = _high(start)
        return name, Domain(end if node.cond.op == ">=" else None if end is None else end + 1, top)
    top = None if high is None else high if node.cond.op == "<=" else high - 1
    aligned = (
        step if lo is not None and lo % step == 0 and isinstance(start, Scalar) and isinstance(start.value, int) else 1
    )
    return name, Domain(lo, top, max(1, abs(aligned)))


def _trips(m: Machine, node: ir.Loop, env: Env, domain: tuple[str, Domain] | None) -> int | None:
    """How often the body of a loop that counts up between known numbers runs, if nothing leaves it."""
    if domain is None or not isinstance(node.cond, ir.Binary) or node.cond.op not in ("<", "<="):
        return None
    lo, hi = domain[1].bounds()
    if lo is None or hi is None or constant(m.eval(node.cond.right, env)) is None:
        return None
    step: int | None = 1
    if isinstance(node.step, ir.Assign):
        step = constant(m.eval(node.step.value, env)) if node.step.op == "+=" else None
    return None if step is None or step < 1 else max(0, (hi - lo) // step + 1)


def _low(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[0] if isinstance(value, (int, Dyn, Sym)) else None


def _high(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[1] if isinstance(value, (int, Dyn, Sym)) else None
