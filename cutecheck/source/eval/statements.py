"""Execution of statements: assignments, branches that join, loops that havoc."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from enum import Enum
from typing import Any

from cutecheck.facts import Guard, Span, Unknown
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Int, Sym, as_expr
from cutecheck.source.eval import classes, ir, predicates
from cutecheck.source.eval.lookup import variable_value
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.types import type_key, type_of
from cutecheck.source.eval.values import Extern, Object, Pointer, Scalar, TensorVal, Value, constant


class Done(Enum):
    """How a statement ended."""

    NORMAL = 0
    RETURN = 1
    BREAK = 2
    CONTINUE = 3
    MAYBE = 4  # one branch left the function, the other went on


@runs(ir.Block)
def _block(m: Machine, node: ir.Block, env: Env) -> Done:
    inner = Env(env, "block") if node.scoped else env
    left = Done.NORMAL
    with ExitStack() as passed:  # what comes after `if (...) return;` happens under the opposite condition
        for stmt in node.body:
            done: Done = m.run(stmt, inner)
            if done in (Done.RETURN, Done.BREAK, Done.CONTINUE):
                return done
            if done is Done.MAYBE:
                left = Done.MAYBE
                if isinstance(stmt, ir.If):
                    guard = Guard(m.recorder.text(stmt.cond), getattr(stmt.cond, "span", stmt.span), True)
                    passed.enter_context(m.recorder.guarded(guard, None, False))
    return left


@runs(ir.ExprStmt)
def _expr(m: Machine, node: ir.ExprStmt, env: Env) -> Done:
    m.eval(node.expr, env)
    return Done.NORMAL


@runs(ir.Local)
def _local(m: Machine, node: ir.Local, env: Env) -> Done:
    decl = node.decl
    if m.dialect.declare(m, decl, env):
        return Done.NORMAL
    unit = env.frame.unit if env.frame is not None else None
    if isinstance(decl, ir.Variable):
        value = variable_value(m, decl, env)
        if isinstance(value, TensorVal):
            value = replace(value, name=decl.name)
        m.journal.set(env.vars, decl.name, value)
        m.recorder.declared(m, decl, value, env, unit)
    elif isinstance(decl, ir.Alias) and decl.tparams is None:
        value = m.eval(decl.target, env)
        m.journal.set(env.vars, decl.name, value)
        m.recorder.declared(m, decl, value, env, unit)
    elif isinstance(decl, ir.Using):
        if isinstance(decl.target, ir.Scoped) and decl.kind == "name":
            env.vars[decl.target.ident] = m.eval(decl.target, env)
    elif isinstance(decl, (ir.Class, ir.Alias, ir.Function)):
        from cutecheck.source.eval.lookup import resolve

        name = decl.name
        assert unit is not None
        env.vars[name] = resolve(m, name, (Entry(decl, env, unit),), node.span, {})
    elif isinstance(decl, ir.Enum):
        from cutecheck.source.eval.lookup import EnumRef, enumerator

        env.vars[decl.name] = EnumRef(decl.name, decl, env)
        if not decl.scoped:
            for i, (name, _, _) in enumerate(decl.enumerators):
                env.vars[name] = enumerator(m, decl, i, env)
    return Done.NORMAL


@runs(ir.Bind)
def _bind(m: Machine, node: ir.Bind, env: Env) -> Done:
    value = m.eval(node.value, env)
    parts: Iterable[Value]
    if isinstance(value, (tuple, list)) and len(value) == len(node.names):
        parts = [m.dialect.from_model(v) for v in value]
    elif isinstance(value, Object):
        parts = [classes.get_field(m, value, d.name, node.span) for _, d in classes.fields(m, value.cls)]
    else:
        reason = value if isinstance(value, Unknown) else Unknown("cannot take this value apart", node.span)
        parts = [reason] * len(node.names)
    for name, part in zip(node.names, parts, strict=False):
        m.journal.set(env.vars, name, replace(part, name=name) if isinstance(part, TensorVal) else part)
    return Done.NORMAL


@runs(ir.Assign)
def _assign(m: Machine, node: ir.Assign, env: Env) -> Done:
    value = m.eval(node.value, env)
    predicates.note(m, node, env)
    if node.op != "=":
        from cutecheck.source.eval.expressions import binary

        value = binary(m, node.op[:-1], m.eval(node.target, env), value, node.span)
    assign(m, node.target, value, env, node.span)
    return Done.NORMAL


def assign(m: Machine, target: ir.Expr, value: Value, env: Env, span: Span) -> None:
    """Write to a variable, a field, or forget what cannot be followed."""
    if m.dialect.assign(m, target, value, env, span):
        return
    if isinstance(target, ir.Name):
        at = env.find_var(target.ident)
        if at is not None:
            old = at.vars.get(target.ident)
            if isinstance(old, (TensorVal,)) and not isinstance(value, TensorVal):
                return
            if isinstance(old, Scalar) and not isinstance(value, Unknown):
                value = classes.convert(m, type_of(old), value, span)
            m.journal.set(at.vars, target.ident, value)
            return
        from cutecheck.source.eval.lookup import self_of

        this = self_of(env)
        if this is not None and any(d.name == target.ident for _, d in classes.fields(m, this.cls)):
            m.journal.set(this.fields, target.ident, value)
        elif not m.dialect.block_scope:
            m.journal.set(env.vars, target.ident, value)
    elif isinstance(target, ir.Attr):
        base = m.eval(target.base, env)
        if isinstance(base, Object):
            m.journal.set(base.fields, target.ident, value)
    elif isinstance(target, ir.Sequence_):
        bind_target(m, target, value, env, span)
    elif isinstance(target, ir.Index):
        base = m.eval(target.base, env)
        if isinstance(base, (list, dict)):
            keys = [m.eval(a, env) for a in target.args]
            if len(keys) == 1 and isinstance(base, dict):
                base[keys[0]] = value


def bind_target(m: Machine, target: Any, value: Value, env: Env, span: Span) -> None:
    """Bind an assignment target (a name or a nested sequence of them) in a frame."""
    if isinstance(target, ir.Sequence_):
        items = value if isinstance(value, (tuple, list)) and len(value) == len(target.items) else None
        for i, a in enumerate(target.items):
            part = (
                m.dialect.from_model(items[i])
                if items is not None
                else value
                if isinstance(value, Unknown)
                else Unknown("cannot take this value apart", span)
            )
            bind_target(m, a.value, part, env, span)
    elif isinstance(target, ir.Name):
        m.journal.set(env.vars, target.ident, value)
    elif isinstance(target, ir.Local) and isinstance(target.decl, ir.Variable):
        m.journal.set(env.vars, target.decl.name, value)
    elif isinstance(target, (ir.Attr, ir.Index)):
        assign(m, target, value, env, span)


@runs(ir.Return)
def _return(m: Machine, node: ir.Return, env: Env) -> Done:
    frame = env.frame
    if node.value is not None:
        value = m.eval(node.value, env)
        if frame is not None and frame.returns is not None:
            frame.returns.append(value)
    return Done.RETURN


@runs(ir.Jump)
def _jump(m: Machine, node: ir.Jump, env: Env) -> Done:
    return {"break": Done.BREAK, "continue": Done.CONTINUE, "raise": Done.RETURN}.get(node.kind, Done.NORMAL)


@runs(ir.Assert)
def _assert(m: Machine, node: ir.Assert, env: Env) -> Done:
    m.recorder.hypothesis(m, node, env)
    return Done.NORMAL


@runs(ir.With)
def _with(m: Machine, node: ir.With, env: Env) -> Done:
    for item, target in node.items:
        value = m.eval(item, env)
        if target is not None:
            bind_target(m, target, m.dialect.entering(m, value), env, node.span)
    done = m.run(node.body, env)
    return done if isinstance(done, Done) else Done.NORMAL


@runs(ir.If)
def _if(m: Machine, node: ir.If, env: Env) -> Done:
    inner = Env(env, "block") if m.dialect.block_scope else env
    if node.init is not None:
        m.run(node.init, inner)
    cond = m.eval(node.cond, inner)
    known = m.dialect.truth(cond)
    if known is not None:
        taken = node.then if known else node.other
        done = m.run(taken, inner) if taken is not None else Done.NORMAL
        return done if isinstance(done, Done) else Done.NORMAL
    text = m.recorder.text(node.cond)
    guard = Guard(text, getattr(node.cond, "span", node.span))
    return _both(m, node.then, node.other, inner, guard, cond)


def _both(m: Machine, then: ir.Block, other: ir.Block | None, env: Env, guard: Guard, cond: Value) -> Done:
    """Walk both branches from the same state, then join what they wrote."""
    mark = m.journal.mark()
    with m.recorder.guarded(guard, cond, True):
        first = m.run(then, env)
    after_then = m.journal.written_since(mark)
    m.journal.undo(mark)
    with m.recorder.guarded(replace(guard, negated=True), cond, False):
        second = m.run(other, env) if other is not None else Done.NORMAL
    after_else = m.journal.written_since(mark)
    m.journal.undo(mark)
    gone = (Done.RETURN, Done.BREAK, Done.CONTINUE)
    if first in gone and second in gone:
        return first if first is second else Done.RETURN
    if first in gone or second in gone:
        for where, name, value in (after_else if first in gone else after_then).values():
            m.journal.set(where, name, value)
        return Done.MAYBE
    for key in {**after_then, **after_else}:
        where, name, _ = after_then.get(key) or after_else[key]
        base = where.get(name)
        a = after_then[key][2] if key in after_then else base
        b = after_else[key][2] if key in after_else else base
        if a is None or b is None:
            m.journal.set(where, name, a if b is None else b)
        else:
            m.journal.set(where, name, join(m, a, b, f"`{name}`", guard.span, cond))
    return Done.NORMAL


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


@runs(ir.Switch)
def _switch(m: Machine, node: ir.Switch, env: Env) -> Done:
    subject = m.eval(node.subject, env)
    number = constant(subject)
    if number is not None:
        default = None
        for position, case in enumerate(node.cases):
            if not case.values:
                default = position
            elif any(constant(m.eval(v, env)) == number for v in case.values):
                return _fall(m, node, position, env)
        return _fall(m, node, default, env) if default is not None else Done.NORMAL
    for case in node.cases:
        guard = Guard(m.recorder.text(node.subject), node.span)
        _both(m, case.body, None, Env(env, "block"), guard, Scalar(None, "bool"))
    return Done.NORMAL


def _fall(m: Machine, node: ir.Switch, start: int, env: Env) -> Done:
    for case in node.cases[start:]:
        done = m.run(case.body, env)
        if done is Done.BREAK:
            return Done.NORMAL
        if done in (Done.RETURN, Done.CONTINUE):
            return done  # type: ignore[no-any-return]
    return Done.NORMAL


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
        if len(value) > m.budget.limits.loop_iterations:
            return Unknown(f"a range of {len(value)} items", span)
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return value if isinstance(value, Unknown) else Unknown("the items of this value are not known", span)


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
    havoc(m, node, inner, domain)
    with m.recorder.looping():
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
        with m.recorder.looping():
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
    if name in _assigned_in(m, node.body):
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


def _low(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[0] if isinstance(value, (int, Dyn, Sym)) else None


def _high(v: Value) -> int | None:
    value = v.value if isinstance(v, Scalar) else v
    return ex.bounds(as_expr(value))[1] if isinstance(value, (int, Dyn, Sym)) else None


def havoc(m: Machine, node: ir.Loop, env: Env, induction: tuple[str, Domain] | None) -> None:
    """Before the body is walked (and after), every variable it assigns is unknown but for what its type says."""
    parts = [p for p in (node.body, node.step, node.cond) if p is not None]
    for name in dict.fromkeys(n for p in parts for n in _assigned_in(m, p)):
        at = env.find_var(name)
        if at is None:
            continue
        old = at.vars[name]
        domain = induction[1] if induction is not None and induction[0] == name else ex.ANY
        m.journal.set(at.vars, name, forget(m, old, name, domain, node.span))


def _assigned_in(m: Machine, node: Any) -> tuple[str, ...]:
    names = m.history.assigned.get(id(node))
    if names is None:
        names = m.history.assigned[id(node)] = tuple(assigned(node))
    return names


def forget(m: Machine, old: Value, name: str, domain: Domain, span: Span) -> Value:
    """What remains known of a variable that a loop assigns."""
    own = m.dialect.forgotten(m, old, name, span)
    if own is not None:
        return own
    if isinstance(old, Scalar):
        if old.value is None or isinstance(old.value, float):
            return Scalar(None, old.ctype)
        if old.ctype.startswith("u") and domain.lo is None:
            domain = replace(domain, lo=0)
        return Scalar(m.fresh(name, domain), old.ctype)
    if isinstance(old, (int, Dyn)) and not isinstance(old, bool):
        return m.fresh(name, domain)
    if isinstance(old, Pointer):
        return replace(old, offset=m.fresh(f"{name}.offset"))
    if isinstance(old, (TensorVal, Object)):
        return old
    if isinstance(old, (list, dict)):
        return Unknown(f"`{name}` changes in a loop", span)
    return Unknown(f"`{name}` is assigned in a loop", span) if not isinstance(old, (Extern, Unknown)) else old


def assigned(node: Any) -> Iterator[str]:
    """Names assigned anywhere inside a statement, except those declared in it (lambda bodies included)."""
    stack = [node]
    declared: set[str] = set()
    found: list[str] = []
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Assign) and isinstance(at.target, ir.Name):
            found.append(at.target.ident)
        elif isinstance(at, ir.Assign) and isinstance(at.target, ir.Sequence_):
            found.extend(a.value.ident for a in at.target.items if isinstance(a.value, ir.Name))
        elif isinstance(at, ir.Unary) and at.op in ("++", "--", "p++", "p--") and isinstance(at.operand, ir.Name):
            found.append(at.operand.ident)
        elif isinstance(at, ir.Local) and isinstance(at.decl, ir.Variable):
            declared.add(at.decl.name)
        if isinstance(at, ir.Lambda):
            stack.append(at.body.get())
        elif isinstance(at, (tuple, list)):
            stack.extend(at)
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span"))
    return iter(n for n in dict.fromkeys(found) if n not in declared)


__all__ = ["Done", "assign", "assigned", "bind_target", "havoc", "iterate", "join", "type_key"]
